/** The gateway's settings for calls: defaults are filled in, prices are exact, and keys are read. */
import { Redacted, Result } from "effect"
import { priceOf } from "../../scoring/tokenPrices.ts"
import type { TokenPrice } from "../../scoring/tokenPrices.ts"
import type { Capability, Style } from "../../services/Gateway.ts"
import { maxima, maxProblems, millisOf, plainDecimal, problem } from "./configurationFile.ts"
import type { ConfigurationFile, ModelEntry, ProviderEntry } from "./configurationFile.ts"
import type { Allowance } from "./pricedFeatures.ts"
import type { ReasoningContent } from "./thinking.ts"
import type { MemberChanges } from "./types.ts"

/** How a request carries the key: as a bearer token, or in a header of this name. */
export type Auth = NonNullable<ProviderEntry["auth"]>

export interface ProviderKey {
  readonly secret: Redacted.Redacted
  /** The key's place in the file, such as `api_key_env[1]`: keys themselves are never shown. */
  readonly label: string
}

export interface ProviderSetting {
  readonly name: string
  readonly style: Style
  readonly baseUrl: URL
  readonly auth: Auth
  /** The list is empty if the provider needs none. */
  readonly keys: ReadonlyArray<ProviderKey>
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly changes: MemberChanges
  /** The provider also serves clients of the other style, by translation. */
  readonly translates: boolean
  /** Priced features that the provider may be asked for, by the names of `pricedFeatures.ts`. */
  readonly allow: ReadonlyMap<string, Allowance>
  /** The treatment of reasoning from earlier turns. */
  readonly reasoningContent: ReasoningContent
  /** Milliseconds, like all durations in this file. */
  readonly connectTimeout: number
}

export interface Timeouts {
  /** The maximum silence of a stream before its first content. */
  readonly firstByte: number
  /** The maximum time between two frames of a stream that has content. */
  readonly idle: number
  /** The maximum time of a whole call that is not streamed, and until the first content of a stream that is not silent. */
  readonly response: number
}

export interface RouteSetting {
  readonly provider: ProviderSetting
  /** The provider's name of the model. */
  readonly model: string
  /** The provider's prices; undefined if the file does not give them. */
  readonly cost: TokenPrice | undefined
  readonly priority: number
  readonly weight: number
  readonly timeouts: Timeouts
}

export interface ModelSetting {
  /** The clients' name of the model. */
  readonly name: string
  readonly price: TokenPrice
  /** The model gives embeddings and generates nothing. */
  readonly embeds: boolean
  /** 0 if the model generates nothing. */
  readonly maxOutputTokens: number
  readonly imageTokens: number
  /** Clients see this, as they see the capabilities; undefined if the file does not give it. */
  readonly contextLength: number | undefined
  readonly capabilities: ReadonlyArray<Capability> | undefined
  readonly routes: ReadonlyArray<RouteSetting>
  /** Names of models that stand in if no provider of this one serves. */
  readonly fallback: ReadonlyArray<string>
  /** Names of models that stand in if a prompt is too long for this one. */
  readonly contextFallback: ReadonlyArray<string>
}

export interface Configuration {
  readonly providers: ReadonlyMap<string, ProviderSetting>
  readonly models: ReadonlyMap<string, ModelSetting>
}

const duplicates = (names: ReadonlyArray<string>, list: string): ReadonlyArray<string> =>
  names.flatMap((name, index) =>
    names.indexOf(name) < index ? [problem(`${list}[${index}].name`, `${name} is there already`)] : []
  )

/** The place of a key: a variable or a file. */
export interface KeySource {
  readonly member: "api_key_env" | "key_file"
  /** The variable's name, or the file's path. */
  readonly name: string
  readonly label: string
}

/** The keys that a provider's entry names, in their order. */
export const keySources = (entry: ProviderEntry): ReadonlyArray<KeySource> =>
  (["api_key_env", "key_file"] as const).flatMap((member) => {
    const named = entry[member]
    if (named === undefined) return []
    return typeof named === "string"
      ? [{ member, name: named, label: member }]
      : named.map((name, place) => ({ member, name, label: `${member}[${place}]` }))
  })

/** A key, or the reason why there is none, such as "is not set". */
export type FoundKey = Result.Result<string, string>

/** The text contains neither a path nor a variable's name, because an operator may have written the key itself there. */
const sourceText = ({ member, name }: KeySource): string => {
  if (member === "key_file") return "the file that it names"
  return `the environment variable ${/^[A-Z][A-Z0-9_]*$/.test(name) ? name : "that it names"}`
}

const maxKeyLength = 8192
const isKey = (text: string): boolean => text.length <= maxKeyLength && /^[\x21-\x7e]+$/.test(text)

const whyNoKey = (source: KeySource, found: FoundKey): string | undefined => {
  if (Result.isFailure(found)) return `${sourceText(source)} ${found.failure}`
  return isKey(found.success) ? undefined : `${sourceText(source)} holds no key`
}

