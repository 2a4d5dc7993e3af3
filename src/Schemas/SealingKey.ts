/** What a sealing key looks like, in words. */
export const keyForm = "32 bytes in base64 (openssl rand -base64 32)"

/** Whether a text is a key of 32 bytes in base64, with or without its last `=`, also as it is written in URLs. */
export const isSealingKey = (text: string): boolean => /^[A-Za-z0-9+/_-]{43}=?$/u.test(text)
