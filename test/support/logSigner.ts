/** A signer of the public log whose key is fixed and whose memory is not on disk. */
import { Effect, Layer, Option, Ref } from "effect"
import { logKeys, parseLogKey } from "../../src/layers/node/logKeys.ts"
import { LogSigner, SignerUnusable } from "../../src/services/LogSigner.ts"
import type { TreeHead } from "../../src/services/LogSigner.ts"

/** Private keys as `AUSPEX_LOG_KEY` takes them. */
export const testLogKey = "MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
export const otherLogKey = "MC4CAQAwBQYDK2VwBCIEICAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/"

export const logSigner = (
  options: {
    readonly key?: string
    readonly previous?: string
    /** What it has signed before. */
    readonly signed?: Ref.Ref<Option.Option<TreeHead>>
    /** What happens elsewhere before it has read that. */
    readonly beforeReading?: Effect.Effect<void>
    /** Why it cannot remember what it signs. */
    readonly forgets?: string
  } = {}
) =>
  Layer.effect(
    LogSigner,
    Effect.gen(function* () {
      const signed = options.signed ?? (yield* Ref.make(Option.none<TreeHead>()))
      const current = yield* Effect.orDie(Effect.fromOption(parseLogKey(options.key ?? testLogKey)))
      const previous = Option.flatMap(Option.fromUndefinedOr(options.previous), parseLogKey)
      return LogSigner.of({
        keys: Effect.succeed(logKeys(current, previous)),
        lastSigned: Effect.andThen(options.beforeReading ?? Effect.void, Ref.get(signed)),
        rememberSigned: (head) =>
          options.forgets === undefined
            ? Ref.set(signed, Option.some(head))
            : Effect.fail(new SignerUnusable({ message: options.forgets }))
      })
    })
  )
