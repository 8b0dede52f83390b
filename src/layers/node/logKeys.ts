/** Keys of the public log: Ed25519 in PKCS#8, as PEM or its base64 on one line. `openssl genpkey -algorithm ed25519` makes such keys. */
import { createPrivateKey, generateKeyPairSync } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { Option } from "effect"
import type { LogKeys } from "../../services/LogSigner.ts"
import { rawPublicKey, signNote, verifierKey } from "../crypto/signedNote.ts"

/** `previous` signs beside `current`. */
export const logKeys = (current: KeyObject, previous: Option.Option<KeyObject>): LogKeys => ({
  verifierKey: (origin) => verifierKey(origin, rawPublicKey(current)),
  previousVerifierKey: (origin) => Option.map(previous, (key) => verifierKey(origin, rawPublicKey(key))),
  sign: (origin, text) =>
    [current, ...Option.toArray(previous)].map((key) => signNote(text, origin, key)).join("")
})

/** The key in a text; none if the text contains no such key. */
export const parseLogKey = (text: string): Option.Option<KeyObject> => {
  const base64 = text.replaceAll(/-----(BEGIN|END) PRIVATE KEY-----|\s|\\n/g, "")
  return Option.filter(
    Option.liftThrowable(createPrivateKey)({
      key: Buffer.from(base64, "base64"),
      format: "der",
      type: "pkcs8"
    }),
    (key) => key.asymmetricKeyType === "ed25519"
  )
}

/** A new key, as PEM. */
export const makeLogKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString()
