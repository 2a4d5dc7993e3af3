import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { ByPlan } from "../../../Schemas/Quotas.ts"
import { Timestamp } from "../../../Schemas/Timestamp.ts"
import { OwnedToken, Reading, Token } from "../../../Schemas/Token.ts"
import { Email, User } from "../../../Schemas/User.ts"
import { TokenRepo } from "../../../Services/TokenRepo.ts"
import type { Auditing } from "./AuditEntries.ts"
import { insertSelect, makeColumns } from "./Columns.ts"
import { Database } from "./Database.ts"
import { countTokens, fullPlanOfUser, lockUser, readFull, unlessFull } from "./Quotas.ts"
import { count, firstRow, returnedRow, rows } from "./Rows.ts"

const token = firstRow(Token)
const tokens = rows(Token)
const columns = makeColumns(Token, {})
const shown = firstRow(OwnedToken)
const shownPage = rows(OwnedToken)
const shownColumns = makeColumns(OwnedToken, { email: { read: "u.email" } })
const Owned = Schema.Struct({ ...Token.fields, email: Email, userCreatedAt: Timestamp })
const readings = rows(Reading)
const owned = firstRow(Owned)
const ownedColumns = makeColumns(Owned, {
  email: { read: "u.email" },
  userCreatedAt: { read: "u.created_at" }
})
const linkedUser = firstRow(User)
const userColumns = makeColumns(User, {}).read("u")
const ownedShown = ownedColumns.read("t")

/** A row where a token may be made: always, or while its parent works. */
const parentOf = (sql: PgClient, { createdAt, parentId, userId }: Token) =>
  parentId === null
    ? sql.literal("(values (true)) parent")
    : // Locked, so that its revocation sees this one, or this one sees its revocation.
      sql`(
        select from tokens
        where id = ${parentId} and user_id = ${userId} and revoked_at is null
          and (expires_at is null or expires_at > ${createdAt})
        for share) parent`

/** Inserts a token unless its user may have no more; within a transaction. */
const insertWithin = (
  sql: PgClient,
  { audit, given, most }: { readonly given: Token; readonly most: ByPlan; readonly audit: Auditing }
) => {
  const used = countTokens(sql, given.userId, given.createdAt)
  const room = sql`${parentOf(sql, given)} where not exists (select from full_plan)`
  return Effect.andThen(
    lockUser(sql, given.userId),
    unlessFull({ tokens: most })(sql`
      with ${fullPlanOfUser(sql, "tokens", given.userId, used, most)},
        made as (${insertSelect("tokens", columns.row(given), room)} returning id)${audit.of("made")}
      select * from made full join ${readFull(sql)} full_plan on true`)
  ).pipe(Effect.map((made) => made.length > 0))
}

/** How tokens end, and what ends with them. */
const endings = ({ change, query, sql }: Database["Service"]) =>
  ({
    removeOf: (userId) =>
      query(
        Effect.asVoid(sql`
          with links as (delete from sign_in_links where user_id = ${userId})
          delete from tokens where user_id = ${userId}`)
      ),
    revoke: (userId, id, at) =>
      change((audit) =>
        returnedRow(sql`
          with changed as (
            update tokens set revoked_at = ${at}
            where id = ${id} and user_id = ${userId} and revoked_at is null returning id
          )${audit.of("changed")}
          select id from tokens where id = ${id} and user_id = ${userId}`)
      ),
    mayRead: (given, now) =>
      query(
        // One after the other, by `offset 0`: with a guess of how many they are, all tokens would be read.
        readings(sql`
          select r."tokenId", r."workspaceId"
          from jsonb_to_recordset(${sql.json(given)}) as r ("tokenId" text, "workspaceId" text)
          cross join lateral (
            select from tokens t
            join users u on u.id = t.user_id and u.disabled_at is null
            join workspace_members m on m.workspace_id = r."workspaceId" and m.user_id = t.user_id
            where t.id = r."tokenId" and t.revoked_at is null and (t.expires_at is null or t.expires_at > ${now})
            offset 0) reader`)
      ),
    prune: (before, limit) =>
      query(
        count(sql`
          with due as materialized (
            select id from tokens where least(expires_at, revoked_at) < ${before}
            order by least(expires_at, revoked_at) limit ${limit} for update skip locked
          ), gone as (
            delete from tokens where id in (select id from due)
          ), over as materialized (
            select hash from sign_in_links where expires_at < ${before}
            order by expires_at limit ${limit} for update skip locked
          ), links as (
            delete from sign_in_links where hash in (select hash from over)
          )
          select ((select count(*) from due) + (select count(*) from over))::int as count`)
      )
  }) satisfies Partial<TokenRepo["Service"]>

