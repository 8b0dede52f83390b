/**
 * Features with a price besides that of tokens: tools that a provider runs itself, service tiers, speed, other models. Each has
 * a name. A request for one is rejected unless the provider's entry allows and prices the name.
 */
import { noSurcharge } from "../../scoring/tokenPrices.ts"
import type { Surcharge } from "../../scoring/tokenPrices.ts"
import { isAbsent, isObject, objectsIn, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Rejected, Style } from "./types.ts"
import type { Uses } from "./usage.ts"

export interface PricedFeature {
  /** Examples are `web_search_options`, `service_tier.priority` and `tools.web_search`. */
  readonly name: string
  /** The member that requests the feature. */
  readonly param: string
  /** Only for a search of messages: the maximum number of uses in the body. Providers report uses by the tool's name. */
  readonly maxUses?: { readonly tool: string; readonly param: string; readonly value: unknown }
}

/** The terms by which a provider's entry allows a feature. */
export interface Allowance {
  /** The price of the call's tokens is multiplied by this many thousandths. */
  readonly factor: bigint
  /** The fee for each use, in 10^-12 credit. */
  readonly fee: bigint
  /** The maximum number of uses in a call; all are charged where the provider does not count them. */
  readonly uses: number
  /** The maximum number of tokens that one use adds to the prompt. */
  readonly tokens: number
}

/** The members of a provider's entry that decide about priced features. */
interface Allowing {
  readonly style: Style
  readonly allow: ReadonlyMap<string, Allowance>
}

/** Other names of `max_tokens`. Only `max_tokens` bounds the reservation; an operator may rename it to one of these. */
export const otherMaxima: ReadonlyArray<string> = [
  "max_gen_len",
  "max_length",
  "max_new_tokens",
  "max_output_tokens",
  "num_predict"
]

/**
 * Members that have a price of their own with any value: they redirect the call, contain other members, or generate more than
 * `max_tokens` and `n` say. The list covers providers and the gateways (LiteLLM, OpenRouter, vLLM) that an operator may run
 * behind this one.
 */
const pricedMembers = [
  ...otherMaxima,
  "anthropic_beta",
  "api_base",
  "api_key",
  "api_type",
  "api_version",
  "audio",
  "background",
  "base_url",
  "betas",
  "cached_content",
  "candidate_count",
  "compound_custom",
  "connectors",
  "container",
  "conversation",
  "custom_llm_provider",
  "data_sources",
  "deferred",
  "deployment_id",
  "enable_search",
  "engine",
  "extra_body",
  "extra_headers",
  "extra_query",
  "fallback_models",
  "fallbacks",
  "generation_config",
  "guardrails",
  "headers",
  "mcp_servers",
  "model_list",
  "models",
  "n_best",
  "num_beams",
  "num_completions",
  "num_generations",
  "num_retries",
  "num_return_sequences",
  "num_samples",
  "organization",
  "plugins",
  "prediction",
  "preset",
  "previous_response_id",
  "prompt_id",
  "provider",
  "route",
  "safety_model",
  "search_options",
  "search_parameters",
  "search_settings",
  "use_beam_search",
  "web_search_options"
]

/** Members that tell a gateway behind this one where to send a call, and with which account (LiteLLM). */
const leadingElsewhere = /^(?:aws|azure|litellm|vertex)_/

/** Members with the only values that have no price of their own. */
const plainValues: Readonly<Record<string, ReadonlySet<unknown>>> = {
  best_of: new Set([1]),
  inference_geo: new Set(["global"]),
  prompt_cache_retention: new Set(["in_memory", "in-memory"]),
  service_tier: new Set(["auto", "default", "on_demand", "standard", "standard_only"]),
  speed: new Set(["standard"])
}

/** Types of tools that the caller runs. */
const ownTools = /^(?:function|custom|(?:bash|computer|memory|text_editor)_\d+)$/
/** Tools of messages that take `max_uses` and report their number of uses. */
const searches = new Set(["web_search", "web_fetch"])
/** Edits that only remove parts of the prompt. */
const plainEdits = /^clear_/

const listed = ["context_management", "modalities", "tools"]

/** Members by which a body requests a priced feature. */
export const askingMembers: ReadonlyArray<string> = [...pricedMembers, ...listed, ...Object.keys(plainValues)]

const valued = ["anthropic-beta", ...listed, ...Object.keys(plainValues)]
const namesWithValues = new RegExp(`^(?:${valued.join("|")})\\.[\\w.-]{1,64}$`)

/** Tests whether a body can request a feature by this name. */
export const isPricedFeature = (name: string): boolean =>
  pricedMembers.includes(name) || leadingElsewhere.test(name) || namesWithValues.test(name)

const isEmpty = (value: unknown): boolean =>
  isAbsent(value) || value === false || (Array.isArray(value) && value.length === 0)

/** The type of a tool that a provider runs; undefined if the caller runs it. A tool without a type is described, or a member names it. */
const providersTool = (tool: JsonObject, style: Style): string | undefined => {
  // Some providers ignore the case of members.
  const written = Object.keys(tool).find((name) => name.toLowerCase() === "type")
  const type = written === undefined ? undefined : tool[written]
  if (!isAbsent(type)) return ownTools.test(textOf(type)) && written === "type" ? undefined : shown(type)
  const isDescribed = (style === "openai" ? "function" : "name") in tool
  return isDescribed ? undefined : shown(Object.keys(tool)[0])
}

