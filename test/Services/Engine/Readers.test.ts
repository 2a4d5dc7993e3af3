import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { errorEvent } from "../../../src/Schemas/ChatEvent.ts"
import { Unavailable } from "../../../src/Schemas/Errors.ts"
import type { TokenId, WorkspaceId } from "../../../src/Schemas/Ids.ts"
import { type NumberedEvent, thinking } from "../../../src/Schemas/RunEvent.ts"
import type { Caller } from "../../../src/Schemas/Token.ts"
import { Accounts } from "../../../src/Services/Accounts.ts"
import { Auth } from "../../../src/Services/Auth.ts"
import { Chat } from "../../../src/Services/Chat.ts"
import { Readers } from "../../../src/Services/Engine/Readers.ts"
import { Runs } from "../../../src/Services/Runs.ts"
import { TokenRepo } from "../../../src/Services/TokenRepo.ts"
import { Tokens } from "../../../src/Services/Tokens.ts"
import { WorkspaceRepo } from "../../../src/Services/WorkspaceRepo.ts"
import { chatEvent } from "../../support/ChatEvents.ts"
import { makeRun, makeUser } from "../../support/Fixtures.ts"
import { readChat } from "../../support/Listed.ts"
import {
  layerAtRest,
  layerScripted,
  makeGate,
  makeTenant,
  ScriptedModel,
  says
} from "../../support/Service.ts"

const event: NumberedEvent = { id: 1, event: thinking }

/** Reads in a fiber; `seen` grows. */
const reader = Effect.fnUntraced(function* (stream: Stream.Stream<NumberedEvent>) {
  const seen: Array<NumberedEvent> = []
  const fiber = yield* Effect.forkChild(
    Stream.runForEach(stream, (event) => Effect.sync(() => void seen.push(event))),
    { startImmediately: true }
  )
  yield* TestClock.adjust(0)
  const told = () => seen.map(({ event }) => (event.event === "error" ? event.data.code : event.event))
  return { fiber, seen, told }
})

/** A workspace with two owners, and a token of the first that ends in a minute, and what that made. */
const subject = Effect.gen(function* () {
  const { user: owner, workspaceId } = yield* makeTenant()
  const user = yield* makeUser
  yield* (yield* WorkspaceRepo).addMember(workspaceId, user.id, "owner", new Date(0))
  const auth = yield* Auth
  const parent = yield* auth.issue({ userId: user.id, name: "p", expiresAt: new Date(60_000) })
  const caller = yield* auth.authenticate(parent.secret)
  const made = yield* (yield* Tokens).create(caller, { name: "made" })
  return { caller: yield* auth.authenticate(Redacted.make(made.token)), owner, parent, workspaceId }
})
type Subject = Effect.Success<typeof subject>

/** A message that is being answered, and who reads the answer: from here, and from the store. */
const answering = Effect.fnUntraced(function* (caller: Caller, workspaceId: WorkspaceId) {
  const [chat, model] = [yield* Chat, yield* ScriptedModel]
  const gate = yield* makeGate
  model.script = () =>
    Stream.concat(
      Stream.fromIterable(says("one").slice(0, 1)),
      Stream.unwrap(Effect.as(gate.wait, Stream.fromIterable(says("two"))))
    )
  const live = yield* reader(yield* chat.send(caller, { workspaceId, content: "hi" }))
  yield* TestClock.adjust("1 second")
  const first = live.seen.map(chatEvent)[0]
  const { conversationId, turnId } = first?.event === "conversation" ? first.data : assert.fail()
  const again = (by: Caller) =>
    Effect.flatMap(Runs, (runs) => runs.events(by, turnId, 0)).pipe(Effect.map(Option.getOrThrow))
  return { again, conversationId, gate, live }
})

const execute = (command: "user delete" | "user disable", { email }: Caller) =>
  Effect.flatMap(Accounts, (accounts) => accounts.execute({ command, email }))

const revoke = ({ id }: Caller, token: TokenId) =>
  Effect.flatMap(TokenRepo, (tokens) => tokens.revoke(id, token, new Date()))

