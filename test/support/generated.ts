/** Inputs generated from schemas, for `it.prop`: a failure names the shrunk input, and the seed in its replay. */
import { Result, Schema } from "effect"
import { problemsOf } from "../../src/http/fieldProblems.ts"

/** A bound and the doubles next to it. */
const around = (bound: number): ReadonlyArray<number> =>
  bound === 0
    ? [-5e-324, -0, 0, 5e-324]
    : [bound * (1 - 2 ** -53), bound, bound * (1 + 2 ** -52), bound * (1 + 2 ** -51)]

const hundredths = Array.from({ length: 101 }, (_, index) => index / 100)

/** Numbers of every size, usual ones, and those around each bound. */
export const numbersAround = (...bounds: ReadonlyArray<number>) =>
  Schema.Union([
    Schema.Finite,
    Schema.Literals(hundredths),
    Schema.Literals([0, ...bounds, ...bounds.map((bound) => -bound)].flatMap(around))
  ])

/** The problems that a request of this schema is answered with: none if it is taken. */
export const problemsIn = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all" })
  return (sent: unknown) =>
    Result.match(decode(sent), { onSuccess: () => [], onFailure: ({ issue }) => problemsOf(issue, sent) })
}