/** Removes the date of the version at the end of a type. */
const undated = (type: string): string => type.replace(/_\d{8}$/, "")

const shown = (value: unknown): string =>
  (typeof value === "string" ? value : `${JSON.stringify(value)}`).slice(0, 64)

/** A header requests long prompts, which have a price of their own. */
const longContext = /\bcontext-1m\b/

export const pricedFeaturesIn = (
  style: Style,
  body: JsonObject,
  headers: Readonly<Record<string, string>>
): ReadonlyArray<PricedFeature> => {
  const features: Array<PricedFeature> = []
  for (const param of pricedMembers) if (!isEmpty(body[param])) features.push({ name: param, param })
  for (const param of Object.keys(body)) {
    if (leadingElsewhere.test(param) && !isEmpty(body[param])) features.push({ name: param, param })
  }
  for (const param of Object.keys(plainValues)) {
    const value = body[param]
    if (!isAbsent(value) && plainValues[param]?.has(value) !== true) {
      features.push({ name: `${param}.${shown(value)}`, param })
    }
  }
  const { modalities } = body
  for (const value of Array.isArray(modalities) ? modalities : [modalities ?? "text"]) {
    if (value !== "text") features.push({ name: `modalities.${shown(value)}`, param: "modalities" })
  }
  for (const [index, tool] of objectsIn(body.tools).entries()) {
    const written = providersTool(tool, style)
    if (written === undefined) continue
    const type = undated(written)
    const param = `tools.${index}`
    const maxUses = { tool: type, param: `${param}.max_uses`, value: tool.max_uses }
    const isCounted = style === "anthropic" && searches.has(type)
    features.push({ name: `tools.${type}`, param, ...(isCounted && { maxUses }) })
  }
  const { context_management } = body
  for (const { type } of objectsIn(isObject(context_management) ? context_management.edits : undefined)) {
    if (plainEdits.test(textOf(type))) continue
    features.push({ name: `context_management.${undated(shown(type))}`, param: "context_management" })
  }
  if (longContext.test(headers["anthropic-beta"] ?? "")) {
    features.push({ name: "anthropic-beta.context-1m", param: "anthropic-beta" })
  }
  return features
}

/** The reason why a provider cannot take these features: it must speak the caller's style and allow all of them. */
export const refusedFeature = (
  features: ReadonlyArray<PricedFeature>,
  provider: Allowing,
  style: Style
): Rejected | undefined => {
  for (const { maxUses, name, param } of features) {
    const allowance = provider.style === style ? provider.allow.get(name) : undefined
    if (allowance === undefined) {
      return {
        param,
        message: `${param}: ${name} costs more than tokens do and is not served with this model`
      }
    }
    if (maxUses === undefined || allowance.uses === 0 || isUses(maxUses.value, allowance)) continue
    const message = `${maxUses.param}: Expected a whole number from 1 to ${allowance.uses}`
    return { param: maxUses.param, message }
  }
  return undefined
}

const isUses = (value: unknown, { uses }: Allowance): boolean =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= uses

interface Reserved {
  /** The maximum of the prompt's tokens, with the tokens that the features add. */
  readonly prompt: number
  readonly surcharge: Surcharge
}

/** The reservation for the features. After each use of a tool the provider reads the whole prompt once more. */
export const reservedFor = (
  features: ReadonlyArray<PricedFeature>,
  provider: Allowing,
  prompt: number
): Reserved => {
  const added = allowedBy(provider, features).flatMap(({ allowance: { tokens }, uses }) =>
    tokens === 0 ? [] : Array.from({ length: uses }, () => tokens)
  )
  let read = prompt
  let bound = prompt
  for (const tokens of added.sort((a, b) => b - a)) {
    read += tokens
    bound += read
  }
  return { prompt: bound, surcharge: surchargeOf(features, provider) }
}

/** The charge for the features: for searches by the provider's reported uses, otherwise the reserved amount. */
export const chargedFor = (
  features: ReadonlyArray<PricedFeature>,
  provider: Allowing,
  { uses }: Uses
): Surcharge => surchargeOf(features, provider, uses)

interface Allowed {
  readonly feature: PricedFeature
  readonly allowance: Allowance
  readonly uses: number
}

const allowedBy = ({ allow }: Allowing, features: ReadonlyArray<PricedFeature>): ReadonlyArray<Allowed> =>
  features.flatMap((feature) => {
    const allowance = allow.get(feature.name)
    if (allowance === undefined) return []
    const maxUses = feature.maxUses?.value
    return [{ feature, allowance, uses: typeof maxUses === "number" ? maxUses : allowance.uses }]
  })

const surchargeOf = (
  features: ReadonlyArray<PricedFeature>,
  provider: Allowing,
  reported?: Uses["uses"]
): Surcharge => {
  if (features.length === 0) return noSurcharge
  let factor: Surcharge["factor"] = [1n, 1n]
  let fees = 0n
  for (const { allowance, feature, uses } of allowedBy(provider, features)) {
    factor = [factor[0] * allowance.factor, factor[1] * 1000n]
    const isCounted = reported !== undefined && feature.maxUses !== undefined
    fees += allowance.fee * BigInt(isCounted ? (reported[feature.maxUses.tool] ?? 0) : uses)
  }
  return { factor, fees }
}
