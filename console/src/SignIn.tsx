import { useEffect, useRef, useState } from "preact/hooks"
import { Problem } from "./Client.ts"
import { useAction } from "./Load.ts"
import { go, href, route } from "./Router.ts"
import { signedIn, signIn, signInByLink } from "./Session.ts"
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

/** Takes a token, or a link that works once, and leads back to where one was. */
export const SignIn = () => {
  const [token, setToken] = useState("")
  const form = useRef<HTMLFormElement>(null)
  const link = useLink()
  const enter = useAction(async () => {
    await signIn(token.trim())
    lead()
  })
  useEffect(() => {
    document.title = "Sign in · agentd"
  }, [])
  useEffect(() => {
    if (!link.isBusy) form.current?.querySelector("input")?.focus()
  }, [link.isBusy])
  return (
    <main class="sign-in">
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
        {link.self !== undefined && (
          <Notice kind="warn" title={`You are signed in as ${link.self}.`}>
            <p>The link signs in somebody, who may be another.</p>
            <div class="row">
              <Button isBusy={link.isBusy} onClick={() => link.enter.run()}>
                Sign in by the link
              </Button>
              <a href={href(["runs"])}>Stay as I am</a>
            </div>
          </Notice>
        )}
        {link.isBusy && <p aria-live="polite">Signing in…</p>}
        <ProblemNotice problem={link.problem} />
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
    </main>
  )
}
