/** The generator's jobs and reports: plain data that travels between processes. */
import type { Challenges } from "../world.ts"

export type Requests =
  /** Predictions of pairs, from the pair number `from` on; if `size` exceeds 1, each request is a batch. */
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
  /** The ramp runs at the beginning and does not count. */
  readonly rampSeconds: number
  readonly seconds: number
  readonly requests: Requests
  /** Requests a second, each sent at its time regardless of earlier answers; null sends each after the previous answer. */
  readonly rate: number | null
}

export interface Outcome {
  /** The requests answered within the measured seconds. */
  readonly requests: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  readonly firstByte: number
  /** All sent requests, including those before and after the measured seconds. */
  readonly sent: number
  readonly failures: number
  readonly firstFailure: string | null
}

/** An order from the bench to the generator. `stop` ends a job early, with its results so far. */
export type Order = { readonly do: "run"; readonly job: Job } | { readonly do: "stop" }

export type Report =
  | { readonly is: "ready" }
  /** The measured seconds begin or end: at these moments the bench reads the processor times. */
  | { readonly is: "begun" }
  | { readonly is: "ended" }
  | { readonly is: "done"; readonly outcome: Outcome }
  | { readonly is: "died" }
