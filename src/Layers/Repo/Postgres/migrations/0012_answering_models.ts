/** Which model answered a run. It names a key that may be gone, so nothing refers to anything. */
export const statements = [`alter table runs add column answered_by jsonb`]
