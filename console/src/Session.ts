import { computed, signal } from "@preact/signals"
import type { UserId, WorkspaceId } from "../../src/Schemas/Ids.ts"
import type { SignedIn } from "../../src/Schemas/Session.ts"
import type { WorkspaceView } from "../../src/Schemas/Workspace.ts"
import { call, signIns, toProblem, whenUnauthenticated } from "./Client.ts"
import { go, href, route } from "./Router.ts"

type Workspace = typeof WorkspaceView.Type

const chosenKey = "agentd.workspace"

/** The workspaces of who is signed in; undefined until they are known. */
export const workspaces = signal<ReadonlyArray<Workspace> | undefined>(undefined)

const chosen = signal<string | null>(localStorage.getItem(chosenKey))

/** The one that is looked at: the chosen one, or else the first. */
export const current = computed<Workspace | undefined>(
  () => workspaces.value?.find(({ id }) => id === chosen.value) ?? workspaces.value?.[0]
)

/** The id of the workspace that is looked at; views are shown only where there is one. */
export const workspaceId = (): WorkspaceId => {
  const { value } = current
  if (value === undefined) throw new Error("no workspace is chosen")
  return value.id
}

export const isOwner = computed(() => current.value?.role === "owner")

/** Looks at another workspace. */
export const choose = (id: string): void => {
  localStorage.setItem(chosenKey, id)
  chosen.value = id
}

/** Reads the workspaces of who is signed in. */
export const loadWorkspaces = async (signal?: AbortSignal): Promise<void> => {
  const { data } = await call((client) => client.workspaces.list(), signal)
  workspaces.value = data
  if (owner !== null) return
  const self = await signedIn(signal)
  if (self !== undefined) own(self.userId)
}

const signInPath = "sign-in"

/** Whether the session has ended while something was looked at, which stays as it is behind the sign-in. */
export const isInterrupted = signal(false)

const userKey = "agentd.user"

/** Whose page it is, as far as it is known. */
let owner = localStorage.getItem(userKey)

const own = (userId: UserId): void => {
  owner = userId
  localStorage.setItem(userKey, userId)
}

/** How often the page has become somebody else's: what it shows and what was typed is nobody's then. */
export const handovers = signal(0)

const typed: Array<() => void> = []

/** How to forget what somebody typed and has not sent, which is kept longer than what shows it. */
export const whenLeft = (forget: () => void): void => {
  typed.push(forget)
}

const forgetTyped = (): void => {
  sessionStorage.clear()
  for (const forget of typed) forget()
}

/** Leads to the sign-in, and from there back to where one was. */
const toSignIn = (): void => {
  isInterrupted.value = false
  if (route.value.path[0] === signInPath) return
  workspaces.value = undefined
  go(href([signInPath], { from: location.hash }), { replace: true })
}

whenUnauthenticated(() => {
  if (workspaces.value === undefined || route.value.path[0] === signInPath) toSignIn()
  else isInterrupted.value = true
})

/** Goes on as a user, where that one was if it is the same. */
const enter = async (userId: UserId): Promise<void> => {
  if (owner !== userId) {
    forgetTyped()
    workspaces.value = undefined
    handovers.value += 1
    own(userId)
  }
  await loadWorkspaces()
  isInterrupted.value = false
  signIns.value += 1
}

/** Begins a session with a token, which is kept nowhere here. */
export const signIn = async (token: string): Promise<void> => {
  const { data } = await call((client) => client.session.start(), undefined, {
    authorization: `Bearer ${token}`
  })
  await enter(data.userId)
}

/** Begins a session with the code of a link, which works once. */
export const signInByLink = async (code: string): Promise<void> => {
  const { data } = await call((client) => client.session.startByLink({ payload: { code } }))
  await enter(data.userId)
}

/** Goes on if somebody has signed in meanwhile, in another tab. */
export const lookAgain = async (signal: AbortSignal): Promise<void> => {
  const self = await signedIn(signal)
  if (self !== undefined && isInterrupted.value) await enter(self.userId)
}

/** Who is signed in already, and by which token or session; undefined: nobody is. */
export const signedIn = async (signal?: AbortSignal): Promise<SignedIn | undefined> => {
  try {
    return (await call((client) => client.session.get(), signal)).data
  } catch (error) {
    if (toProblem(error).tag === "Unauthenticated") return undefined
    throw error
  }
}

/** Ends the session, if it is not over already. What was typed and not sent goes with it. */
export const signOut = async (): Promise<void> => {
  try {
    await call((client) => client.session.end())
  } catch (error) {
    if (toProblem(error).tag !== "Unauthenticated") throw error
  }
  forgetTyped()
  toSignIn()
}
