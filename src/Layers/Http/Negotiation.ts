/** What a browser that understands several is sent, the smallest first. */
export const encodings = ["br", "gzip"] as const

/** Whether a browser has what is known by this tag. */
export const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? "").split(",").some((known) => ["*", etag, `W/${etag}`].includes(known.trim()))

/** Whether an `Accept-Encoding` names an encoding and does not refuse it. */
export const takes = (acceptEncoding: string | undefined, encoding: string): boolean =>
  (acceptEncoding ?? "").split(",").some((member) => {
    const [name = "", weight = ""] = member.toLowerCase().split(";")
    return name.trim() === encoding && !/^q=0(\.0*)?$/.test(weight.trim())
  })
