/** The SQL statements that the services send, recorded by running them once on a database. */
import { PgTypes } from "@effect/sql-pg"
import { Effect, Layer, Option, Redacted } from "effect"
import { Statement } from "effect/sql"
import * as Database from "../../../src/layers/postgres/Database.ts"
import { services } from "../services.ts"
import * as Payments from "../../../src/layers/postgres/credit/Payments.ts"
import * as PaymentProvider from "../../../src/layers/stripe/PaymentProvider.ts"
import { MailTransport } from "../../../src/services/Mailer.ts"
import { logSigner } from "../logSigner.ts"
import { settings } from "../settings.ts"

/** A statement with its parameters. */
export interface Recorded {
  readonly text: string
  readonly params: ReadonlyArray<unknown>
}

const typeNames = new Map<number, string>(Object.entries(PgTypes.OID).map(([name, oid]) => [oid, name]))

/** The PostgreSQL type that a parameter is sent with, if it has one: `uuidArray` is `uuid[]`. */
export const typeOf = (param: unknown): string | undefined =>
  PgTypes.isParameter(param) ? typeNames.get(param.oid)?.replace(/Array$/, "[]") : undefined

/** The parameter without its type. */
export const valueOf = (param: unknown): unknown => (PgTypes.isParameter(param) ? param.value : param)

const recorder =
  (into: Array<Recorded>): Statement.Transformer =>
  (statement) =>
    Effect.sync(() => {
      const [text, params] = statement.compile()
      into.push({ text, params })
      return statement
    })

const recordedServices = Payments.layer.pipe(
  Layer.provide(PaymentProvider.layer(Option.none())),
  Layer.provideMerge(services)
)
export type RecordedServices = Layer.Success<typeof recordedServices>

/** Runs parts of the services on this database, and adds their statements to `into`. */
const recording = <A, E>(
  url: string,
  parts: Effect.Effect<A, E, RecordedServices>,
  into: Array<Recorded>
) => {
  const transformer = Layer.succeed(Statement.CurrentTransformer, recorder(into))
  return parts.pipe(
    Effect.provideService(Statement.CurrentTransformer, recorder(into)),
    Effect.provide(
      recordedServices.pipe(
        Layer.provide(
          Layer.mergeAll(
            Database.client(Redacted.make(url)),
            settings(),
            Layer.mock(MailTransport, {}),
            logSigner()
          )
        ),
        Layer.provide(transformer)
      )
    )
  )
}

/** Each of the reads, in turn, with the statements that the services sent for it and its answer. */
export const sentBy = Effect.fnUntraced(function* <A, Read>(
  url: string,
  reads: ReadonlyArray<Read & { readonly run: Effect.Effect<A, unknown, RecordedServices> }>
) {
  const statements: Array<Recorded> = []
  return yield* recording(
    url,
    Effect.forEach(reads, (read) =>
      Effect.suspend(() => {
        const from = statements.length
        return Effect.map(read.run, (answer) => ({ ...read, answer, sent: statements.slice(from) }))
      })
    ),
    statements
  )
})
