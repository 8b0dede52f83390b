/** What a call must be before anything is reserved or sent: a body that can be read, of a model that is configured. */
import { Effect, Option, Result } from "effect"
import { costOf } from "../../scoring/tokenPrices.ts"
import { BadCall, UnknownModel } from "../../services/Gateway.ts"
import type { Style } from "../../services/Gateway.ts"
import { GatewayDisabled } from "../../services/GatewayKeys.ts"
import type { Snapshot } from "./GatewayConfig.ts"
import { modelNamed } from "./configuration.ts"
import type { Configuration, ModelSetting } from "./configuration.ts"
import { admit, tokensAMessage } from "./styles/index.ts"
import type { Admitted, Refused } from "./styles/types.ts"

export interface AdmittedCall {
  readonly admitted: Admitted
  readonly snapshot: Snapshot
  readonly model: ModelSetting
  /** One provider was named: no other is tried, and it does not cool down. */
  readonly pinned: boolean
  /** The largest possible cost, in micro-credits. */
  readonly maxCost: bigint
}

export const badCall = ({ code, message, param }: Refused) =>
  new BadCall({ detail: message, param, ...(code !== undefined && { code }) })

const maxShown = 100

export const unknownModel = (name: string) =>
  new UnknownModel({
    detail: `There is no model ${JSON.stringify(name.slice(0, maxShown))}: GET /api/v1/llm/v1/models lists them.`
  })

/** Of an instance that has a gateway. */
export const configuredOnly = <R>(found: Effect.Effect<Option.Option<Snapshot>, never, R>) =>
  Effect.flatMap(
    found,
    Option.match({
      onNone: () =>
        Effect.fail(new GatewayDisabled({ detail: "This instance has no language-model gateway." })),
      onSome: Effect.succeed
    })
  )

/**
 * An upper bound: a text's bytes bound its tokens, and nothing longer than what the client or the model allows is
 * generated, so many times.
 */
const maxCostOf = ({ choices, images, maxTokens, textTokensBound }: Admitted, model: ModelSetting) =>
  costOf(model.price, {
    prompt: textTokensBound + images * model.imageTokens,
    completion: (maxTokens ?? model.maxOutputTokens) * choices
  })

/** What every call reserves: one message without a text, answered by one token, of the cheapest model. */
export const minCost = ({ models }: Configuration): bigint =>
  [...models.values()]
    .map(({ price }) => costOf(price, { prompt: tokensAMessage, completion: 1 }))
    .reduce((min, cost) => (cost < min ? cost : min))

export const admitCall = Effect.fnUntraced(function* (snapshot: Snapshot, style: Style, body: Uint8Array) {
  const read = admit(style, body)
  if (Result.isFailure(read)) return yield* badCall(read.failure)
  const admitted = read.success
  const named = modelNamed(snapshot.configuration, admitted.model)
  if (named === undefined) return yield* unknownModel(admitted.model)
  const { model, pinned } = named
  if (admitted.maxTokens !== undefined && admitted.maxTokens > model.maxOutputTokens) {
    const param = "max_completion_tokens" in admitted.body ? "max_completion_tokens" : "max_tokens"
    return yield* badCall({
      message: `${param}: Expected at most ${model.maxOutputTokens}, which is what the model generates at most`,
      param
    })
  }
  const call: AdmittedCall = { admitted, snapshot, model, pinned, maxCost: maxCostOf(admitted, model) }
  return call
})
