/** The keys of the public log at work, whatever they are kept in. */
import type { KeyObject } from "node:crypto"
import { Option } from "effect"
import type { LogKeys } from "../services/LogSigner.ts"
import { rawPublicKey, signNote, verifierKey } from "./crypto/signedNote.ts"

/** `previous` goes on signing beside `current`. */
export const logKeys = (current: KeyObject, previous: Option.Option<KeyObject>): LogKeys => ({
  verifierKey: (origin) => verifierKey(origin, rawPublicKey(current)),
  previousVerifierKey: (origin) => Option.map(previous, (key) => verifierKey(origin, rawPublicKey(key))),
  sign: (origin, text) =>
    [current, ...Option.toArray(previous)].map((key) => signNote(text, origin, key)).join("")
})
