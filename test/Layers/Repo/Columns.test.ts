import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type * as Statement from "effect/sql/Statement"
import {
  insertSelect,
  makeColumns,
  objectOf,
  referenceOf
} from "../../../src/Layers/Repo/Postgres/Columns.ts"

const textOf = ({ segments }: Statement.Fragment) =>
  segments.map((segment) => (segment._tag === "Literal" ? segment.value : "?")).join("")

const Thing = Schema.Struct({
  id: Schema.String,
  ownerId: Schema.NullOr(Schema.String),
  createdAt: Schema.Date,
  tags: Schema.NullOr(Schema.Array(Schema.String)),
  hasOwner: Schema.Boolean
})
const columns = makeColumns(Thing, { tags: "json", hasOwner: { read: "owner_id is not null" } })
const thing = { id: "a", ownerId: null, createdAt: new Date(0), tags: ["x"] }

describe("columns", () => {
  it("are read by the names of the fields", () => {
    assert.strictEqual(
      textOf(columns.read("t")),
      `t."id" as "id", t."owner_id" as "ownerId", t."created_at" as "createdAt", t."tags" as "tags", ` +
        `owner_id is not null as "hasOwner"`
    )
    assert.strictEqual(textOf(makeColumns(Schema.Struct({ aB: Schema.Int }), {}).read()), `"a_b" as "aB"`)
  })

  it("are written by the names of the fields, without what is only read and what is no field", () => {
    const given = { ...thing, hasOwner: true, more: 1 }
    assert.strictEqual(
      JSON.stringify(columns.json(given)),
      `{"id":"a","created_at":"1970-01-01T00:00:00.000Z","tags":["x"]}`
    )
    assert.deepStrictEqual(Object.keys(columns.row(given)), ["id", "owner_id", "created_at", "tags"])
    assert.deepStrictEqual(columns.row({ ...thing, tags: null }), {
      id: "a",
      owner_id: null,
      created_at: new Date(0),
      tags: null
    })
    assert.deepStrictEqual(columns.changes({ ownerId: "b" }), { owner_id: "b" })
  })

  it("make one insert out of values and expressions", () => {
    const other = columns.from("r")
    const inserted = insertSelect("things", { id: "a", owner_id: other.owner_id }, columns.read("t"))
    assert.match(
      textOf(inserted),
      /^insert into "things" \("id", "owner_id"\) select \?, r\."owner_id" from t\."id"/
    )
  })

  it("make objects of other tables", () => {
    const Reference = Schema.Struct({ id: Schema.String, baseUrl: Schema.String })
    const object = `json_build_object('id', k."id", 'baseUrl', k."base_url")`
    assert.strictEqual(objectOf(Reference, "k"), object)
    assert.strictEqual(referenceOf(Reference, "k"), `case when k.id is not null then ${object} end`)
  })

  it("are checked by the compiler", () => {
    const Tagged = Schema.Struct({ tags: Schema.Array(Schema.String) })
    // @ts-expect-error: how is a list kept?
    makeColumns(Tagged, {})
    // @ts-expect-error: no field has this name
    makeColumns(Tagged, { tags: "json", tag: "json" })
    // @ts-expect-error: a field is missing
    columns.row({ id: "a", ownerId: null, createdAt: new Date(0) })
    // @ts-expect-error: it is only read
    columns.changes({ hasOwner: true })
  })

  it("are renamed nowhere by hand", () => {
    const folder = new URL("../../../src/Layers/Repo/Postgres/", import.meta.url)
    // The catalogue of PostgreSQL, which a transfer reads, has no schema here.
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (file) => file.endsWith(".ts") && file !== "Transfer/Catalogue.ts"
    )
    assert.isAbove(files.length, 30)
    for (const file of files) {
      assert.notMatch(readFileSync(new URL(file, folder), "utf8"), / as "[a-z]+[A-Z]\w*"/, file)
    }
  })
})
