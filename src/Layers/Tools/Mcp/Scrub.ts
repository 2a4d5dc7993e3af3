import { secretsOfAddress } from "../../../Schemas/ConnectorSecrets.ts"
import type { ConnectorServer } from "../../../Schemas/ConnectorServer.ts"
import { makeScrubber, type Scrub, secretsOfHeader } from "../../../Schemas/Scrub.ts"

/** Takes what a server is sent as a secret out of what it says: its headers, and what of its address looks like one. */
export const scrubOf = ({ headers, url }: ConnectorServer): Scrub =>
  makeScrubber([...Object.values(headers).flatMap(secretsOfHeader), ...secretsOfAddress(url)]).text