/** Links that sign in once. */
const links = ({ change, lookUp, sql }: Database["Service"]) =>
  ({
    insertLink: ({ createdAt, expiresAt, hash, userId }) =>
      change((audit) =>
        Effect.asVoid(
          audit.with(sql`
            insert into sign_in_links (hash, user_id, created_at, expires_at)
            values (${hash}, ${userId}, ${createdAt}, ${expiresAt}) returning user_id as id`)
        )
      ),
    findLinked: (hash, now) =>
      lookUp(
        linkedUser(sql`
          select ${userColumns} from sign_in_links l join users u on u.id = l.user_id
          where l.hash = ${hash} and l.expires_at > ${now} and u.disabled_at is null`)
      ),
    insertByLink: (given, linkHash) =>
      change((audit) =>
        returnedRow(sql`
          with taken as (
            delete from sign_in_links l using users u
            where l.hash = ${linkHash} and l.user_id = ${given.userId} and l.expires_at > ${given.createdAt}
              and u.id = l.user_id and u.disabled_at is null
            returning l.user_id
          ), made as (
            ${insertSelect("tokens", columns.row(given), sql.literal("taken"))} returning id
          )${audit.of("made")}
          select id from made`)
      )
  }) satisfies Partial<TokenRepo["Service"]>

export const layer = Layer.effect(
  TokenRepo,
  Effect.gen(function* () {
    const database = yield* Database
    const { change, list, lookUp, query, sql } = database
    const selected = columns.read("t")
    return TokenRepo.of({
      insert: (given, most) =>
        change((audit) =>
          most === undefined
            ? returnedRow(
                audit.with(
                  sql`${insertSelect("tokens", columns.row(given), parentOf(sql, given))} returning id`
                )
              )
            : sql.withTransaction(insertWithin(sql, { given, most, audit }))
        ),
      findByHash: (hash) => query(token(sql`select ${selected} from tokens t where hash = ${hash}`)),
      findOwned: (hash) =>
        lookUp(
          Effect.map(
            owned(sql`
              select ${ownedShown}
              from tokens t join users u on u.id = t.user_id
              where hash = ${hash} and u.disabled_at is null`),
            Option.map(({ email, userCreatedAt, ...found }) => ({
              token: found,
              user: { id: found.userId, email, createdAt: userCreatedAt }
            }))
          )
        ),
      list: (userId, now) =>
        list(
          tokens(sql`
            select ${selected} from tokens t
            where user_id = ${userId} and revoked_at is null
              and (expires_at is null or expires_at > ${now})
            order by created_at, id`)
        ),
      page: ({ after, limit, now, userId }) =>
        query(
          shownPage(sql`
            select ${shownColumns.read("t")} from tokens t join users u on u.id = t.user_id
            where t.id > ${after ?? ""} and revoked_at is null and (expires_at is null or expires_at > ${now})
              ${userId === null ? sql.literal("") : sql`and user_id = ${userId}`}
            order by t.id limit ${limit}`)
        ),
      find: (id) =>
        query(
          shown(sql`
            select ${shownColumns.read("t")} from tokens t join users u on u.id = t.user_id where t.id = ${id}`)
        ),
      ...endings(database),
      ...links(database)
    })
  })
)
