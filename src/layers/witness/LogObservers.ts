import { Duration, Effect, Layer, Option } from "effect"
import { LogObservers } from "../../services/LogObservers.ts"
import type { ObservedHead } from "../../services/LogObservers.ts"
import { Settings } from "../../services/Settings.ts"
import { parseCheckpoint, parseNote } from "../crypto/signedNote.ts"
import { ExchangeFailed, makeGet, makePost } from "./boundedPost.ts"
import { addCheckpoint, parseWitnessKey } from "./cosignature.ts"

/** The timeout of a request; after a start or a restart of the server the sequencer waits for it. */
const patience = Duration.seconds(5)

/** The limit is above the size of any checkpoint with its cosignatures. */
const maxBytes = "128 KiB"

const make = Effect.gen(function* () {
  const { baseUrl, logWitnesses } = yield* Settings
  const get = yield* makeGet
  const post = yield* makePost

  /** Asks the public address, where instances of this database or of a copy of it answer. */
  const published = Effect.gen(function* () {
    const url = `${baseUrl}/log/checkpoint`
    const { body } = yield* get({ url, statuses: [200], maxBytes, patience })
    const observed: ReadonlyArray<ObservedHead> = [{ by: url, note: Buffer.from(body).toString("utf8") }]
    return observed
  })

  /**
   * Asks a witness for the size that it has attested by submitting the tree that it should have attested last, because
   * c2sp.org/tlog-witness has no other way to ask. The tree is published, so a cosignature of it does no harm.
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
      // A conflict means that the witness has attested another tree of this size.
      Effect.catchIf(
        ({ status }) => status === 409,
        () => Effect.succeed({ _tag: "OldSize" as const, size })
      )
    )
    const observed: ReadonlyArray<ObservedHead> =
      answer._tag === "OldSize" && answer.size >= size ? [{ by: verifier.name, size: answer.size }] : []
    return observed
  })

  /** An observer that does not answer has seen nothing: at the very first start none answers. */
  const orNothing = (by: string, asking: Effect.Effect<ReadonlyArray<ObservedHead>, ExchangeFailed>) =>
    asking.pipe(
      Effect.tapError(({ reason }) =>
        Effect.logDebug("an observer of the log did not answer").pipe(Effect.annotateLogs({ by, reason }))
      ),
      Effect.orElseSucceed((): ReadonlyArray<ObservedHead> => [])
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
