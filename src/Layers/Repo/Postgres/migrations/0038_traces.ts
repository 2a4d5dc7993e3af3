/** In which trace a run was made; null of those that a version before this one has made, and where there was none. */
export const statements = [`alter table runs add column if not exists traceparent text`]
