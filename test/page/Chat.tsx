import { type UIMessage, useChat } from "@ai-sdk/react"
import { APICallError, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import { type SubmitEvent, useEffect, useState } from "react"
import { createRoot } from "react-dom/client"

/** Where the service is and which chat is shown, as the address of the page says; its token is behind the `#`, if it has one. */
const given = new URLSearchParams(location.search)
const token = location.hash.slice(1)
const chatId = given.get("chat") ?? ""
const api = `${given.get("agentd")}/api/ui/${given.get("agent") ?? "default"}/chat`
const headers: Record<string, string> = token === "" ? {} : { authorization: `Bearer ${token}` }
const credentials = token === "" ? "include" : "omit"
const chat = `${api}/${encodeURIComponent(chatId)}`

/** How long the page waits before it looks whether a service that it has lost is there again. */
const againMillis = 200

const autonomyLevel = given.get("autonomy")
const transport = new DefaultChatTransport({
  api,
  headers,
  credentials,
  body: autonomyLevel === null ? {} : { autonomyLevel }
})

/** A lost connection is a TypeError to a page; a node that stops says 503. */
const isPassing = (error: Error | undefined): boolean =>
  error instanceof TypeError || (APICallError.isInstance(error) && error.statusCode === 503)

const Message = ({
  decide,
  message
}: {
  readonly message: UIMessage
  readonly decide: (id: string, approved: boolean) => void
}) => (
  <li data-role={message.role}>
    {message.parts.map((part, index) => {
      const key = `${message.id} ${index}`
      if (part.type === "text") return <span key={key}>{part.text}</span>
      if (part.type !== "dynamic-tool") return null
      return (
        <div key={key} data-tool={part.toolName} data-state={part.state}>
          {part.state === "approval-requested" && (
            <>
              <button type="button" onClick={() => decide(part.approval.id, true)}>
                Approve
              </button>
              <button type="button" onClick={() => decide(part.approval.id, false)}>
                Reject
              </button>
            </>
          )}
        </div>
      )
    })}
  </li>
)

const Chat = ({ stored }: { readonly stored: Array<UIMessage> }) => {
  const { addToolApprovalResponse, error, messages, resumeStream, sendMessage, status, stop } = useChat({
    id: chatId,
    messages: stored,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    transport
  })

  useEffect(() => {
    if (status !== "error" || !isPassing(error)) return
    const again = setTimeout(() => void resumeStream(), againMillis)
    return () => clearTimeout(again)
  }, [error, resumeStream, status])

  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get("text"))
    void sendMessage({ text })
  }
  /** That a page goes away stops nothing: this asks for it. */
  const cancel = async () => {
    await fetch(`${chat}/stop`, { method: "POST", headers, credentials })
    await stop()
  }

  return (
    <>
      <ol>
        {messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            decide={(id, approved) => void addToolApprovalResponse({ id, approved })}
          />
        ))}
      </ol>
      <output data-status={status}>{error?.message}</output>
      <form onSubmit={send}>
        <input name="text" />
        <button type="submit">Send</button>
        <button type="button" onClick={() => void cancel()}>
          Stop
        </button>
      </form>
    </>
  )
}

/** What is stored of the chat, before it is shown; the service may be away for a while. */
const Loaded = () => {
  const [stored, setStored] = useState<Array<UIMessage>>()
  useEffect(() => {
    const load = async (): Promise<void> => {
      try {
        const answer = await fetch(chat, { headers, credentials })
        setStored(answer.ok ? (await answer.json()).messages : [])
      } catch {
        setTimeout(() => void load(), againMillis)
      }
    }
    void load()
  }, [])
  return stored === undefined ? null : <Chat stored={stored} />
}

createRoot(document.getElementById("root") as HTMLElement).render(<Loaded />)
