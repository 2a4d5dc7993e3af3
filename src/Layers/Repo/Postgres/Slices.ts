import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { ReferenceGone } from "../../../Schemas/Errors.ts"
import {
  type Batch,
  batchBytes,
  type Extent,
  mostAnswerBytes,
  type Place,
  placeOf
} from "../../../Schemas/Page.ts"
import type { Pages, WorkspaceFilter } from "../../../Services/Pages.ts"
import type { Database } from "./Database.ts"
import { onlyRow, rows } from "./Rows.ts"

/** What a list is read from. */
interface Source<A> {
  readonly table: string
  /** What `shown`, `joins` and `json` call it. */
  readonly alias: string
  /** The order of the list, by columns that an index has behind those that narrow it. */
  readonly order: readonly ["created_at", "id"] | readonly ["position"]
  /** What `row` decodes. */
  readonly shown: Fragment
  readonly joins?: Fragment
  readonly row: Schema.ConstraintCodec<A, unknown, never, never>
  /** SQL: how many bytes a row has at least, from what is known without reading long texts. */
  readonly least: string
  /** SQL: how many bytes a row has as JSON, a little more at most. */
  readonly json: string
}

/**
 * What of a list is asked for. `where` has what narrows it and where it begins and ends. `parts` are conditions of which
 * each row meets one, where what meets one stands together in an index, and the list in none. `given` is a WITH of which
 * the others may speak; `beside` is told with every row.
 */
interface Part {
  /** Whose list it is, as `Database.read` has it. */
  readonly of: string
  readonly where: Fragment
  readonly parts?: ReadonlyArray<Fragment>
  readonly given?: Fragment
  readonly beside?: Fragment
  readonly limit: number
  readonly isDescending?: boolean
  readonly offset?: number
}

const found = Schema.decodeUnknownSync(Schema.Tuple([Schema.Struct({ found: Schema.Int })]))

/** `first` and `position` of the first and the last row; all of the latter is null where nothing is told of rows. */
const decodeEnd = onlyRow(
  Schema.Struct({
    exceeds: Schema.Boolean,
    more: Schema.Boolean,
    first: Schema.NullOr(Schema.Finite),
    id: Schema.NullOr(Schema.String),
    at: Schema.NullOr(Schema.Date),
    position: Schema.NullOr(Schema.Finite)
  })
)

/** No row is shorter as JSON, whatever the list. */
const leastRow = 100
const mostRows = Math.ceil(mostAnswerBytes / leastRow)

/** How lists are read a part at a time, whatever they are lists of. */
export const make = <A>({ read, sql }: Database["Service"], source: Source<A>) => {
  const { alias, order, row, shown, table } = source
  const decode = rows(row)
  const literal = sql.literal
  const joins = source.joins ?? literal("")

  const ordered = (isDescending = false, of = "") =>
    literal(order.map((column) => `${of}${column}${isDescending ? " desc" : ""}`).join(", "))

  const names = literal(order.join(", "))

  /** The first rows in order: of each part, and then of these. */
  const firstOf = (
    columns: Fragment,
    { isDescending, parts = [], where }: Omit<Part, "limit">,
    limit: number
  ) => {
    const some = (from: Fragment) => sql`
      select ${columns} from ${from} order by ${ordered(isDescending)} limit ${limit}::bigint`
    const [first = sql`true`, ...others] = parts.map((part) =>
      some(sql`${sql(table)} where ${where} and ${part}`)
    )
    return others.length === 0
      ? some(sql`${sql(table)} where ${where}${parts.length === 0 ? literal("") : sql` and ${parts[0]}`}`)
      : sql`select * from (${sql.join(" union all ", false)([first, ...others].map((each) => sql`(${each})`))}) merged
          order by ${ordered(isDescending)} limit ${limit}::bigint`
  }

  /** What is left out before is not read but in the index, where that is all that narrows it. */
  const listed = (part: Part) => {
    const columns = sql`*, ${literal(source.least)} as least`
    const { isDescending, limit, offset = 0, where } = part
    if (offset === 0) return firstOf(columns, part, limit + 1)
    const place = literal(order.map((column) => `(select ${column} from place)`).join(", "))
    const begins = sql`${where} and (${names}) ${literal(isDescending ? "<=" : ">=")} (${place})`
    return sql`
      with place as materialized (
        select * from (${firstOf(sql`${names}`, part, offset + 1)}) skipped
        order by ${ordered(isDescending)} limit 1 offset ${offset}::bigint
      )
      ${firstOf(columns, { ...part, where: begins }, limit + 1)}`
  }

  return {
    /**
     * The rows of a part, of which the last may go over `batchBytes`; whether there are more, also behind `limit`.
     * Rows that are left out are not read but for how long they are.
     */
    batch: (part: Part) =>
      read(
        part.of,
        Effect.flatMap(
          sql`${part.given ?? literal("")}
            select ${shown}, ${literal(alias)}.found${part.beside ?? literal("")} from (
              select *, (count(*) over ())::int as found,
                sum(least) over (order by ${ordered(part.isDescending)} rows unbounded preceding) - least as before
              from (${listed(part)}) listed
            ) ${literal(alias)} ${joins}
            where ${literal(alias)}.before < ${literal(String(batchBytes))}
            order by ${ordered(part.isDescending, `${alias}.`)}`,
          (raw) =>
            Effect.map(decode(Effect.succeed(raw.slice(0, part.limit))), (decoded) => ({
              rows: decoded,
              isCut: decoded.length > 0 && found(raw.slice(0, 1))[0].found > decoded.length,
              raw
            }))
        )
      ),
    /**
     * What there is in a part, and its ends. Its rows are summed by the least that they can have until that is too much;
     * only what is not is read.
     */
    extent: (part: Omit<Part, "limit"> & { readonly limit: number | undefined }) => {
      const limit = part.limit ?? mostRows
      const most = literal(String(mostAnswerBytes))
      const position = literal(order[0] === "position" ? "position::float8" : "0::float8")
      return read(
        part.of,
        Effect.map(
          decodeEnd(sql`
            with long as materialized (
              select exists (select from (
                select sum(least) over (order by ${ordered(part.isDescending)} rows unbounded preceding) as running
                from (${listed({ ...part, limit: limit - 1 })}) listed
              ) summed where running > ${most}) as exceeds
            ), sized as materialized (
              select ${literal(alias)}.id, ${literal(alias)}.created_at, ${position} as position, place,
                ${literal(source.json)} as bytes
              from (
                select *, row_number() over (order by ${ordered(part.isDescending)} rows unbounded preceding) as place
                from (${listed({ ...part, limit })}) listed
              ) ${literal(alias)} ${joins} where not (select exceeds from long)
            )
            select long.exceeds or coalesce((select sum(bytes) from sized where place <= ${limit}) > ${most}, false)
                as exceeds,
              (select count(*) from sized) > ${limit} as more,
              (select position from sized where place = 1) as first,
              last.id, last.created_at as at, last.position
            from long left join (
              select * from sized where place <= ${limit} order by place desc limit 1) last on true`),
          (end) => ({ ...end, isOver: end.exceeds || (part.limit === undefined && end.more) })
        )
      )
    }
  }
}

