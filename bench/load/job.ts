/** What the generator is asked to do and what it answers: plain data that travels between processes. */
import type { Challenges } from "../world.ts"

export type Requests =
  /** Predictions of pairs, from the pair number `from` on; with `size` above 1 each is a batch. */
  | {
      readonly kind: "predict"
      readonly challenges: Challenges
      readonly from: number
      readonly size: number
    }
  | { readonly kind: "read"; readonly path: string }
  /** Chat completions; connection n sends the headers of `headers[n % length]`. */
  | {
      readonly kind: "call"
      readonly path: string
      readonly headers: ReadonlyArray<ReadonlyArray<string>>
      readonly model: string
      readonly stream: boolean
    }

export interface Job {
  readonly port: number
  readonly connections: number
  /** Run, but not counted, at the beginning. */
  readonly rampSeconds: number
  readonly seconds: number
  readonly requests: Requests
  /** Requests a second, sent at their time whatever became of those before; null: each after the answer to the last. */
  readonly rate: number | null
}

export interface Outcome {
  /** Answered within the measured seconds. */
  readonly requests: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  readonly firstByte: number
  /** All that were sent, also before and after the measured seconds. */
  readonly sent: number
  readonly failures: number
  readonly firstFailure: string | null
}

/** From the bench to the generator. `stop` ends a job early, with what there is. */
export type Order = { readonly do: "run"; readonly job: Job } | { readonly do: "stop" }

export type Report =
  | { readonly is: "ready" }
  /** The measured seconds begin or end: the moments to read the processor times. */
  | { readonly is: "begun" }
  | { readonly is: "ended" }
  | { readonly is: "done"; readonly outcome: Outcome }
  | { readonly is: "died" }
