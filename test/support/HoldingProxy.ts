import * as Net from "node:net"

/**
 * A way to a server that can hold back what clients send and deliver it late, in order, also for clients
 * that have gone since: how a statement arrives after its sender gave it up.
 */
export const startHoldingProxy = async (port: number) => {
  const links = new Set<{ readonly send: () => void }>()
  const late: Array<Buffer> = []
  let holding = false
  const server = Net.createServer({ allowHalfOpen: true }, (incoming) => {
    const outgoing = Net.connect(port, "127.0.0.1")
    const held: Array<Buffer> = []
    let gone = false
    const link = {
      send: () => {
        for (const chunk of held.splice(0)) outgoing.write(chunk)
        if (gone) outgoing.end()
      }
    }
    links.add(link)
    incoming.on("data", (chunk) => {
      if (holding) late.push(chunk)
      held.push(chunk)
      if (!holding) link.send()
    })
    const leave = () => {
      gone = true
      if (!holding) link.send()
    }
    incoming.on("error", leave).on("end", leave).on("close", leave)
    outgoing
      .on("data", (chunk) => void (incoming.destroyed || incoming.write(chunk)))
      .on("error", () => {})
      .on("close", () => {
        links.delete(link)
        incoming.destroy()
      })
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  return {
    port: (server.address() as Net.AddressInfo).port,
    hold: () => {
      holding = true
    },
    /** Delivers what was held, and tells whether it had any of these words. */
    release: (words: ReadonlyArray<string>) => {
      holding = false
      const text = Buffer.concat(late.splice(0)).toString("latin1")
      for (const link of links) link.send()
      return words.filter((word) => text.includes(word))
    },
    close: () => server.close()
  }
}
