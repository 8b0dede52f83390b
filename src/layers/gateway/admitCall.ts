/** Checks before anything is reserved or sent: the body must be readable, and its model configured. */
import { Effect, Option, Result } from "effect"
import { costOf, maxCostOf, tokensOf } from "../../scoring/tokenPrices.ts"
import { BadCall, ModelNotAllowed, UnknownModel } from "../../services/Gateway.ts"
import type { Call, Endpoint, Style } from "../../services/Gateway.ts"
import { GatewayDisabled } from "../../services/GatewayKeys.ts"
import type { KeyHolder } from "../../services/GatewayKeys.ts"
import type { Snapshot } from "./GatewayConfig.ts"
import { modelNamed } from "./configuration.ts"
import type { Configuration, ModelSetting, ProviderSetting, RouteSetting } from "./configuration.ts"
import { admit, maximumName, tokensAMessage } from "./callBody.ts"
import { pricedFeaturesIn, refusedFeature, reservedFor } from "./pricedFeatures.ts"
import type { PricedFeature } from "./pricedFeatures.ts"
import type { Admitted, Rejected } from "./types.ts"

/** A model that may serve a call, with the routes that can take it. */
export interface Serving {
  readonly model: ModelSetting
  readonly routes: ReadonlyArray<RouteSetting>
}

export interface AdmittedCall {
  readonly admitted: Admitted
  readonly snapshot: Snapshot
  readonly named: Serving
  /** The client named the provider: the gateway tries no other, and the provider's circuit stays closed. */
  readonly pinned: boolean
  /** Models that stand in if no provider of the named model serves. */
  readonly fallback: ReadonlyArray<Serving>
  /** Models that stand in if the prompt is too long for the named model. */
  readonly contextFallback: ReadonlyArray<Serving>
  /** Features of the call with a price besides that of tokens. */
  readonly features: ReadonlyArray<PricedFeature>
  /** The largest possible cost, in micro-credits, over all these models and routes. */
  readonly maxCost: bigint
}

export const badCall = ({ code, message, param }: Rejected) =>
  new BadCall({ detail: message, param, ...(code !== undefined && { code }) })

const maxShown = 100

export const unknownModel = (name: string) =>
  new UnknownModel({
    detail: `There is no model ${JSON.stringify(name.slice(0, maxShown))}: GET /api/v1/llm/v1/models lists them.`
  })

const mayCall = ({ allowedModels }: KeyHolder, { name }: ModelSetting): boolean =>
  allowedModels === undefined || allowedModels.includes(name)

/** Finds the model of this name, if the holder may call it. */
export const modelFor = Effect.fnUntraced(function* (
  { configuration }: Pick<Snapshot, "configuration">,
  holder: KeyHolder,
  name: string
) {
  const found = modelNamed(configuration, name)
  if (found === undefined) return yield* unknownModel(name)
  if (!mayCall(holder, found.model)) {
    return yield* new ModelNotAllowed({
      detail: `The key may not call the model ${found.model.name}: GET /api/v1/llm/v1/models lists those that it may call.`
    })
  }
  return found
})

/** Fails with `gateway_disabled` on an instance without a gateway. */
export const configuredOnly = <R>(found: Effect.Effect<Option.Option<Snapshot>, never, R>) =>
  Effect.flatMap(
    found,
    Option.match({
      onNone: () =>
        Effect.fail(new GatewayDisabled({ detail: "This instance has no language-model gateway." })),
      onSome: Effect.succeed
    })
  )

/** An upper bound: the prompt's bytes bound its tokens, and no choice is longer than the client or the model allows. */
const maxCostWith = (
  { choices, images, maxTokens, textTokensBound, writesCache }: Admitted,
  features: ReadonlyArray<PricedFeature>,
  { model, routes }: Serving
): bigint => {
  const completion = (maxTokens ?? model.maxOutputTokens) * choices
  const text = textTokensBound + images * model.imageTokens
  const costOn = ({ provider }: RouteSetting) => {
    const { prompt, surcharge } = reservedFor(features, provider, text)
    return maxCostOf(model.price, { prompt, completion, writesCache }, images, surcharge)
  }
  // Without priced features all routes cost the same.
  return largest((features.length === 0 ? routes.slice(0, 1) : routes).map(costOn))
}

