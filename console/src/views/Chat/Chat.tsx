import { useState } from "preact/hooks"
import type { Conversation as Conversations } from "../../../../src/Schemas/Conversation.ts"
import type { AgentId, ConversationId } from "../../../../src/Schemas/Ids.ts"
import { call } from "../../Client.ts"
import { useAction, useLoad } from "../../Load.ts"
import { go, href, route, setQuery } from "../../Router.ts"
import { workspaceId } from "../../Session.ts"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Dialog.tsx"
import { Select } from "../../ui/Field.tsx"
import { ProblemNotice } from "../../ui/Notice.tsx"
import { Loading, Page } from "../../ui/Page.tsx"
import { Age } from "../../ui/Time.tsx"
import { Conversation } from "./Conversation.tsx"
import "./Chat.css"

const lookMillis = 10_000
const pageSize = 100
const mostShown = 1_000

interface ListProps {
  readonly conversations: ReadonlyArray<Conversations>
  readonly current: string | undefined
}

const List = ({ conversations, current }: ListProps) => (
  <ul class="chat-list" aria-label="Conversations">
    {conversations.map(({ agent, id, title, updatedAt }) => (
      <li key={id}>
        <a href={href(["chat", id])} aria-current={id === current ? "page" : undefined}>
          <span class="chat-title">{title}</span>
          <span class="chat-about muted">
            {agent === null ? "Default agent" : agent.name} · <Age at={updatedAt} />
          </span>
        </a>
      </li>
    ))}
  </ul>
)

/** Whom the first message goes to. */
const AgentChoice = ({ chosen }: { readonly chosen: string }) => {
  const workspace = workspaceId()
  const { data } = useLoad(`agents ${workspace}`, (signal) =>
    call((client) => client.agents.list({ query: { workspaceId: workspace, limit: 200 } }), signal)
  )
  const active = (data?.data ?? []).filter(({ isActive }) => isActive)
  return (
    <Select
      label="Agent"
      value={chosen}
      choices={[
        { value: "", label: "Default agent" },
        ...active.map(({ id, name }) => ({ value: id, label: name }))
      ]}
      onChoice={(agentId) => setQuery({ agentId })}
    />
  )
}

const Removal = ({
  conversation,
  onDone
}: {
  readonly conversation: Conversations
  readonly onDone: () => void
}) => {
  const [asks, setAsks] = useState(false)
  const remove = useAction(async () => {
    await call((client) => client.chat.remove({ params: { id: conversation.id } }))
    onDone()
    go(href(["chat"]))
  })
  return (
    <>
      <Button kind="danger" onClick={() => setAsks(true)}>
        Delete
      </Button>
      {asks && (
        <Confirm
          title="Delete this conversation?"
          deed="Delete"
          problem={remove.problem}
          onConfirm={() => remove.run()}
          onClose={() => setAsks(false)}
        >
          <p>“{conversation.title}” and its messages are gone for everybody. This can't be undone.</p>
        </Confirm>
      )}
    </>
  )
}

/** Conversations with agents: a list, and the one that is looked at. */
const Chat = () => {
  const workspace = workspaceId()
  const { path, query } = route.value
  const id = path[1] as ConversationId | undefined
  const isNew = id === undefined
  const agentId = query.get("agentId") ?? ""
  const [limit, setLimit] = useState(pageSize)
  const { data, problem, reload } = useLoad(
    `${workspace} ${limit}`,
    async (signal) => {
      const found = new Map<ConversationId, Conversations>()
      for (let offset = 0; offset < limit; offset += pageSize) {
        const query = { workspaceId: workspace, limit: pageSize, offset }
        const page = await call((client) => client.chat.list({ query }), signal)
        for (const each of page.data) found.set(each.id, each)
        if (page.data.length < pageSize) return { conversations: [...found.values()], hasMore: false }
      }
      return { conversations: [...found.values()], hasMore: limit < mostShown }
    },
    { every: lookMillis }
  )
  const conversations = data?.conversations ?? []
  const listed = conversations.find((each) => each.id === id)
  const isAside = id !== undefined && data !== undefined && listed === undefined
  const { data: aside } = useLoad(isAside ? id : "", (signal) =>
    isAside
      ? call((client) => client.chat.get({ params: { id }, query: { limit: 1 } }), signal).then(
          (found) => found.data
        )
      : Promise.resolve(undefined)
  )
  const current = listed ?? aside
  return (
    <Page
      title={current?.title ?? "Chat"}
      {...(!isNew && { back: { href: href(["chat"]), label: "All conversations" } })}
      note={current === undefined ? undefined : (current.agent?.name ?? "Default agent")}
      actions={
        <>
          {!isNew && (
            <a class="button" href={href(["chat"])}>
              New conversation
            </a>
          )}
          {current !== undefined && <Removal conversation={current} onDone={reload} />}
        </>
      }
    >
      <div class={isNew ? "chat" : "chat chat-open"}>
        <nav class="chat-side" aria-label="Conversations">
          <ProblemNotice problem={problem} onRetry={reload} />
          {data === undefined && problem === undefined && <Loading />}
          {data !== undefined && conversations.length === 0 && (
            <p class="muted">There are no conversations yet.</p>
          )}
          <List conversations={conversations} current={id} />
          {data?.hasMore === true && (
            <Button kind="quiet" onClick={() => setLimit(limit + pageSize)}>
              Show more
            </Button>
          )}
        </nav>
        <div class="chat-main">
          {isNew && <AgentChoice chosen={agentId} />}
          <Conversation
            key={id ?? "new"}
            id={id}
            agentId={isNew && agentId !== "" ? (agentId as AgentId) : undefined}
            projectId={undefined}
            onChanged={reload}
          />
        </div>
      </div>
    </Page>
  )
}

export default Chat
