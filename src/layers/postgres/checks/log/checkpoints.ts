/** Checks signed tree heads: the text of each note, its signatures, the keys of the log, and cosignatures of witnesses. */
import { Effect, Option, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../../../../services/Settings.ts"
import { cosignatureOf, parseWitnessKey } from "../../../witness/cosignature.ts"
import { findAll, whenGiven } from "../../sql.ts"
import { checkpointText, isSignedBy, parseNote, parseVerifierKey } from "../../../crypto/signedNote.ts"
import type { Verifier } from "../../../crypto/signedNote.ts"
import { eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"
import { namesOf } from "../../log/logState.ts"
import type { Rotation } from "./tree.ts"

const pageSize = 1000

const Checkpoint = Schema.Struct({ size: Schema.Finite, root: Schema.Uint8Array, note: Schema.String })

export const auditCheckpoints = Effect.fnUntraced(function* (
  findings: Findings,
  rotations: ReadonlyArray<Rotation>
) {
  const sql = yield* SqlClient.SqlClient
  const checkpoints = findAll(Checkpoint)
  const names = yield* findAll(Schema.Struct({ origin: Schema.String, size: Schema.Finite }))(
    sql`select origin, size::float8 as size from ${namesOf(sql)} n order by number desc`
  )
  /** The name of the log at a size: each name holds for checkpoints larger than the log was when it got the name. */
  const originAt = (size: number) => names.find((name) => size > name.size)?.origin ?? ""
  const keys = yield* findAll(Schema.Struct({ number: Schema.Int, verifier_key: Schema.String }))(
    sql`select number, verifier_key from log_keys order by number`
  )

  const verifiers: Array<Verifier> = []
  for (const { number, verifier_key } of keys) {
    const verifier = parseVerifierKey(verifier_key)
    if (Option.isSome(verifier)) verifiers.push(verifier.value)
    else findings.add(`key ${number}: log_keys does not hold a verifier key`)
  }
  for (const [turn, { number, verifier_key }] of keys.entries()) {
    if (number !== turn + 1) findings.add(`key ${number}: it is number ${turn + 1} of log_keys`)
    const before = keys[turn - 1]
    const rotation = rotations[turn - 1]
    if (before === undefined) continue
    if (rotation === undefined) findings.add(`key ${number}: no entry records that it took over`)
    else if (rotation.old !== before.verifier_key || rotation.new !== verifier_key) {
      findings.add(`key ${number}: verifier_key is not what ${rotation.place} recorded`)
    }
  }
  for (const rotation of rotations.slice(Math.max(0, keys.length - 1))) {
    findings.add(`${rotation.place}: log_keys does not have the key that it records`)
  }

  let count = 0
  yield* eachPage(
    pageSize,
    (after: typeof Checkpoint.Type | undefined) =>
      checkpoints(sql`
        select size::float8 as size, root, note from log_checkpoints
         ${whenGiven(sql, after, (last) => sql`where size > ${BigInt(last.size)}::int8`)}
         order by size limit ${pageSize}`),
    (page) =>
      Effect.sync(() => {
        for (const { note, root, size } of page) {
          count += 1
          const parsed = parseNote(note)
          if (Option.isNone(parsed)) {
            findings.add(`checkpoint of size ${size}: its note is not a signed note`)
          } else if (parsed.value.text !== checkpointText({ origin: originAt(size), size, root })) {
            findings.add(
              `checkpoint of size ${size}: its note does not say this size, its root and the origin of this log`
            )
          } else if (!verifiers.some((verifier) => isSignedBy(parsed.value, verifier))) {
            findings.add(`checkpoint of size ${size}: no key of this log signed its note`)
          }
        }
      })
  )
  return count
})

const Cosignature = Schema.Struct({
  size: Schema.Finite,
  witness: Schema.String,
  line: Schema.String,
  seconds: Schema.FiniteFromString,
  note: Schema.NullOr(Schema.String)
})

/**
 * Compares each line with the witness and the time beside it. A signature is checked if the settings have the witness's key;
 * keys of former witnesses are not stored.
 */
export const auditCosignatures = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const { logWitnesses } = yield* Settings
  const rows = findAll(Cosignature)
  const keys = new Map(
    logWitnesses.flatMap(({ verifierKey }) =>
      Option.toArray(Option.map(parseWitnessKey(verifierKey), (key) => [key.name, key] as const))
    )
  )
  const check = ({ line, note, seconds, size, witness }: typeof Cosignature.Type): void => {
    const what = `cosignature of ${witness} on the checkpoint of size ${size}`
    const text = Option.map(Option.flatMap(Option.fromNullOr(note), parseNote), (parsed) => parsed.text)
    if (Option.isNone(text)) return findings.add(`${what}: there is no such checkpoint`)
    const signatures = Option.match(parseNote(`${text.value}\n${line}`), {
      onNone: () => [],
      onSome: (parsed) => parsed.signatures
    })
    const [only, ...more] = signatures
    if (only === undefined || more.length > 0 || only.name !== witness || only.signature.length !== 72) {
      return findings.add(`${what}: its line is not a cosignature of this witness`)
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
    (after: typeof Cosignature.Type | undefined) =>
      rows(sql`
        select s.size::float8 as size, s.witness, s.line, extract(epoch from s.cosigned_at)::text as seconds, c.note
          from log_cosignatures s left join log_checkpoints c on c.size = s.size
         ${whenGiven(sql, after, (last) => sql`where (s.size, s.witness) > (${BigInt(last.size)}::int8, ${last.witness})`)}
         order by s.size, s.witness limit ${pageSize}`),
    (page) =>
      Effect.sync(() => {
        for (const row of page) check(row)
      })
  )
})
