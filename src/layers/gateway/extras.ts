/**
 * What a body asks for that costs more than its tokens at the model's price: tools that a provider runs itself, service tiers,
 * speed, other models. Each has a name, by which it is refused unless the provider's entry allows and prices it.
 */
import { noSurcharge } from "../../scoring/tokenPrices.ts"
import type { Surcharge } from "../../scoring/tokenPrices.ts"
import { isAbsent, isObject, objectsIn, textOf } from "./json.ts"
import type { JsonObject } from "./json.ts"
import type { Rejected, Style } from "./types.ts"
import type { Uses } from "./usage.ts"

export interface Extra {
  /** `web_search_options`, `service_tier.priority`, `tools.web_search`. */
  readonly name: string
  /** The member that asks for it. */
  readonly param: string
  /** Of a search of messages: how often the body lets it be used. Its uses are reported by the tool's name. */
  readonly maxUses?: { readonly tool: string; readonly param: string; readonly value: unknown }
}

/** What a provider's entry says of an extra that it allows. */
export interface Allowance {
  /** Thousandths, by which the price of the call's tokens is multiplied. */
  readonly factor: bigint
  /** For each use, in 10^-12 credit. */
  readonly fee: bigint
  /** Of a call at most, and what is charged where the provider does not count them. */
  readonly uses: number
  /** That a use adds to the prompt at most. */
  readonly tokens: number
}

/** A provider as far as extras are concerned. */
interface Allowing {
  readonly style: Style
  readonly allow: ReadonlyMap<string, Allowance>
}

/** Names that `max_tokens` has elsewhere. Only that one bounds what is reserved; an operator may rename it to one of these. */
export const otherMaxima: ReadonlyArray<string> = [
  "max_gen_len",
  "max_length",
  "max_new_tokens",
  "max_output_tokens",
  "num_predict"
]

/**
 * Members that are dear whatever they hold, or lead elsewhere, hide others, or have more generated than `max_tokens` and `n` say:
 * those of providers and of the gateways (LiteLLM, OpenRouter, vLLM) that an operator may have behind this one.
 */
