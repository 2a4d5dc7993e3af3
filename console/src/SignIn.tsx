import { useEffect, useRef, useState } from "preact/hooks"
import { useAction } from "./Load.ts"
import { go, href, route } from "./Router.ts"
import { signIn } from "./Session.ts"
import { Button } from "./ui/Button.tsx"
import { TextField } from "./ui/Field.tsx"
import { ProblemNotice } from "./ui/Notice.tsx"

/** Takes a token and leads back to where one was. */
export const SignIn = () => {
  const [token, setToken] = useState("")
  const form = useRef<HTMLFormElement>(null)
  const enter = useAction(async () => {
    await signIn(token.trim())
    const from = route.value.query.get("from") ?? ""
    go(from.startsWith("#/") ? from : href(["runs"]), { replace: true })
  })
  useEffect(() => {
    document.title = "Sign in · agentd"
    form.current?.querySelector("input")?.focus()
  }, [])
  return (
    <main class="sign-in">
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          enter.run()
        }}
      >
        <h1>agentd</h1>
        <TextField
          label="Token"
          type="password"
          required
          autocomplete="current-password"
          value={token}
          onText={setToken}
        />
        <ProblemNotice problem={enter.problem} />
        <Button kind="primary" type="submit" isBusy={enter.isBusy}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
