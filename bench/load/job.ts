/** What the generator is asked to do, and what it answers; plain data that travels between processes. */
import type { Pairs } from "../world.ts"

export type Requests =
  /** Predictions of fresh pairs, from `first` on. */
  | { readonly kind: "predict"; readonly pairs: Pairs; readonly first: number }
  /** Stakes of fresh pairs, all of one amount on one bin, so that each is at most half of it. */
  | { readonly kind: "stake"; readonly pairs: Pairs; readonly first: number }
  /** The same page again and again, from a different address on every connection. */
  | { readonly kind: "get"; readonly path: string }

export interface Job {
  readonly port: number
  readonly connections: number
  /** Run, but not counted, at the beginning. */
  readonly rampSeconds: number
  readonly seconds: number
  readonly requests: Requests
  /** Requests a second, sent at their time whatever became of those before; without it, one after the other. */
  readonly rate: number | null
}

export interface Outcome {
  /** Counted ones: answered within the measured seconds. */
  readonly requests: number
  readonly seconds: number
  readonly mean: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
  /** All that were sent, also before and after the measured seconds. */
  readonly sent: number
  readonly failures: number
  readonly firstFailure: string | null
}

/** From the bench to the generator. `stop` ends a job early, with what there is. */
export type Order = { readonly do: "run"; readonly job: Job } | { readonly do: "stop" }

export type Report =
  | { readonly is: "ready" }
  /** The measured seconds begin, or have ended: the moments to read the processors' time. */
  | { readonly is: "begun" }
  | { readonly is: "ended" }
  | { readonly is: "done"; readonly outcome: Outcome }