/** Problems with a provider, each by the path of its member. */
type ProviderProblems = ReadonlyArray<readonly [member: string, why: string]>

const missingKey =
  "Missing key: api_key_env or key_file names where the provider's key is, auth: none says that it needs none"

const problemsOfKeys = (
  { auth }: ProviderEntry,
  found: ReadonlyArray<readonly [KeySource, FoundKey]>
): ProviderProblems => {
  if (auth === "none") return found.map(([{ label }]) => [label, "a provider with auth: none has no key"])
  if (found.length === 0) return [["api_key_env", missingKey]]
  return found.flatMap(([source, key]) => {
    const why = whyNoKey(source, key)
    return why === undefined ? [] : [[source.label, why] as const]
  })
}

const problemsOfRenames = ({ omit = [], rename = {} }: ProviderEntry): ProviderProblems =>
  Object.keys(rename).flatMap((name) =>
    omit.includes(name) ? [[`rename.${name}`, "it is omitted"] as const] : []
  )

const timed = (text: string | undefined, otherwise: string): number => millisOf(text ?? otherwise) ?? 0

const providerOf = (entry: ProviderEntry, keys: ReadonlyArray<ProviderKey>): ProviderSetting => ({
  name: entry.name,
  style: entry.style,
  baseUrl: new URL(entry.base_url),
  auth: entry.auth ?? (entry.style === "openai" ? "bearer" : "x-api-key"),
  keys,
  headers: lowerCased(entry.headers ?? {}),
  query: entry.query ?? {},
  changes: changesOf(entry),
  translates: entry.translate ?? true,
  allow: new Map(
    Object.entries(entry.allow ?? {}).map(([feature, allowed]) => [feature, allowanceOf(allowed)])
  ),
  reasoningContent: entry.reasoning_content,
  connectTimeout: timed(entry.connect_timeout, "5 seconds")
})

/** If a maximum has another name at the provider, a client's own member of that name is omitted: nothing was reserved for it. */
const changesOf = ({ omit = [], rename = {} }: ProviderEntry): MemberChanges => ({
  omit: new Set([
    ...omit,
    ...Object.entries(rename).flatMap(([from, to]) => (maxima.has(from) && !maxima.has(to) ? [to] : []))
  ]),
  rename: new Map(Object.entries(rename))
})

/** Lower-case names, so that these headers replace a client's. */
const lowerCased = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

type AllowedEntry = NonNullable<ProviderEntry["allow"]>[string]

const allowanceOf = ({ factor = 1, fee = 0, tokens = 0, uses }: AllowedEntry): Allowance => ({
  factor: BigInt(Math.round(factor * 1000)),
  fee: inUnits(fee),
  tokens,
  uses: uses ?? (fee > 0 || tokens > 0 ? 1 : 0)
})

/** The price was checked before. */
const inUnits = (credits: number): bigint => priceOf(plainDecimal(credits)) ?? 0n

/** A part without a price of its own costs as much as the tokens it belongs to. */
const tokenPriceOf = ({ input, output = 0, ...parts }: ModelEntry["price"]): TokenPrice => {
  const cacheWrite = parts.cache_write ?? input
  return {
    input: inUnits(input),
    cachedInput: inUnits(parts.cached_input ?? input),
    cacheWrite: inUnits(cacheWrite),
    cacheWriteLong: inUnits(parts.cache_write_1h ?? cacheWrite),
    output: inUnits(output),
    reasoning: inUnits(parts.reasoning ?? output),
    image: inUnits(parts.image ?? 0)
  }
}

/** The model's timeouts, or else its provider's. Client libraries wait for 10 minutes: by then another provider has answered. */
const timeoutsOf = (provider: ProviderEntry, model: ModelEntry): Timeouts => ({
  firstByte: timed(model.first_byte_timeout ?? provider.first_byte_timeout, "2 minutes"),
  idle: timed(model.idle_timeout ?? provider.idle_timeout, "60 seconds"),
  response: timed(model.response_timeout ?? provider.response_timeout, "5 minutes")
})

const embeds = ({ capabilities = [] }: ModelEntry): boolean => capabilities.includes("embeddings")

/** Finds the problems of a model; `index` is its place in the file. */
type ProblemsOf = (
  model: ModelEntry,
  providers: ReadonlyMap<string, ProviderSetting>,
  index: number
) => ReadonlyArray<string>

const problemsOfGenerator: ProblemsOf = ({ max_output_tokens, price, routes }, _, index) => [
  ...(max_output_tokens === undefined ? [problem(`models[${index}].max_output_tokens`, "Missing key")] : []),
  ...(price.output === undefined ? [problem(`models[${index}].price.output`, "Missing key")] : []),
  ...routes.flatMap(({ cost }, place) =>
    cost !== undefined && cost.output === undefined
      ? [problem(`models[${index}].routes[${place}].cost.output`, "Missing key")]
      : []
  )
]