const dearMembers = [
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

/** Where a gateway behind this one is to send a call, and as whom (LiteLLM). */
const leadingElsewhere = /^(?:aws|azure|litellm|vertex)_/

/** Members of which only these values are not. */
const plainValues: Readonly<Record<string, ReadonlySet<unknown>>> = {
  best_of: new Set([1]),
  inference_geo: new Set(["global"]),
  prompt_cache_retention: new Set(["in_memory", "in-memory"]),
  service_tier: new Set(["auto", "default", "on_demand", "standard", "standard_only"]),
  speed: new Set(["standard"])
}

/** Tools that the caller runs. */
const ownTools = /^(?:function|custom|(?:bash|computer|memory|text_editor)_\d+)$/
/** Tools of messages that take `max_uses` and report how often they were used. */
const searches = new Set(["web_search", "web_fetch"])
/** Edits that only leave something out of the prompt. */
const plainEdits = /^clear_/

const listed = ["context_management", "modalities", "tools"]

/** Members by which a body asks for something dear. */
export const askingMembers: ReadonlyArray<string> = [...dearMembers, ...listed, ...Object.keys(plainValues)]

const valued = ["anthropic-beta", ...listed, ...Object.keys(plainValues)]
const namesWithValues = new RegExp(`^(?:${valued.join("|")})\\.[\\w.-]{1,64}$`)

/** Whether a body can ask for something by this name. */
export const isExtra = (name: string): boolean =>
  dearMembers.includes(name) || leadingElsewhere.test(name) || namesWithValues.test(name)

const isEmpty = (value: unknown): boolean =>
  isAbsent(value) || value === false || (Array.isArray(value) && value.length === 0)

/** The type of a tool that a provider runs; undefined: the caller runs it. One without a type is described, or a member names it. */
const providersTool = (tool: JsonObject, style: Style): string | undefined => {
  // Some providers ignore the case of members.
  const written = Object.keys(tool).find((name) => name.toLowerCase() === "type")
  const type = written === undefined ? undefined : tool[written]
  if (!isAbsent(type)) return ownTools.test(textOf(type)) && written === "type" ? undefined : shown(type)
  const isDescribed = (style === "openai" ? "function" : "name") in tool
  return isDescribed ? undefined : shown(Object.keys(tool)[0])
}

/** Types end with the day of their version. */
const undated = (type: string): string => type.replace(/_\d{8}$/, "")

const shown = (value: unknown): string =>
  (typeof value === "string" ? value : `${JSON.stringify(value)}`).slice(0, 64)

/** Long prompts at a price of their own, by a header. */
const longContext = /\bcontext-1m\b/

export const extrasIn = (
  style: Style,
  body: JsonObject,
  headers: Readonly<Record<string, string>>
): ReadonlyArray<Extra> => {
  const extras: Array<Extra> = []
  for (const param of dearMembers) if (!isEmpty(body[param])) extras.push({ name: param, param })
  for (const param of Object.keys(body)) {
    if (leadingElsewhere.test(param) && !isEmpty(body[param])) extras.push({ name: param, param })
  }
  for (const param of Object.keys(plainValues)) {
    const value = body[param]
    if (!isAbsent(value) && plainValues[param]?.has(value) !== true) {
      extras.push({ name: `${param}.${shown(value)}`, param })
    }
  }
  const { modalities } = body
  for (const value of Array.isArray(modalities) ? modalities : [modalities ?? "text"]) {
    if (value !== "text") extras.push({ name: `modalities.${shown(value)}`, param: "modalities" })
  }
  for (const [index, tool] of objectsIn(body.tools).entries()) {
    const written = providersTool(tool, style)
    if (written === undefined) continue
    const type = undated(written)
    const param = `tools.${index}`
    const maxUses = { tool: type, param: `${param}.max_uses`, value: tool.max_uses }
    const isCounted = style === "anthropic" && searches.has(type)
    extras.push({ name: `tools.${type}`, param, ...(isCounted && { maxUses }) })
  }
  const { context_management } = body
  for (const { type } of objectsIn(isObject(context_management) ? context_management.edits : undefined)) {
    if (plainEdits.test(textOf(type))) continue
    extras.push({ name: `context_management.${undated(shown(type))}`, param: "context_management" })
  }
  if (longContext.test(headers["anthropic-beta"] ?? "")) {
    extras.push({ name: "anthropic-beta.context-1m", param: "anthropic-beta" })
  }
  return extras
}

/** Why a provider may not be asked, if it may not: it must speak the caller's style and allow all of them. */
export const refusedExtra = (
  extras: ReadonlyArray<Extra>,
  provider: Allowing,
  style: Style
): Rejected | undefined => {
  for (const { maxUses, name, param } of extras) {
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
  /** At most so many tokens, of a prompt that has so many without the extras. */
  readonly prompt: number
  readonly surcharge: Surcharge
}

/** What is reserved for them. After each use of a tool the provider reads all that came so far once more. */
export const reservedFor = (extras: ReadonlyArray<Extra>, provider: Allowing, prompt: number): Reserved => {
  const added = allowedBy(provider, extras).flatMap(({ allowance: { tokens }, uses }) =>
    tokens === 0 ? [] : Array.from({ length: uses }, () => tokens)
  )
  let read = prompt
  let bound = prompt
  for (const tokens of added.sort((a, b) => b - a)) {
    read += tokens
    bound += read
  }
  return { prompt: bound, surcharge: surchargeOf(extras, provider) }
}

/** What is charged for them: searches by the uses that the provider reported, all else as it was reserved. */
export const chargedFor = (extras: ReadonlyArray<Extra>, provider: Allowing, { uses }: Uses): Surcharge =>
  surchargeOf(extras, provider, uses)

interface Allowed {
  readonly extra: Extra
  readonly allowance: Allowance
  readonly uses: number
}

const allowedBy = ({ allow }: Allowing, extras: ReadonlyArray<Extra>): ReadonlyArray<Allowed> =>
  extras.flatMap((extra) => {
    const allowance = allow.get(extra.name)
    if (allowance === undefined) return []
    const asked = extra.maxUses?.value
    return [{ extra, allowance, uses: typeof asked === "number" ? asked : allowance.uses }]
  })

const surchargeOf = (
  extras: ReadonlyArray<Extra>,
  provider: Allowing,
  reported?: Uses["uses"]
): Surcharge => {
  if (extras.length === 0) return noSurcharge
  let factor: Surcharge["factor"] = [1n, 1n]
  let fees = 0n
  for (const { allowance, extra, uses } of allowedBy(provider, extras)) {
    factor = [factor[0] * allowance.factor, factor[1] * 1000n]
    const isCounted = reported !== undefined && extra.maxUses !== undefined
    fees += allowance.fee * BigInt(isCounted ? (reported[extra.maxUses.tool] ?? 0) : uses)
  }
  return { factor, fees }
}
