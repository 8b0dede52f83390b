/** A signer of the public log with a fixed key, whose state is not on disk; no observer has seen more of the log. */
import { Effect, Layer, Option, Ref } from "effect"
import { logKeys, parseLogKey } from "../../src/layers/node/logKeys.ts"
import { LogObservers } from "../../src/services/LogObservers.ts"
import type { Sighting } from "../../src/services/LogObservers.ts"
import { anyServer, LogSigner, SignerUnusable } from "../../src/services/LogSigner.ts"
import type { Memory } from "../../src/services/LogSigner.ts"

/** Private keys as `AUSPEX_LOG_KEY` takes them. */
export const testLogKey = "MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
export const otherLogKey = "MC4CAQAwBQYDK2VwBCIEICAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/"

/** The state of an instance that has signed the log on any server, and has seen nothing of it. */
export const used: Memory = {
  checkpoint: Option.none(),
  server: Option.some(anyServer),
  continuation: 0
}

export const logSigner = (
  options: {
    readonly key?: string
    readonly previous?: string
    /** The signer's state; by default that of a used instance. */
    readonly memory?: Ref.Ref<Option.Option<Memory>>
    /** Work elsewhere before it has read the state. */
    readonly beforeReading?: Effect.Effect<void>
    /** The reason that it cannot store what it signs. */
    readonly forgets?: string
    /** The heads that observers report, at each call. */
    readonly sightings?: (newest: Option.Option<string>) => Effect.Effect<ReadonlyArray<Sighting>>
  } = {}
) =>
  Layer.merge(
    Layer.effect(
      LogSigner,
      Effect.gen(function* () {
        const kept = options.memory ?? (yield* Ref.make(Option.some(used)))
        const current = yield* Effect.orDie(Effect.fromOption(parseLogKey(options.key ?? testLogKey)))
        const previous = Option.flatMap(Option.fromUndefinedOr(options.previous), parseLogKey)
        return LogSigner.of({
          keys: Effect.succeed(logKeys(current, previous)),
          memory: Effect.andThen(options.beforeReading ?? Effect.void, Ref.get(kept)),
          remember: (memory) =>
            options.forgets === undefined
              ? Ref.set(kept, Option.some(memory))
              : Effect.fail(new SignerUnusable({ message: options.forgets }))
        })
      })
    ),
    Layer.succeed(LogObservers, LogObservers.of({ ask: options.sightings ?? (() => Effect.succeed([])) }))
  )
