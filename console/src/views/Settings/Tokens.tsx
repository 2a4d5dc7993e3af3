import { useState } from "preact/hooks"
import type { TokenView } from "../../../../src/Schemas/Token.ts"
import { call } from "../../Client.ts"
import { useAction, useLoad, useOnce } from "../../Load.ts"
import { signedIn, workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Copy } from "../../ui/Copy.tsx"
import { Confirm, Dialog } from "../../ui/Dialog.tsx"
import { TextField } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Loading, Section } from "../../ui/Page.tsx"
import { isOfForm } from "../../ui/Problems.ts"
import { Table } from "../../ui/Table.tsx"
import { Age } from "../../ui/Time.tsx"

const names = ["name", "expiresInDays"]

const Making = ({ onMade }: { readonly onMade: (token: string) => void }) => {
  const [name, setName] = useState("")
  const [days, setDays] = useState("90")
  const once = useOnce()
  const make = useAction(async () => {
    const payload = { name, ...(days.trim() !== "" && { expiresInDays: Number(days) }) }
    const made = await once(payload, (key) =>
      call((client) => client.tokens.create({ payload }), undefined, key)
    )
    setName("")
    onMade(made.data.token)
  })
  return (
    <form
      class="settings-line"
      onSubmit={(event) => {
        event.preventDefault()
        make.run()
      }}
    >
      <TextField
        label="What it is for"
        name="name"
        required
        problem={make.problem}
        value={name}
        onText={setName}
      />
      <TextField
        label="Expires after (days)"
        name="expiresInDays"
        type="number"
        min={1}
        max={3650}
        problem={make.problem}
        value={days}
        onText={setDays}
      />
      <Button type="submit" isBusy={make.isBusy} disabled={name.trim() === ""}>
        Create token
      </Button>
      {isOfForm(make.problem, names) && <ProblemNotice problem={make.problem} />}
    </form>
  )
}

/** Shows a token, the one time that it is known. */
const Made = ({ onClose, token }: { readonly token: string; readonly onClose: () => void }) => {
  const line = `curl "${location.origin}/api/runs?workspaceId=${workspaceId()}" -H "Authorization: Bearer ${token}"`
  return (
    <Dialog title="Your new token" onClose={onClose}>
      <p>It is shown this once. Keep it where nobody else reads it.</p>
      <p class="settings-secret">
        <code>{token}</code> <Copy text={token} what="token" />
      </p>
      <p>
        To try it: <Copy text={line} label="Copy a curl line" />
      </p>
      <footer>
        <Button kind="primary" onClick={onClose}>
          I have kept it
        </Button>
      </footer>
    </Dialog>
  )
}

/** Bearer tokens and browser sessions of who is signed in. */
export const Tokens = () => {
  const [made, setMade] = useState<string>()
  const [leaving, setLeaving] = useState<TokenView>()
  const { data, isLoading, problem, reload } = useLoad("tokens", (signal) =>
    Promise.all([call((client) => client.tokens.list(), signal), signedIn(signal)]).then(
      ([tokens, self]) => ({
        tokens: tokens.data,
        self: self?.tokenId
      })
    )
  )
  const revoke = useAction(async () => {
    if (leaving === undefined) return
    await call((client) => client.tokens.remove({ params: { id: leaving.id } }))
    reload()
  })
  return (
    <Section title="Tokens">
      <div class="stack">
        <p class="muted">
          Yours, in all workspaces: for programs, and one for each browser that is signed in. What a token has
          made ends with it.
        </p>
        <ProblemNotice problem={problem} onRetry={reload} />
        {isLoading && <Loading rows={2} />}
        {data !== undefined && (
          <Table stacks label="Tokens" columns={["Name", "Created", "Expires", ""]}>
            {data.tokens.map((token) => (
              <tr key={token.id}>
                <td>
                  {token.name} {token.id === data.self && <span class="muted">(this session)</span>}
                </td>
                <td>
                  <Age at={token.createdAt} />
                </td>
                <td data-label="Expires">
                  {token.expiresAt === null ? "Never" : <Age at={token.expiresAt} />}
                </td>
                <td>
                  <Button kind="danger" onClick={() => setLeaving(token)}>
                    Revoke<span class="visually-hidden"> {token.name}</span>
                  </Button>
                </td>
              </tr>
            ))}
          </Table>
        )}
        <Making
          onMade={(token) => {
            setMade(token)
            reload()
          }}
        />
      </div>
      {made !== undefined && <Made token={made} onClose={() => setMade(undefined)} />}
      {leaving !== undefined && (
        <Confirm
          title={`Revoke ${leaving.name}?`}
          deed="Revoke"
          problem={revoke.problem}
          onConfirm={() => revoke.run()}
          onClose={() => setLeaving(undefined)}
        >
          <p>
            {leaving.id === data?.self
              ? "This browser is signed out at once."
              : "It works no more, at once, nor does what it made. If this browser is signed in by it, it is signed out."}
          </p>
        </Confirm>
      )}
    </Section>
  )
}