/** Rows of a table whose lists go by `createdAt` and id. */
interface Aged {
  readonly id: string
  readonly createdAt: Date
}

/** A part of a list that goes by `createdAt` and id. `scope` are those of its tenant. */
interface AgedPart extends Omit<Part, "limit"> {
  readonly scope: Fragment
  readonly after: Place | null
}

/**
 * The lists that go by `createdAt` and id. A place is where its row is now, also one that is marked as deleted; where
 * that is gone, where it was. `ReferenceGone` says of a place that was never seen that it is none of this tenant.
 */
export const makeAged = <A extends Aged>(database: Database["Service"], source: Omit<Source<A>, "order">) => {
  const { list, sql } = database
  const table = sql(source.table)
  const slices = make(database, { ...source, order: ["created_at", "id"] })

  const from = ({ after, isDescending = false, scope, where }: AgedPart, until: Place | null) => {
    const at = ({ createdAt, id }: Place) => sql`
      (coalesce((select created_at from ${table} where id = ${id} and ${scope}), ${createdAt}::timestamptz), ${id})`
    return sql.and([
      where,
      ...(after === null
        ? []
        : [sql`(created_at, id) ${sql.literal(isDescending ? "<" : ">")} ${at(after)}`]),
      ...(until === null
        ? []
        : [sql`(created_at, id) ${sql.literal(isDescending ? ">=" : "<=")} ${at(until)}`])
    ])
  }

  const requireThere = ({ after, scope }: AgedPart) =>
    after === null || after.createdAt !== null
      ? Effect.void
      : list(
          Effect.flatMap(
            sql`select 1 from ${table} where id = ${after.id} and ${scope}`,
            (there): Effect.Effect<void, ReferenceGone | SqlError> =>
              there.length > 0 ? Effect.void : Effect.fail(new ReferenceGone({ field: "after" }))
          )
        )

  const readPage = Effect.fnUntraced(function* (
    part: AgedPart,
    range: { readonly until: Place | null; readonly limit: number }
  ) {
    const batch = yield* slices.batch({ ...part, where: from(part, range.until), limit: range.limit })
    const last = batch.rows.at(-1)
    if (last === undefined) yield* requireThere(part)
    const page: Batch<A, Place> = {
      rows: batch.rows,
      next: last !== undefined && batch.isCut ? placeOf(last) : null
    }
    return { page, raw: batch.raw }
  })

  return {
    /** A page, and its rows as they were read, with what was told `beside` them. */
    readPage,
    page: (...asked: Parameters<typeof readPage>) => Effect.map(readPage(...asked), ({ page }) => page),
    extent: (part: AgedPart, limit: number | undefined) =>
      Effect.map(
        slices.extent({ ...part, where: from(part, null), limit }),
        ({ at, id, isOver, more }): Extent<Place> => ({
          isOver,
          after: null,
          until: id === null || at === null ? null : { id, createdAt: at },
          next: more ? id : null
        })
      )
  }
}

/**
 * The list of a table of workspaces, oldest first. `narrow` says what of the filter there is beside workspace and
 * project.
 */
export const makePages = <A extends Aged, F extends WorkspaceFilter = WorkspaceFilter>(
  database: Database["Service"],
  source: Omit<Source<A>, "order">,
  narrow: (filter: F) => ReadonlyArray<string | Fragment>
): Pages<A, F> => {
  const { sql } = database
  const list = makeAged(database, source)

  const partOf = (filter: F, after: Place | null): AgedPart => {
    const scope = sql`workspace_id = ${filter.workspaceId}`
    const ofProject = filter.projectId === undefined ? [] : [sql`project_id = ${filter.projectId}`]
    return { of: filter.workspaceId, scope, where: sql.and([scope, ...ofProject, ...narrow(filter)]), after }
  }

  return {
    page: (filter, range) => list.page(partOf(filter, range.after), range),
    extent: (filter, { after, limit }) => list.extent(partOf(filter, after), limit)
  }
}
