import * as Net from "node:net"
import type { Seeded } from "./Seed.ts"

/**
 * A way to a server that cuts connections, while it is told to: one in ten of what clients send is lost with its
 * connection, half of it before it gets there and half with its answer; and each second one in ten connections,
 * also those that only listen.
 */
export const startCuttingProxy = async (host: string, port: number, random: Seeded) => {
  const links = new Set<{ readonly close: () => void; readonly cut: () => void }>()
  let cutting = false
  let cuts = 0
  const server = Net.createServer((incoming) => {
    const outgoing = Net.connect(port, host)
    const link = {
      close: () => {
        incoming.destroy()
        outgoing.destroy()
      },
      cut: () => {
        cuts++
        link.close()
      }
    }
    let isAnswerLost = false
    links.add(link)
    incoming
      .on("data", (chunk) => {
        if (cutting && random.lucky(10)) {
          if (random.lucky(50)) return link.cut()
          isAnswerLost = true
        }
        outgoing.write(chunk)
      })
      .on("error", () => {})
      .on("close", () => {
        links.delete(link)
        outgoing.destroy()
      })
    outgoing
      .on("data", (chunk) => {
        if (isAnswerLost) link.cut()
        else incoming.write(chunk)
      })
      .on("error", () => {})
      .on("close", () => incoming.destroy())
  })
  const everySecond = setInterval(() => {
    for (const link of cutting ? [...links] : []) if (random.lucky(10)) link.cut()
  }, 1_000)
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  return {
    port: (server.address() as Net.AddressInfo).port,
    cut: (on: boolean) => {
      cutting = on
    },
    cuts: () => cuts,
    close: () => {
      clearInterval(everySecond)
      for (const link of links) link.close()
      server.close()
    }
  }
}
