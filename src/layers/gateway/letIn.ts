/** What a call must be before anything is reserved or sent: a body that can be read, of a model that is configured. */
import { Effect, Exit, Option, Result } from "effect"
import { costOf } from "../../scoring/tokenPrices.ts"
import { BadCall, UnknownModel } from "../../services/Gateway.ts"
import type { Style } from "../../services/Gateway.ts"
import { GatewayDisabled } from "../../services/GatewayKeys.ts"
import type { InForce } from "./Configured.ts"
import { modelNamed } from "./configuration.ts"
import type { Configuration, ModelSetting } from "./configuration.ts"
import { admit, tokensAMessage } from "./styles/index.ts"
import type { Admitted, Refused } from "./styles/types.ts"

export interface LetIn {
  readonly admitted: Admitted
  readonly inForce: InForce
  readonly model: ModelSetting
  /** One provider was named: no other is tried, and it does not cool down. */
  readonly pinned: boolean
  /** The largest possible cost, in micro-credits. */
  readonly atMost: bigint
}

export const badCall = ({ code, message, param }: Refused) =>
  new BadCall({ detail: message, param, ...(code !== undefined && { code }) })

const longestShown = 100

export const unknownModel = (name: string) =>
  new UnknownModel({
    detail: `There is no model ${JSON.stringify(name.slice(0, longestShown))}: GET /api/v1/llm/v1/models lists them.`
  })

export const noGateway = () => new GatewayDisabled({ detail: "This instance has no language-model gateway." })

/** Of an instance that has a gateway. */
export const configuredOnly = <A>(found: Effect.Effect<Option.Option<A>>) =>
  Effect.flatMap(
    found,
    Option.match({
      onNone: () => Effect.fail(noGateway()),
      onSome: (inForce: A) => Effect.succeed(inForce)
    })
  )

/**
 * An upper bound: a text's bytes bound its tokens, and nothing longer than what the client or the model allows is
 * generated, so many times.
 */
const costBound = ({ choices, images, maxTokens, textTokensBound }: Admitted, model: ModelSetting) =>
  costOf(model.price, {
    prompt: textTokensBound + images * model.imageTokens,
    completion: (maxTokens ?? model.maxOutputTokens) * choices
  })

/** What every call reserves: one message without a text, answered by one token, of the cheapest model. */
export const leastCost = ({ models }: Configuration): bigint =>
  [...models.values()]
    .map(({ price }) => costOf(price, { prompt: tokensAMessage, completion: 1 }))
    .reduce((least, cost) => (cost < least ? cost : least))

export const letIn = (
  inForce: InForce,
  style: Style,
  body: Uint8Array
): Exit.Exit<LetIn, BadCall | UnknownModel> => {
  const read = admit(style, body)
  if (Result.isFailure(read)) return Exit.fail(badCall(read.failure))
  const admitted = read.success
  const named = modelNamed(inForce.configuration, admitted.model)
  if (named === undefined) return Exit.fail(unknownModel(admitted.model))
  const { model, pinned } = named
  if (admitted.maxTokens !== undefined && admitted.maxTokens > model.maxOutputTokens) {
    const param = "max_completion_tokens" in admitted.body ? "max_completion_tokens" : "max_tokens"
    return Exit.fail(
      badCall({
        message: `${param}: Expected at most ${model.maxOutputTokens}, which is what the model generates at most`,
        param
      })
    )
  }
  return Exit.succeed({ admitted, inForce, model, pinned, atMost: costBound(admitted, model) })
}
