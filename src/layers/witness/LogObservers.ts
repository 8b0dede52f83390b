import { Duration, Effect, Layer, Option } from "effect"
import { LogObservers } from "../../services/LogObservers.ts"
import type { Sighting } from "../../services/LogObservers.ts"
import { Settings } from "../../services/Settings.ts"
import { parseCheckpoint, parseNote } from "../crypto/signedNote.ts"
import { ExchangeFailed, makeGet, makePost } from "./boundedPost.ts"
import { addCheckpoint, parseWitnessKey } from "./cosignature.ts"

/** Adding to the log waits so long for an answer after a start, or on a server that came back. */
const patience = Duration.seconds(5)

/** Longer than any checkpoint with its cosignatures. */
const maxBytes = "128 KiB"

const make = Effect.gen(function* () {
  const { baseUrl, logWitnesses } = yield* Settings
  const get = yield* makeGet
  const post = yield* makePost

  /** Behind this address other instances answer, of this database or of a copy of it. */
  const published = Effect.gen(function* () {
    const url = `${baseUrl}/log/checkpoint`
    const { body } = yield* get({ url, statuses: [200], maxBytes, patience })
    const sightings: ReadonlyArray<Sighting> = [{ by: url, note: Buffer.from(body).toString("utf8") }]
    return sightings
  })

  /**
   * A witness tells how much it has seen when it is shown a tree that it should have attested last. (c2sp.org/tlog-witness
   * has no other way to ask.) What it is shown has been published before, so nothing is lost if it attests it.
   */
  const attested = Effect.fnUntraced(function* (
    witness: { readonly url: string; readonly verifierKey: string },
    note: string
  ) {
    const verifier = Option.getOrThrow(parseWitnessKey(witness.verifierKey))
    const { size } = Option.getOrThrow(parseCheckpoint(note))
    const { text } = Option.getOrThrow(parseNote(note))
    const answer = yield* addCheckpoint(
      post,
      { submissionPrefix: witness.url, verifier },
      { note, text, oldSize: size, proof: [] }
    ).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => new ExchangeFailed({ reason: `it took longer than ${Duration.toSeconds(patience)} s` })
      }),
      // It has attested a tree of this size last, and another one.
      Effect.catchIf(
        ({ status }) => status === 409,
        () => Effect.succeed({ _tag: "OldSize" as const, size })
      )
    )
    const sightings: ReadonlyArray<Sighting> =
      answer._tag === "OldSize" && answer.size >= size ? [{ by: verifier.name, size: answer.size }] : []
    return sightings
  })

  /** None of them has to be there: at the first start of all nobody is. */
  const orNothing = (by: string, asking: Effect.Effect<ReadonlyArray<Sighting>, ExchangeFailed>) =>
    asking.pipe(
      Effect.tapError(({ reason }) =>
        Effect.logDebug("nobody tells what was seen of the log").pipe(Effect.annotateLogs({ by, reason }))
      ),
      Effect.orElseSucceed((): ReadonlyArray<Sighting> => [])
    )

  return LogObservers.of({
    ask: (newest) =>
      Effect.all(
        [
          orNothing(baseUrl, published),
          ...Option.toArray(newest).flatMap((note) =>
            logWitnesses.map((witness) => orNothing(witness.url, attested(witness, note)))
          )
        ],
        { concurrency: "unbounded" }
      ).pipe(
        Effect.map((answers) => answers.flat()),
        Effect.withSpan("LogObservers.ask")
      )
  })
})

export const layer = Layer.effect(LogObservers, make)
