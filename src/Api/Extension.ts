/** What goes beyond the specification is marked so in the OpenAPI document (CONTRACT.md section 8). */
export const extension = { override: { "x-agentd-extension": true } }
