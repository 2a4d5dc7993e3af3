/**
 * What `bench/requests.ts` measures agentd beside: Fastify and pg with the statements of agentd, each prepared by name,
 * and answers that are the same byte for byte. DATABASE_URL, PORT and POOL (sessions) come by the environment.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import Fastify from "fastify"
import pg from "pg"

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.POOL) })
const ask = async (name, text, values) => (await pool.query({ name, text, values })).rows

const shown = `a."id" as "id", a."workspace_id" as "workspaceId", a."project_id" as "projectId", a."name" as "name",
  a."description" as "description", a."system_prompt" as "systemPrompt", a."is_active" as "isActive",
  k.id as "providerKeyId", case when k.id is not null then json_build_object('id', k."id", 'name', k."name",
    'provider', k."provider", 'model', k."model") end as "providerKey", a."created_at" as "createdAt",
  a."updated_at" as "updatedAt"`
const joins = "left join provider_keys k on k.id = a.provider_key_id and k.deleted_at is null"

const callerOf = async (request, reply) => {
  const secret = /^bearer +(.+)$/iu.exec(request.headers.authorization ?? "")?.[1] ?? ""
  const hash = createHash("sha256").update(secret).digest("hex")
  const [token] = await ask(
    "token",
    `select t."id" as "id", t."user_id" as "userId", t."parent_id" as "parentId", t."name" as "name",
       t."hash" as "hash", t."created_at" as "createdAt", t."expires_at" as "expiresAt",
       t."revoked_at" as "revokedAt", u.email as "email", u.created_at as "userCreatedAt"
     from tokens t join users u on u.id = t.user_id where hash = $1 and u.disabled_at is null`,
    [hash]
  )
  const isUsable = token?.revokedAt === null && (token.expiresAt === null || token.expiresAt > new Date())
  if (!isUsable) reply.code(401).send({ error: "a valid bearer token or session cookie is required" })
  return isUsable ? token : undefined
}

const roleOf = async (workspaceId, userId) => {
  const [found] = await ask(
    "role",
    `select m."role" as "role", false as "isPending" from workspace_members m
     join users u on u.id = m.user_id and u.disabled_at is null
     where m.workspace_id = $1 and m.user_id = $2
     union all
     select i."role" as "role", true as "isPending" from users u
     join workspace_invitations i on i.workspace_id = $3 and i.email = u.email
     where u.id = $4 and u.disabled_at is null
     limit 1`,
    [workspaceId, userId, workspaceId, userId]
  )
  return found?.role
}

const forbidden = { error: "workspaceId: you are not a member of this workspace" }
const notFound = { error: "agent not found" }

const app = Fastify()

app.addHook("onRequest", async (request, reply) => {
  reply.header(
    "content-security-policy",
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  )
  reply.header("x-content-type-options", "nosniff")
  reply.header("referrer-policy", "no-referrer")
  reply.header("vary", "Accept-Encoding")
  reply.header("x-request-id", `req_${randomUUID()}`)
  reply.header("content-type", "application/json")
  if (request.url.startsWith("/api")) reply.header("cache-control", "no-store")
})

app.get("/api/agents/:id", async (request, reply) => {
  const caller = await callerOf(request, reply)
  if (caller === undefined) return reply
  const [agent] = await ask(
    "find",
    `select ${shown} from agents a ${joins} where a.id = $1 and a.deleted_at is null`,
    [request.params.id]
  )
  const role = agent && (await roleOf(agent.workspaceId, caller.userId))
  return role === undefined ? reply.code(404).send(notFound) : JSON.stringify({ data: agent })
})

app.get("/api/agents", async (request, reply) => {
  const caller = await callerOf(request, reply)
  if (caller === undefined) return reply
  const { limit, workspaceId } = request.query
  if ((await roleOf(workspaceId, caller.userId)) === undefined) return reply.code(403).send(forbidden)
  const rows = await ask(
    "list",
    `select ${shown}, a.found from (
       select *, (count(*) over ())::int as found,
         sum(least) over (order by created_at, id rows unbounded preceding) - least as before
       from (
         select *, 143 + coalesce(octet_length("name"), 0) + coalesce(octet_length("description"), 0)
           + coalesce(octet_length("system_prompt"), 0) as least
         from "agents" where (workspace_id = $1 AND deleted_at is null)
         order by created_at, id limit $2 offset $3::bigint) listed
     ) a ${joins} where a.before < 131072 order by a.created_at, a.id`,
    [workspaceId, Number(limit) + 1, 0]
  )
  for (const row of rows) delete row.found
  return JSON.stringify({ data: rows })
})

app.post("/api/agents", async (request, reply) => {
  const caller = await callerOf(request, reply)
  if (caller === undefined) return reply
  const { description, name, systemPrompt, workspaceId } = request.body
  if ((await roleOf(workspaceId, caller.userId)) === undefined) return reply.code(403).send(forbidden)
  const at = new Date()
  const id = `agent_${randomBytes(13).toString("hex")}`
  const [made] = await ask(
    "insert",
    `with gone as materialized (select null::text as field where false),
     quota_count as materialized (
       select count from quota_counts
       where workspace_id = $1 and kind = $2 and not exists (select from gone) for update
     ), full_plan as materialized (
       select plan, $3::text as quota from workspaces, quota_count
       where id = $4 and count >= ($5::jsonb ->> plan)::bigint), changed as (
         insert into "agents" ("id", "workspace_id", "project_id", "name", "description", "system_prompt",
           "is_active", "provider_key_id", "created_at", "updated_at")
         select $6, $7, $8, $9, $10, $11, $12::boolean, $13, $14::timestamptz, $15::timestamptz
         from (select 1) one where not exists (select from gone) and not exists (select from full_plan)
         returning *), audited as (
         insert into "audit_entries" ("id", "at", "actor", "action", "request_id", "address", "target_id",
           "workspace_id")
         select $16, $17::timestamptz, $18::jsonb, $19, $20, $21, $22, $23 from (select * from changed limit 1) c)
     select * from (select ${shown} from changed a ${joins}) made
     full join (select plan as "full", quota from full_plan) full_plan on true`,
    [
      ...[
        workspaceId,
        "agents",
        "agents",
        workspaceId,
        '{"free": null}',
        id,
        workspaceId,
        null,
        name,
        description
      ],
      ...[systemPrompt, true, null, at, at, `audit_${randomBytes(13).toString("hex")}`, at],
      ...[JSON.stringify({ userId: caller.userId, tokenId: caller.id }), "agent.create"],
      ...[reply.getHeader("x-request-id"), request.ip, id, workspaceId]
    ]
  )
  const { full: _, quota: __, ...agent } = made
  return reply.code(201).send(JSON.stringify({ data: agent }))
})

app.get("/health/ready", async () => {
  await ask("probe", "select id from users where false for update", [])
  return JSON.stringify({ data: { status: "ok" } })
})

await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT ?? 0) })
process.stdout.write(`listening on ${app.listeningOrigin}\n`)
