import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { LogWitnesses } from "../../../services/LogWitnesses.ts"
import { Settings } from "../../../services/Settings.ts"
import { ExchangeFailed, makePost } from "../../boundedPost.ts"
import { addCheckpoint } from "../../witness/addCheckpoint.ts"
import type { Witness } from "../../witness/addCheckpoint.ts"
import { parseWitnessKey } from "../../witness/cosignature.ts"
import { execute, timestamp } from "../sql.ts"
import { makeAttestor } from "./attestors.ts"
import type { Turn } from "./attestors.ts"
import { parseNote } from "../../crypto/signedNote.ts"
import { consistencyProof } from "./proofs.ts"

/** How far a witness's clock may be ahead of ours. */
const maxAhead = Duration.minutes(5)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { logWitnesses } = yield* Settings
  const post = yield* makePost

  const submit = Effect.fnUntraced(function* (witness: Witness, oldSize: number, { note, size }: Turn) {
    const proof = yield* consistencyProof(sql, oldSize, size)
    const text = Option.getOrThrow(parseNote(note)).text
    return yield* addCheckpoint(post, witness, { note, text, oldSize, proof })
  })

  /** The witness's answer; when it remembers another tree than we do, it is asked once more from there. */
  const cosignature = Effect.fnUntraced(function* (witness: Witness, turn: Turn) {
    const first = yield* submit(witness, turn.attested, turn)
    if (first._tag === "Cosigned") return first.cosignature
    if (first.size > turn.size) {
      return yield* new ExchangeFailed({
        reason:
          "it has cosigned a larger tree of this log: the log was set back, or somebody signs in its name"
      })
    }
    const second = yield* submit(witness, first.size, turn)
    if (second._tag === "Cosigned") return second.cosignature
    return yield* new ExchangeFailed({
      reason: "it answered 409: it has another tree of the same size, or says another size each time"
    })
  })

  const ask = Effect.fnUntraced(function* (witness: Witness, turn: Turn) {
    const { line, seconds } = yield* cosignature(witness, turn)
    const now = yield* DateTime.now
    const cosignedAt = DateTime.makeUnsafe(0).pipe(DateTime.addDuration(Duration.seconds(Number(seconds))))
    if (DateTime.isGreaterThan(cosignedAt, DateTime.addDuration(now, maxAhead))) {
      return yield* new ExchangeFailed({ reason: "its clock is ahead of ours" })
    }
    // Nothing is kept of a checkpoint that has been thinned out meanwhile.
    yield* execute(sql`
      insert into log_cosignatures (size, witness, line, cosigned_at)
      select size, ${witness.verifier.name}, ${line}, ${timestamp(cosignedAt)}
        from log_checkpoints where size = ${turn.size} for key share
      on conflict (size, witness) do update set line = excluded.line, cosigned_at = excluded.cosigned_at`)
  })

  const all = yield* Effect.forEach(logWitnesses, ({ url, verifierKey }) =>
    Effect.gen(function* () {
      const verifier = Option.getOrThrow(parseWitnessKey(verifierKey))
      const witness: Witness = { submissionPrefix: url, verifier }
      const { attend } = yield* makeAttestor(verifier.name)
      return { name: verifier.name, ask: attend(Duration.zero, (turn) => ask(witness, turn)) }
    })
  )
  return LogWitnesses.of({ all })
})

export const layer = Layer.effect(LogWitnesses, make)