describe("A reader", () => {
  it.effect.each<
    readonly [
      string,
      (given: Subject) => Effect.Effect<unknown, unknown, Accounts | TokenRepo | WorkspaceRepo>
    ]
  >([
    ["whose token is revoked", ({ caller }) => revoke(caller, caller.token.id)],
    ["whose token was made by one that is revoked", ({ caller, parent }) => revoke(caller, parent.token.id)],
    ["whose token expires", () => TestClock.setTime(60_000)],
    ["whose user is disabled", ({ caller }) => execute("user disable", caller)],
    ["whose user is deleted", ({ caller }) => execute("user delete", caller)],
    [
      "who is no member any more",
      ({ caller, workspaceId }) =>
        Effect.flatMap(WorkspaceRepo, (workspaces) => workspaces.removeMember(workspaceId, caller.id))
    ]
  ])("%s is cut off within 5 s, and the turn goes on", ([, change]) =>
    Effect.gen(function* () {
      const given = yield* subject
      const { caller, owner, workspaceId } = given
      const { again, conversationId, gate, live } = yield* answering(caller, workspaceId)
      const readers = [live, yield* reader(yield* again(caller))]
      const other = yield* reader(yield* again(owner))
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(live.told(), ["conversation", "status", "status"])
      yield* change(given)
      yield* TestClock.adjust("5 seconds")
      yield* gate.open
      yield* TestClock.adjust("5 seconds")
      for (const { fiber, seen, told } of readers) {
        yield* Fiber.join(fiber)
        assert.strictEqual(told().at(-1), "forbidden")
        assert.strictEqual(told().length, 4)
        assert.strictEqual(seen.at(-1)?.id, seen.at(-2)?.id)
      }
      assert.strictEqual(other.told().at(-1), "done")
      const { messages } = yield* readChat(yield* Chat, owner, conversationId)
      assert.strictEqual(messages.at(-1)?.content, "onetwo")
    }).pipe(Effect.provide(layerScripted()))
  )

  it.effect("stays for all else that ends, and where it ends itself hears of one end", () =>
    Effect.gen(function* () {
      const { caller, owner, parent, workspaceId } = yield* subject
      const { gate, live } = yield* answering(owner, workspaceId)
      yield* revoke(caller, parent.token.id)
      yield* execute("user disable", caller)
      yield* TestClock.adjust("10 seconds")
      yield* gate.open
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(live.told().slice(-2), ["status", "done"])
      yield* revoke(owner, owner.token.id)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(live.fiber)
      assert.strictEqual(live.told().at(-1), "done")
    }).pipe(Effect.provide(layerScripted()))
  )
})

