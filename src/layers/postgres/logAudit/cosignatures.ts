/** What witnesses signed of the checkpoints. */
import { Effect, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../../../services/Settings.ts"
import { cosignatureOf, parseWitnessKey } from "../../witness/cosignature.ts"
import { findAll } from "../sql.ts"
import { parseNote } from "../../crypto/signedNote.ts"
import type { Findings } from "./findings.ts"
import { eachPage } from "./pages.ts"

const pageSize = 1000

const Row = Schema.Struct({
  size: Schema.Finite,
  witness: Schema.String,
  line: Schema.String,
  seconds: Schema.FiniteFromString,
  note: Schema.NullOr(Schema.String)
})

/**
 * Each line is of the witness and of the time that stand beside it. The signature itself is checked with the keys of the
 * settings: those of witnesses that are not asked any more, nobody has.
 */
export const auditCosignatures = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const { logWitnesses } = yield* Settings
  const rows = findAll(Row)
  const keys = new Map(
    logWitnesses.flatMap(({ verifierKey }) =>
      Option.toArray(Option.map(parseWitnessKey(verifierKey), (key) => [key.name, key] as const))
    )
  )
  const check = ({ line, note, seconds, size, witness }: typeof Row.Type): void => {
    const what = `cosignature of ${witness} on the checkpoint of size ${size}`
    const text = Option.map(Option.flatMap(Option.fromNullOr(note), parseNote), (parsed) => parsed.text)
    if (Option.isNone(text)) return findings.add(`${what}: there is no such checkpoint`)
    const signatures = Option.match(parseNote(`${text.value}\n${line}`), {
      onNone: () => [],
      onSome: (parsed) => parsed.signatures
    })
    const [only, ...more] = signatures
    if (only === undefined || more.length > 0 || only.name !== witness || only.signature.length !== 72) {
      return findings.add(`${what}: its line is not one of this witness`)
    }
    if (Number(only.signature.readBigUInt64BE()) !== seconds) {
      findings.add(`${what}: cosigned_at is not what its line says`)
    }
    const key = keys.get(witness)
    if (
      key !== undefined &&
      key.id.equals(only.id) &&
      Result.isFailure(cosignatureOf(key, text.value, line))
    ) {
      findings.add(`${what}: its signature is wrong`)
    }
  }
  yield* eachPage(
    pageSize,
    (after: typeof Row.Type | undefined) =>
      rows(sql`
        select s.size::float8 as size, s.witness, s.line, extract(epoch from s.cosigned_at)::text as seconds, c.note
          from log_cosignatures s left join log_checkpoints c on c.size = s.size
         ${after === undefined ? sql`` : sql`where (s.size, s.witness) > (${BigInt(after.size)}::int8, ${after.witness})`}
         order by s.size, s.witness limit ${pageSize}`),
    (page) =>
      Effect.sync(() => {
        for (const row of page) check(row)
      })
  )
})
