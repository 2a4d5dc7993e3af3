import { parentPort } from "node:worker_threads"
import { problemsOf } from "./Problems.ts"
import type { Question } from "./Thread.ts"
import { makeTimeLimit } from "./TimeLimit.ts"

if (parentPort === null) throw new Error("This module is the entry of a worker thread")
const port = parentPort
const within = makeTimeLimit()

port.on("message", ({ limitMillis, schema, value }: Question) =>
  port.postMessage(within(limitMillis, () => problemsOf(schema, value)))
)
