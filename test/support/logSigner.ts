/** A signer of the public log with a fixed key, whose state is not on disk; no observer has seen more of the log. */
import { Effect, Layer, Option, Ref } from "effect"
import { logKeys, parseLogKey } from "../../src/layers/node/logKeys.ts"
import { LogObservers } from "../../src/services/LogObservers.ts"
import type { ObservedHead } from "../../src/services/LogObservers.ts"
import { anyServer, LogSigner, SignerUnusable } from "../../src/services/LogSigner.ts"
import type { SignerState } from "../../src/services/LogSigner.ts"

/** Private keys as `AUSPEX_LOG_KEY` takes them. */
export const testLogKey = "MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
export const otherLogKey = "MC4CAQAwBQYDK2VwBCIEICAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/"

/** The state of an instance that has signed the log on any server, and has seen nothing of it. */
export const used: SignerState = {
  checkpoint: Option.none(),
  server: Option.some(anyServer),
  continuation: 0
}

export const logSigner = (
  options: {
    readonly key?: string
    readonly previous?: string
    /** The signer's state; by default that of a used instance. */
    readonly state?: Ref.Ref<Option.Option<SignerState>>
    /** Work elsewhere before it has read the state. */
    readonly beforeReading?: Effect.Effect<void>
    /** The reason that it cannot store what it signs. */
    readonly saveFailure?: string
    /** The heads that observers report, at each call. */
    readonly observed?: (newest: Option.Option<string>) => Effect.Effect<ReadonlyArray<ObservedHead>>
  } = {}
) =>
  Layer.merge(
    Layer.effect(
      LogSigner,
      Effect.gen(function* () {
        const kept = options.state ?? (yield* Ref.make(Option.some(used)))
        const current = yield* Effect.orDie(Effect.fromOption(parseLogKey(options.key ?? testLogKey)))
        const previous = Option.flatMap(Option.fromUndefinedOr(options.previous), parseLogKey)
        return LogSigner.of({
          keys: Effect.succeed(logKeys(current, previous)),
          state: Effect.andThen(options.beforeReading ?? Effect.void, Ref.get(kept)),
          save: (state) =>
            options.saveFailure === undefined
              ? Ref.set(kept, Option.some(state))
              : Effect.fail(new SignerUnusable({ message: options.saveFailure }))
        })
      })
    ),
    Layer.succeed(LogObservers, LogObservers.of({ ask: options.observed ?? (() => Effect.succeed([])) }))
  )
