/** Writes the client's stream, frame by frame of the provider's. */
import type { Frame } from "./frames.ts"
import type { Said } from "./understanding.ts"

/** What the client gets: bytes as they came, text of ours, or nothing. */
export type Writing = Buffer | string | undefined

export interface Writer {
  readonly write: (frame: Frame, said: Said) => Writing
  /** What completes the client's stream once the provider has closed its own. */
  readonly end: () => Writing
}
