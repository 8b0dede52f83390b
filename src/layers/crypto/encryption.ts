/** Seals what must be read again but holds secrets: AES-256-GCM under a key derived from the platform's secret. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { Option } from "effect"
import type { Redacted } from "effect"
import { derivedKey } from "./secrets.ts"

const ivLength = 12
const tagLength = 16

export interface Sealing {
  readonly seal: (text: string) => Buffer
  /** Nothing when it was sealed under another secret, or for something else. */
  readonly open: (sealed: Uint8Array) => Option.Option<string>
}

/** `purpose` keeps what was sealed for one thing from being opened as another. */
export const sealing = (secret: Redacted.Redacted, purpose: string): Sealing => {
  const key = derivedKey(secret, `seal ${purpose}`)
  return {
    seal: (text) => {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv("aes-256-gcm", key, iv)
      return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
    },
    open: Option.liftThrowable((sealed) => {
      const bytes = Buffer.from(sealed)
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivLength), {
        authTagLength: tagLength
      })
      decipher.setAuthTag(bytes.subarray(-tagLength))
      return decipher.update(bytes.subarray(ivLength, -tagLength), undefined, "utf8") + decipher.final("utf8")
    })
  }
}
