/** Signed tree heads: what each note says, who signed it, and the keys that the log had. */
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAll, findOption } from "../sql.ts"
import { checkpointText, isSignedBy, parseNote, parseVerifierKey } from "../../crypto/signedNote.ts"
import type { Verifier } from "../../crypto/signedNote.ts"
import type { Findings } from "./findings.ts"
import { eachPage } from "./pages.ts"
import type { Rotation } from "./tree.ts"

const pageSize = 1000

const Checkpoint = Schema.Struct({ size: Schema.Finite, root: Schema.Uint8Array, note: Schema.String })

export const auditCheckpoints = Effect.fnUntraced(function* (
  findings: Findings,
  rotations: ReadonlyArray<Rotation>
) {
  const sql = yield* SqlClient.SqlClient
  const checkpoints = findAll(Checkpoint)
  const identity = yield* findOption(Schema.Struct({ origin: Schema.String }))(
    sql`select origin from log_identity`
  )
  const origin = Option.match(identity, { onNone: () => "", onSome: (row) => row.origin })
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
    if (number !== turn + 1) findings.add(`key ${number}: it is the ${turn + 1}. of log_keys`)
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
         ${after === undefined ? sql`` : sql`where size > ${BigInt(after.size)}::int8`}
         order by size limit ${pageSize}`),
    (page) =>
      Effect.sync(() => {
        for (const { note, root, size } of page) {
          count += 1
          const parsed = parseNote(note)
          if (Option.isNone(parsed)) {
            findings.add(`checkpoint of size ${size}: its note is not a signed note`)
          } else if (parsed.value.text !== checkpointText({ origin, size, root })) {
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
