/** What each parameter of a recorded statement stands for, so that others can send the statement with values of their own. */
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import { BenchFailed } from "../machine/processes.ts"
import { limitPerMinute } from "../world.ts"
import type { Prediction, Recorded, Window } from "./record.ts"

const windowMillis = 60_000

export type PredictionRole =
  | "id"
  | "challengeId"
  | "agentId"
  | "direction"
  | "confidence"
  | "reasoning"
  | "isRevision"
  | "receivedAt"
  | "salt"
  | "head"
  | "tail"

export type LimitRole = "key" | "window" | "most" | "bucket" | "uses" | "expiresAt" | "now"

/** A statement for `pg`: its types written into the text, and what to send in each place. */
export interface Prepared<Role extends string> {
  readonly text: string
  /** `constant` is sent as it was recorded. */
  readonly places: ReadonlyArray<{
    readonly role: Role | "constant"
    readonly isArray: boolean
    readonly constant?: string
  }>
}

const typeNames = new Map<number, string>(Object.entries(PgTypes.OID).map(([name, oid]) => [oid, name]))

/** `uuidArray` is `uuid[]`. */
export const typeOf = (param: unknown): string | undefined =>
  PgTypes.isParameter(param) ? typeNames.get(param.oid)?.replace(/Array$/, "[]") : undefined

/** What is sent: of an array of one, the one. */
export const valueOf = (param: unknown): unknown => {
  if (!PgTypes.isParameter(param)) return param
  return Array.isArray(param.value) && param.value.length === 1 ? param.value[0] : param.value
}

/** `sql-pg` sends the types beside the values, `pg` does not. */
export const typedText = ({ text, params }: Recorded): string =>
  text.replaceAll(/\$(\d+)/g, (place, number: string) => {
    const type = typeOf(params[Number(number) - 1])
    return type === undefined ? place : `${place}::${type}`
  })

const prepared = Effect.fnUntraced(function* <Role extends string>(
  recorded: Recorded,
  roleOf: (value: unknown) => Role | undefined
) {
  const places: Array<Prepared<Role>["places"][number]> = []
  for (const param of recorded.params) {
    const role = roleOf(valueOf(param))
    if (role === undefined) {
      return yield* new BenchFailed({
        message: `A statement of src has a parameter that bench/statements/roles.ts does not know (${String(valueOf(param)).slice(0, 100)}):\n${recorded.text}`
      })
    }
    places.push({ role, isArray: typeOf(param)?.endsWith("[]") ?? false })
  }
  const statement: Prepared<Role> = { text: typedText(recorded), places }
  return statement
})

const isInstant = (value: unknown, instant: Date) =>
  (value instanceof Date && value.getTime() === instant.getTime()) || value === instant.toISOString()

export const predictionRoles = (recorded: Recorded, sample: Prediction) =>
  prepared<PredictionRole>(recorded, (value) => {
    if (value === false) return "isRevision"
    if (isInstant(value, sample.receivedAt)) return "receivedAt"
    if (typeof value !== "string") return undefined
    const known: ReadonlyArray<readonly [string, PredictionRole]> = [
      [sample.id, "id"],
      [sample.challengeId, "challengeId"],
      [sample.agentId, "agentId"],
      [sample.direction, "direction"],
      [sample.confidence, "confidence"],
      [sample.reasoning, "reasoning"],
      [sample.salt, "salt"]
    ]
    const found = known.find(([text]) => text === value)
    if (found !== undefined) return found[1]
    if (sample.body.startsWith(value)) return "head"
    return sample.body.endsWith(value) ? "tail" : undefined
  })

export const limitRoles = (recorded: Recorded, sample: Window) =>
  prepared<LimitRole>(recorded, (value) => {
    if (value instanceof Date) return "expiresAt"
    if (typeof value === "string" && value.includes(sample.subject)) return "key"
    const number = Number(value)
    if (number === windowMillis) return "window"
    if (number === limitPerMinute) return "most"
    if (number === 1) return "uses"
    if (number === Math.floor(sample.notBefore / windowMillis)) return "bucket"
    return number >= sample.notBefore && number <= sample.notAfter ? "now" : undefined
  })

/** The key of a window, for any subject. */
export const keyPattern = (recorded: Recorded, sample: Window): string => {
  const key = recorded.params
    .map(valueOf)
    .find((value) => typeof value === "string" && value.includes(sample.subject))
  return String(key).replace(sample.subject, "\u0001")
}
