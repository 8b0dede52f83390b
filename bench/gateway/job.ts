/** What the caller of models is asked to do, and what it answers; plain data that travels between processes. */

export interface CallJob {
  readonly port: number
  readonly path: string
  /** Of each connection in turn: what it says beside what every request says. */
  readonly headers: ReadonlyArray<ReadonlyArray<string>>
  readonly model: string
  readonly stream: boolean
  /** Bytes that the prompt is longer by. */
  readonly padding: number
  readonly connections: number
  readonly rampSeconds: number
  /** Counted. Unbounded when so many calls are to be made instead. */
  readonly seconds: number
  readonly calls: number | null
}

export interface CallOutcome {
  readonly calls: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  /** Milliseconds to the first byte of the body. */
  readonly first50: number
  readonly first99: number
  readonly failure: string | null
}

export type CallReport =
  | { readonly is: "ready" }
  | { readonly is: "begun" }
  | { readonly is: "ended" }
  | { readonly is: "done"; readonly outcome: CallOutcome }