/** Vectors of two models cannot be compared, so no other model stands in. */
const problemsOfEmbedder: ProblemsOf = (model, providers, index) => {
  const needless = (["max_output_tokens", "fallback", "context_fallback"] as const).filter(
    (name) => model[name] !== undefined
  )
  const others = (model.capabilities ?? []).some((each) => each !== "embeddings")
  const foreign = model.routes.flatMap(({ provider }, place) =>
    providers.get(provider)?.style === "anthropic" ? [place] : []
  )
  return [
    ...needless.map((name) => problem(`models[${index}].${name}`, "a model of embeddings has none")),
    ...(others ? [problem(`models[${index}].capabilities`, "embeddings stand alone")] : []),
    ...foreign.map((place) =>
      problem(
        `models[${index}].routes[${place}].provider`,
        "providers of the anthropic style have no embeddings"
      )
    )
  ]
}

/** The settings in a file, or all its problems with their paths. */
export const configurationOf = (
  file: ConfigurationFile,
  keyOf: (source: KeySource) => FoundKey
): Result.Result<Configuration, ReadonlyArray<string>> => {
  const problems: Array<string> = [
    ...duplicates(
      file.providers.map(({ name }) => name),
      "providers"
    ),
    ...duplicates(
      file.models.map(({ name }) => name),
      "models"
    )
  ]
  const providers = new Map<string, ProviderSetting>()
  const written = new Map(file.providers.map((provider) => [provider.name, provider]))
  for (const [index, provider] of file.providers.entries()) {
    const found = keySources(provider).map((source) => [source, keyOf(source)] as const)
    for (const [member, why] of [...problemsOfKeys(provider, found), ...problemsOfRenames(provider)]) {
      problems.push(problem(`providers[${index}].${member}`, why))
    }
    const keys = found.map(([{ label }, key]) => ({
      label,
      secret: Redacted.make(Result.getOrElse(key, () => ""))
    }))
    providers.set(provider.name, providerOf(provider, keys))
  }
  const models = new Map<string, ModelSetting>()
  for (const [index, model] of file.models.entries()) {
    const routes: Array<RouteSetting> = []
    for (const [place, route] of model.routes.entries()) {
      const provider = providers.get(route.provider)
      const entry = written.get(route.provider)
      const path = `models[${index}].routes[${place}]`
      if (provider === undefined || entry === undefined) {
        problems.push(problem(`${path}.provider`, `${route.provider} is none of the providers`))
      } else if (routes.some((each) => each.provider === provider && each.model === route.model)) {
        problems.push(problem(path, `${route.provider}/${route.model} is there already`))
      } else {
        routes.push({
          provider,
          model: route.model,
          cost: route.cost === undefined ? undefined : tokenPriceOf(route.cost),
          priority: route.priority ?? 1,
          weight: route.weight ?? 1,
          timeouts: timeoutsOf(entry, model)
        })
      }
    }
    problems.push(...(embeds(model) ? problemsOfEmbedder : problemsOfGenerator)(model, providers, index))
    models.set(model.name, {
      name: model.name,
      price: tokenPriceOf(model.price),
      embeds: embeds(model),
      maxOutputTokens: model.max_output_tokens ?? 0,
      imageTokens: model.image_tokens ?? 3000,
      contextLength: model.context_length,
      capabilities: model.capabilities,
      routes,
      fallback: model.fallback ?? [],
      contextFallback: model.context_fallback ?? []
    })
    for (const list of ["fallback", "context_fallback"] as const) {
      for (const [place, name] of (model[list] ?? []).entries()) {
        const another = name === model.name ? undefined : file.models.find((each) => each.name === name)
        if (another === undefined || embeds(another)) {
          const why = another === undefined ? "is none of the other models" : "generates nothing"
          problems.push(problem(`models[${index}].${list}[${place}]`, `${name} ${why}`))
        }
      }
    }
  }
  return problems.length > 0
    ? Result.fail(problems.slice(0, maxProblems))
    : Result.succeed({ providers, models })
}

/** A named model: a configured one with its routes, or a provider's own, which is priced as the model that maps to it. */
export interface Named {
  readonly model: ModelSetting
  readonly pinned: boolean
}

/**
 * "`provider/model`, split at the first slash and only if the head is a configured provider (else the whole string is the model
 * name)"; undefined if no such model exists or it has no price.
 */
export const modelNamed = ({ models, providers }: Configuration, name: string): Named | undefined => {
  const slash = name.indexOf("/")
  const provider = slash > 0 ? providers.get(name.slice(0, slash)) : undefined
  if (provider === undefined) {
    const model = models.get(name)
    return model === undefined ? undefined : { model, pinned: false }
  }
  const wanted = name.slice(slash + 1)
  for (const model of models.values()) {
    const route = model.routes.find((each) => each.provider === provider && each.model === wanted)
    if (route !== undefined) return { model: { ...model, routes: [route] }, pinned: true }
  }
  return undefined
}
