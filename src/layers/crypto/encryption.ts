/** Encrypts texts with secrets that must be read again: AES-256-GCM under a key derived from the platform's secret. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { Option } from "effect"
import type { Redacted } from "effect"
import { derivedKey } from "./secrets.ts"

const ivLength = 12
const tagLength = 16

export interface Encryption {
  readonly encrypt: (text: string) => Buffer
  /** Decrypts a text; none if it was encrypted under another secret or for another purpose. */
  readonly decrypt: (encrypted: Uint8Array) => Option.Option<string>
}

/** A text that was encrypted for one purpose cannot be decrypted for another. */
export const encryption = (secret: Redacted.Redacted, purpose: string): Encryption => {
  const key = derivedKey(secret, `seal ${purpose}`)
  return {
    encrypt: (text) => {
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv("aes-256-gcm", key, iv)
      return Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
    },
    decrypt: Option.liftThrowable((encrypted) => {
      const bytes = Buffer.from(encrypted)
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, ivLength), {
        authTagLength: tagLength
      })
      decipher.setAuthTag(bytes.subarray(-tagLength))
      return decipher.update(bytes.subarray(ivLength, -tagLength), undefined, "utf8") + decipher.final("utf8")
    })
  }
}
