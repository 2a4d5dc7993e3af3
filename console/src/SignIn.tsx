import { useEffect, useRef, useState } from "preact/hooks"
import { Problem } from "./Client.ts"
import { useAction, useLoad } from "./Load.ts"
import { go, href, route } from "./Router.ts"
import { lookAgain, signedIn, signIn, signInByLink } from "./Session.ts"
import { Button } from "./ui/Button.tsx"
import { TextField } from "./ui/Field.tsx"
import { Notice, ProblemNotice } from "./ui/Notice.tsx"

/** What there is to be filled in: whatever goes wrong is said of it. */
const field = "token"

/** Leads on, to where somebody was who had to sign in. */
const lead = () => {
  const from = route.value.query.get("from") ?? ""
  go(from.startsWith("#/") && !from.startsWith("#/sign-in") ? from : href(["runs"]), { replace: true })
}

/**
 * Signs in by the code of a link. Somebody who is signed in already is asked first: a link that others have sent would
 * have them work as somebody else without noticing.
 */
const useLink = () => {
  const code = route.value.path[1]
  const given = useRef("")
  const [self, setSelf] = useState<string>()
  const enter = useAction(async () => {
    await signInByLink(given.current)
    lead()
  })
  const look = useAction(async () => {
    const email = (await signedIn())?.email
    setSelf(email)
    if (email === undefined) await enter.run()
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: each link is followed once, also one that is opened here
  useEffect(() => {
    if (code === undefined) return
    given.current = code
    // Nobody finds it in the history.
    go(href(["sign-in"], Object.fromEntries(route.value.query)), { replace: true })
    enter.clear()
    look.run()
  }, [code])
  return { enter, isBusy: look.isBusy || enter.isBusy, problem: enter.problem ?? look.problem, self }
}

interface FormProps {
  readonly link?: ReturnType<typeof useLink>
  readonly onDone: () => void
}

const TokenForm = ({ link, onDone }: FormProps) => {
  const [token, setToken] = useState("")
  const form = useRef<HTMLFormElement>(null)
  const enter = useAction(async () => {
    await signIn(token.trim())
    onDone()
  })
  const isFollowing = link?.isBusy === true
  useEffect(() => {
    if (!isFollowing) form.current?.querySelector("input")?.focus()
  }, [isFollowing])
  return (
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        enter.run().then((isDone) => {
          if (!isDone) form.current?.querySelector("input")?.select()
        })
      }}
    >
      <h1>agentd</h1>
      {link === undefined && (
        <Notice kind="warn" title="Your session has ended.">
          What is behind this stays as it is.
        </Notice>
      )}
      {link?.self !== undefined && (
        <Notice kind="warn" title={`You are signed in as ${link.self}.`}>
          <p>The link signs in somebody, who may be another.</p>
          <div class="row">
            <Button isBusy={isFollowing} onClick={() => link.enter.run()}>
              Sign in by the link
            </Button>
            <a href={href(["runs"])}>Stay as I am</a>
          </div>
        </Notice>
      )}
      {isFollowing && <p aria-live="polite">Signing in…</p>}
      <ProblemNotice problem={link?.problem} />
      <TextField
        label="Token"
        type="password"
        name={field}
        required
        autocomplete="current-password"
        problem={enter.problem && new Problem(enter.problem.tag, `${field}: ${enter.problem.message}`)}
        value={token}
        onText={setToken}
      />
      <Button kind="primary" type="submit" isBusy={enter.isBusy}>
        Sign in
      </Button>
      <p class="field-hint">
        It is in <code>credentials.json</code> of the data folder, or an operator makes one:{" "}
        <code>agentd token create</code>. <code>agentd sign-in-link</code> prints a link that needs none.
      </p>
    </form>
  )
}

/** Takes a token, or a link that works once, and leads back to where one was. */
export const SignIn = () => {
  const link = useLink()
  useEffect(() => {
    document.title = "Sign in · agentd"
  }, [])
  return (
    <main class="sign-in">
      <TokenForm link={link} onDone={lead} />
    </main>
  )
}

const lookMillis = 10_000

/** Takes a token over a page whose session has ended: what was typed there is there yet when it goes on. */
export const SignInAgain = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  useLoad("sign-in", lookAgain, { every: lookMillis })
  useEffect(() => {
    const { activeElement, title } = document
    document.title = "Sign in · agentd"
    dialog.current?.showModal()
    return () => {
      document.title = title
      dialog.current?.close()
      if (activeElement instanceof HTMLElement) activeElement.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="sign-in sign-in-again"
      aria-label="Sign in"
      onCancel={(event) => event.preventDefault()}
    >
      <TokenForm onDone={() => {}} />
    </dialog>
  )
}
