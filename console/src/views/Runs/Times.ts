import { isTerminal, type RunDetail } from "../../../../src/Schemas/Run.ts"
import { call } from "../../Client.ts"
import type { Times } from "./Story.ts"

export const readTimes = async (run: RunDetail, signal: AbortSignal): Promise<Times> => {
  const approvals =
    run.status === "WAITING_APPROVAL"
      ? (
          await call(
            (client) =>
              client.approvals.list({ query: { workspaceId: run.workspaceId, limit: 100, offset: 0 } }),
            signal
          )
        ).data.filter(({ runId }) => runId === run.id)
      : []
  const from = run.startedAt?.getTime() ?? 0
  const to = (run.finishedAt ?? run.updatedAt).getTime()
  const tools = run.steps.reduce((sum, step) => sum + (step.type === "tool" ? step.result.durationMs : 0), 0)
  const models = run.steps.filter(({ type }) => type === "model").length
  const each = Math.max(1, (to - from - tools) / Math.max(1, models))
  let at = from
  const steps = new Map<number, { from: number | undefined; to: number; costUsd: undefined }>()
  for (const step of run.steps) {
    at += step.type === "tool" ? step.result.durationMs : each
    steps.set(step.index, { from: undefined, to: at, costUsd: undefined })
  }
  return { steps, approvals, executions: [], errorCode: isTerminal(run.status) ? undefined : undefined }
}