describe("A reader that is slow", () => {
  /** What it gets before it is cut off, and then. */
  const gets = Effect.fnUntraced(function* (...told: ReadonlyArray<NumberedEvent>) {
    const { user, workspaceId } = yield* makeTenant()
    const events = Effect.succeed(Stream.rechunk(Stream.fromIterable(told), 1))
    const pull = yield* Stream.toPull(yield* (yield* Readers).open(user, workspaceId, 0, events))
    const next = Effect.map(
      Effect.option(pull),
      Option.map((got) => got.map(({ event, id }) => [id, event.event]))
    )
    const first = yield* next
    yield* TestClock.adjust(0)
    yield* revoke(user, user.token.id)
    yield* TestClock.adjust("5 seconds")
    return [first, yield* next].map(Option.getOrUndefined)
  })

  it.effect("gets nothing any more that was on its way when it was cut off", () =>
    Effect.gen(function* () {
      const got = yield* gets(event, { ...event, id: 2 }, { ...event, id: 3 })
      assert.deepStrictEqual(got, [[[1, "status"]], [[1, "error"]]])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("hears of no second end when it was cut off behind the first", () =>
    Effect.gen(function* () {
      const got = yield* gets({ id: 4, event: errorEvent("cancelled", "c") })
      assert.deepStrictEqual(got, [[[4, "error"]], undefined])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )
})

/** Readers over tokens that are counted, and may be away. */
const counted = Effect.gen(function* () {
  const tokens = yield* TokenRepo
  const store = { isAway: false, looks: [] as Array<number> }
  const counting = TokenRepo.of({
    ...tokens,
    mayRead: (readings, at) =>
      Effect.suspend(() => {
        store.looks.push(readings.length)
        return store.isAway ? Effect.fail(new Unavailable({ error: "away" })) : tokens.mayRead(readings, at)
      })
  })
  const context = yield* Layer.build(
    Layer.fresh(Readers.layer).pipe(Layer.provide(Layer.succeed(TokenRepo, counting)))
  )
  return { readers: Context.get(context, Readers), store }
})

const silent = Effect.succeed(Stream.never)

describe("The look at all readers", () => {
  it.effect("is one every 2 s, whatever they read, and none where nobody reads", () =>
    Effect.gen(function* () {
      const { readers, store } = yield* counted
      const [a, b] = [yield* makeTenant(), yield* makeTenant()]
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(store.looks, [])
      const open = ({ user, workspaceId }: typeof a) =>
        Effect.flatMap(readers.open(user, workspaceId, 0, silent), reader)
      const fibers = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? a : b)),
        (tenant) => Effect.map(open(tenant), ({ fiber }) => fiber)
      )
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(
        store.looks,
        Array.from({ length: 30 }, () => 2)
      )
      yield* Effect.forEach(fibers, Fiber.interrupt)
      store.looks.length = 0
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(store.looks, [])
      yield* open(a)
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(store.looks, [1, 1])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("lets them stay while the database is away, but for whose token expires", () =>
    Effect.gen(function* () {
      const { readers, store } = yield* counted
      const { user, workspaceId } = yield* makeTenant()
      const short: Caller = { ...user, token: { ...user.token, expiresAt: new Date(60_000) } }
      const stays = yield* reader(yield* readers.open(user, workspaceId, 7, silent))
      const expires = yield* reader(yield* readers.open(short, workspaceId, 7, silent))
      store.isAway = true
      yield* revoke(user, user.token.id)
      yield* TestClock.adjust("65 seconds")
      assert.deepStrictEqual([stays.told(), expires.told()], [[], ["forbidden"]])
      store.isAway = false
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(stays.told(), ["forbidden"])
      assert.strictEqual(stays.seen[0]?.id, 7)
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("asks for many of them in parts", () =>
    Effect.gen(function* () {
      const { readers, store } = yield* counted
      const { user, workspaceId } = yield* makeTenant()
      for (let n = 0; n < 2_500; n++) {
        const one = { ...user, id: `user_${n}`, token: { id: `token_${n}`, expiresAt: null } } as Caller
        yield* readers.open(n === 2_400 ? user : one, workspaceId, 0, silent)
      }
      const stays = yield* reader(yield* readers.open(user, workspaceId, 0, silent))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(store.looks, [1_000, 1_000, 500])
      assert.deepStrictEqual(stays.told(), [])
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )
})

describe("The places of a user", () => {
  /** All places of a user taken but one. */
  const nearlyFull = Effect.gen(function* () {
    const readers = yield* Readers
    const { user, workspaceId } = yield* makeTenant()
    const open = (events: Effect.Effect<Stream.Stream<NumberedEvent>, Unavailable> = silent) =>
      readers.open(user, workspaceId, 0, events)
    yield* Effect.replicateEffect(open(), 63)
    const isFull = Effect.map(Effect.scoped(Effect.flip(open())), ({ _tag }) =>
      assert.strictEqual(_tag, "RateLimited")
    )
    const isFree = Effect.asVoid(Effect.scoped(open()))
    return { isFree, isFull, open, readers, user, workspaceId }
  })

  it.effect("are 64, whatever the workspace, and no other user's", () =>
    Effect.gen(function* () {
      const { isFull, open, readers, user } = yield* nearlyFull
      yield* open()
      yield* isFull
      const other = yield* makeTenant()
      assert.strictEqual(
        (yield* Effect.flip(readers.open(user, other.workspaceId, 0, silent))).error,
        "event streams: 64 of this user are open on this node; close one and try again"
      )
      yield* readers.open(other.user, other.workspaceId, 0, silent)
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect.each<readonly [string, Stream.Stream<NumberedEvent>]>([
    ["ended", Stream.make(event)],
    ["failed", Stream.concat(Stream.make(event), Stream.die(new Error("broken")))]
  ])("are given back by a stream that has %s", ([, events]) =>
    Effect.gen(function* () {
      const { isFree, isFull, open } = yield* nearlyFull
      const stream = yield* open(Effect.succeed(events))
      yield* isFull
      yield* Effect.exit(Stream.runDrain(stream))
      yield* isFree
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("are given back by who leaves, by who is cut off, and by what could not be opened", () =>
    Effect.gen(function* () {
      const { isFree, isFull, open, user } = yield* nearlyFull
      const { fiber } = yield* reader(yield* open())
      yield* isFull
      yield* Fiber.interrupt(fiber)
      yield* isFree
      yield* Effect.exit(open(Effect.fail(new Unavailable({ error: "away" }))))
      yield* isFree
      const cut = yield* reader(yield* open())
      yield* revoke(user, user.token.id)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(cut.fiber)
      yield* isFree
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("are given back with a request that ends before its stream was read, once", () =>
    Effect.gen(function* () {
      const { isFree, isFull, open } = yield* nearlyFull
      const scope = yield* Scope.make()
      const stream = yield* Scope.provide(open(Effect.succeed(Stream.make(event))), scope)
      yield* isFull
      yield* Scope.close(scope, Exit.void)
      yield* isFree
      yield* Stream.runDrain(stream)
      yield* open()
      yield* isFull
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )

  it.effect("are asked for before a message is stored, and before a run is read", () =>
    Effect.gen(function* () {
      const { open, user, workspaceId } = yield* nearlyFull
      const [chat, runs] = [yield* Chat, yield* Runs]
      yield* open()
      const refused = yield* Effect.flip(chat.send(user, { workspaceId, content: "hi" }))
      assert.strictEqual(refused._tag, "RateLimited")
      assert.deepStrictEqual(yield* chat.list(user, { workspaceId, limit: 9, offset: 0 }), [])
      const { id } = yield* makeRun(workspaceId)
      assert.strictEqual((yield* Effect.flip(runs.events(user, id, 0)))._tag, "RateLimited")
    }).pipe(Effect.scoped, Effect.provide(layerAtRest()))
  )
})
