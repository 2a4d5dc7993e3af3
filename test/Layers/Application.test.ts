import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Application from "../../src/Layers/Application.ts"
import * as Repo from "../../src/Layers/Repo.ts"
import * as Ring from "../../src/Layers/SecretBox/Ring.ts"
import { UserId } from "../../src/Schemas/Ids.ts"
import { Email } from "../../src/Schemas/User.ts"
import { Agents } from "../../src/Services/Agents.ts"
import { Settings } from "../../src/Services/Settings.ts"
import { UserRepo } from "../../src/Services/UserRepo.ts"
import { Workspaces } from "../../src/Services/Workspaces.ts"

const layer = Application.layerAtRest.pipe(
  Layer.provide(Ring.layer({ current: undefined, former: [] })),
  Layer.provideMerge(Repo.layerMemory),
  Layer.provide(Layer.succeed(Settings, Settings.defaults))
)

it.effect("lists an agent that was created", () =>
  Effect.gen(function* () {
    const [agents, workspaces] = [yield* Agents, yield* Workspaces]
    const ann = { id: UserId.make("user_ann"), email: Email.make("ann@example.org"), createdAt: new Date(0) }
    yield* (yield* UserRepo).insert(ann)
    const { id: workspaceId } = yield* workspaces.create(ann, { name: "Research" })
    const agent = yield* agents.create(ann, { workspaceId, name: "Researcher" })
    assert.deepStrictEqual((yield* agents.list(ann, { workspaceId })).first, [agent])
  }).pipe(Effect.provide(layer))
)
