const shortestSecret = 8

/**
 * Takes the values of these headers out of a text, should a server say them back: whole, and a token
 * without its scheme. Short ones are no secrets, and would spoil ordinary words.
 */
export const scrubber = (headers: Readonly<Record<string, string>>) => {
  const secrets = Object.values(headers)
    .flatMap((value) => [value, value.replace(/^\S+\s+/u, "")])
    .filter((value) => value.length >= shortestSecret)
  return (text: string): string => secrets.reduce((left, secret) => left.replaceAll(secret, "[hidden]"), text)
}