const maxCostOfAll = (
  admitted: Admitted,
  features: ReadonlyArray<PricedFeature>,
  servings: ReadonlyArray<Serving>
): bigint => largest(servings.map((serving) => maxCostWith(admitted, features, serving)))

/** The largest max_tokens that this amount covers; 0 if it covers none. */
export const maxTokensFor = (
  { admitted, contextFallback, features, fallback, named }: AdmittedCall,
  amount: bigint
): number => {
  const servings = [named, ...fallback, ...contextFallback]
  const isCovered = (maxTokens: number) =>
    maxCostOfAll({ ...admitted, maxTokens }, features, servings) <= amount
  let covered = 0
  let exceeding = admitted.maxTokens ?? named.model.maxOutputTokens
  while (exceeding - covered > 1) {
    const middle = Math.floor((covered + exceeding) / 2)
    if (isCovered(middle)) covered = middle
    else exceeding = middle
  }
  return covered
}

const largest = (costs: ReadonlyArray<bigint>): bigint =>
  costs.reduce((max, cost) => (cost > max ? cost : max), 0n)

/** The cost of the smallest call: an empty message to the cheapest model, answered by one token. */
export const minCost = ({ models }: Configuration): bigint =>
  [...models.values()]
    .map(({ price }) => costOf(price, tokensOf(tokensAMessage, 1)))
    .reduce((min, cost) => (cost < min ? cost : min))

export const admitCall = Effect.fnUntraced(function* (
  snapshot: Snapshot,
  { body, endpoint, holder, versionHeaders }: Pick<Call, "body" | "endpoint" | "holder" | "versionHeaders">
) {
  const read = admit(endpoint, body)
  if (Result.isFailure(read)) return yield* badCall(read.failure)
  const admitted = read.success
  const { style } = admitted
  const { model, pinned } = yield* modelFor(snapshot, holder, admitted.model)
  const unfit = whyUnfit(model, endpoint)
  if (unfit !== undefined) return yield* badCall({ message: unfit, param: "model" })
  if (!allows(model, admitted)) {
    const param = maximumName(admitted)
    return yield* badCall({
      message: `${param}: Expected at most ${model.maxOutputTokens}, which is what the model generates at most`,
      param
    })
  }
  const features = pricedFeaturesIn(style, admitted.body, versionHeaders)
  const serving = (each: ModelSetting): Serving => ({
    model: each,
    routes: each.routes.filter(
      ({ provider }) => isUsable(provider, style) && refusedFeature(features, provider, style) === undefined
    )
  })
  const named = serving(model)
  if (named.routes.length === 0) return yield* badCall(whyUnserved(model, style, features))
  const standingIn = (names: ReadonlyArray<string>): ReadonlyArray<Serving> =>
    pinned
      ? []
      : names
          .flatMap((name) => snapshot.configuration.models.get(name) ?? [])
          .filter((each) => mayCall(holder, each) && allows(each, admitted))
          .map(serving)
  const fallback = standingIn(model.fallback)
  const contextFallback = standingIn(model.contextFallback)
  const maxCost = maxCostOfAll(admitted, features, [named, ...fallback, ...contextFallback])
  const call: AdmittedCall = {
    admitted,
    snapshot,
    named,
    pinned,
    fallback,
    contextFallback,
    features,
    maxCost
  }
  return call
})

const allows = ({ maxOutputTokens }: ModelSetting, { maxTokens }: Admitted): boolean =>
  maxTokens === undefined || maxTokens <= maxOutputTokens

/** A model either gives embeddings or generates. */
const whyUnfit = ({ embeds, name }: ModelSetting, endpoint: Endpoint): string | undefined => {
  if (embeds === (endpoint === "embeddings")) return undefined
  return embeds
    ? `The model ${name} generates nothing: POST /api/v1/llm/v1/embeddings calls it.`
    : `The model ${name} has no embeddings: GET /api/v1/llm/v1/models lists the capabilities of each.`
}

const isUsable = (provider: ProviderSetting, style: Style): boolean =>
  provider.style === style || provider.translates

const whyUnserved = (model: ModelSetting, style: Style, features: ReadonlyArray<PricedFeature>): Rejected =>
  model.routes
    .filter(({ provider }) => isUsable(provider, style))
    .map(({ provider }) => refusedFeature(features, provider, style))
    .find((refused) => refused !== undefined) ?? {
    message: `The model ${model.name} is not served in this style of calling.`,
    param: "model"
  }
