/** What the baseline is told when it starts; plain data that travels between processes. */
import type { LimitRole, PredictionRole, Prepared } from "../statements/roles.ts"

export interface LimitConfig {
  readonly statement: Prepared<LimitRole>
  /** With U+0001 where the subject stands. */
  readonly keyPattern: string
}

export interface BaselineConfig {
  readonly databaseUrl: string
  readonly tokenSecret: string
  readonly site: string
  readonly limitPerMinute: number
  readonly planCacheMode: string
  /** Whether an agent's tokens have been ended; null when the service does not ask the database. */
  readonly standing: string | null
  readonly limit: LimitConfig | null
  readonly prediction: Prepared<PredictionRole> | null
  /** The statements of a page, with the parameters to send. */
  readonly page: ReadonlyArray<{ readonly text: string; readonly values: ReadonlyArray<unknown> }> | null
}

export type BaselineReport = { readonly port: number }
