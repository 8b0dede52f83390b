/**
 * The gateway's configuration file: providers, models, and which provider serves which model. All mistakes are found at the
 * start (or at a reload) and named by the path of the wrong value.
 */
import { Duration, Option, Redacted, Result, Schema, SchemaIssue } from "effect"
import { parseDocument } from "yaml"
import { priceOf } from "../../scoring/tokenPrices.ts"
import type { TokenPrice } from "../../scoring/tokenPrices.ts"
import { Capability, Style } from "../../services/Gateway.ts"
import { isExtra } from "./extras.ts"
import type { Allowance } from "./extras.ts"
import type { ReasoningContent } from "./thinking.ts"

/** Appears in `<provider>/<model>`, in usage rows and in labels of metrics. */
const Name = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u, {
    message: "Expected 1 to 64 characters of A-Z a-z 0-9 . _ -, beginning with a letter or digit"
  })
)

/** The name of a model, as clients or a provider use it. */
const ModelName = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,256}$/u, { message: "Expected 1 to 256 visible ASCII characters" })
)

const units = { milli: 1, second: 1000, minute: 60_000, hour: 3_600_000 }

const millisOf = (text: string): number | undefined => {
  const shape = /^(\d{1,6}) (milli|second|minute|hour)s?$/.exec(text)
  const unit = Object.entries(units).find(([name]) => name === shape?.[2])?.[1]
  const millis = unit === undefined ? 0 : Number(shape?.[1]) * unit
  return millis > 0 && millis <= Duration.toMillis(Duration.hours(1)) ? millis : undefined
}

const Time = Schema.String.check(
  Schema.makeFilter(
    (text: string) =>
      millisOf(text) !== undefined || 'Expected a duration up to an hour, such as "5 seconds" or "10 minutes"'
  )
)

const Url = Schema.String.check(
  Schema.makeFilter((text: string) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const usable =
      (url?.protocol === "https:" || url?.protocol === "http:") &&
      url.search === "" &&
      url.hash === "" &&
      url.username === "" &&
      url.password === ""
    return usable || "Expected an http or https URL without a query, a fragment and credentials"
  })
)

/** Of a provider; of a model they count for all its routes. */
const timeouts = {
  first_byte_timeout: Schema.optionalKey(Time),
  idle_timeout: Schema.optionalKey(Time),
  response_timeout: Schema.optionalKey(Time)
}

const Price = Schema.Finite.check(
  Schema.makeFilter(
    (credits: number) =>
      (credits <= 1000 && priceOf(plainDecimal(credits)) !== undefined) ||
      "Expected credits per token: from 0 to 1000, with at most 12 decimals"
  )
)

const Count = (most: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: most }))

const ExtraName = Schema.String.check(
  Schema.makeFilter(
    (name: string) =>
      isExtra(name) ||
      "Expected what a body can ask for, such as service_tier.priority, tools.web_search or mcp_servers"
  )
)

const Factor = Schema.Finite.check(
  Schema.makeFilter(
    (factor: number) =>
      (factor > 0 && factor <= 1000 && Number.isInteger(Math.round(factor * 1e9) / 1e6)) ||
      "Expected a factor up to 1000, with at most 3 decimals"
  )
)

const Allowed = Schema.Struct({
  factor: Schema.optionalKey(Factor),
  fee: Schema.optionalKey(Price),
  uses: Schema.optionalKey(Count(100)),
  tokens: Schema.optionalKey(Count(10_000_000))
})

const Provider = Schema.Struct({
  name: Name,
  style: Style,
  base_url: Url,
  api_key_env: Schema.String.check(
    Schema.isPattern(/^[A-Za-z_][A-Za-z0-9_]*$/u, { message: "Expected the name of an environment variable" })
  ),
  translate: Schema.optionalKey(Schema.Boolean),
  allow: Schema.optionalKey(Schema.Record(ExtraName, Allowed)),
  reasoning_content: Schema.optionalKey(Schema.Literals(["keep", "drop"])),
  connect_timeout: Schema.optionalKey(Time),
  ...timeouts
})

const Route = Schema.Struct({
  provider: Name,
  model: ModelName,
  priority: Schema.optionalKey(Count(1000)),
  weight: Schema.optionalKey(Count(1000))
})

const OtherModels = Schema.optionalKey(Schema.Array(ModelName).check(Schema.isMaxLength(8)))

const Model = Schema.Struct({
  name: ModelName,
  price: Schema.Struct({
    input: Price,
    output: Schema.optionalKey(Price),
    cached_input: Schema.optionalKey(Price),
    cache_write: Schema.optionalKey(Price),
    cache_write_1h: Schema.optionalKey(Price),
    reasoning: Schema.optionalKey(Price),
    image: Schema.optionalKey(Price)
  }),
  max_output_tokens: Schema.optionalKey(Count(10_000_000)),
  image_tokens: Schema.optionalKey(Count(1_000_000)),
  context_length: Schema.optionalKey(Count(1_000_000_000)),
  capabilities: Schema.optionalKey(Schema.Array(Capability)),
  ...timeouts,
  routes: Schema.Array(Route).check(Schema.isMinLength(1)),
  fallback: OtherModels,
  context_fallback: OtherModels
})

const File = Schema.Struct({
  providers: Schema.Array(Provider).check(Schema.isMinLength(1)),
  models: Schema.Array(Model).check(Schema.isMinLength(1))
})

/** A number as a decimal without an exponent. */
const plainDecimal = (value: number): string => {
  const text = String(value)
  return text.includes("e") ? value.toFixed(13).replace(/0+$/, "").replace(/\.$/, "") : text
}

export interface ProviderSetting {
  readonly name: string
  readonly style: Style
  readonly baseUrl: URL
  readonly apiKey: Redacted.Redacted
  /** Whether clients of the other style may be served, by translation. */
  readonly translates: boolean
  /** What it is asked for although it costs more than tokens, by the names of `extras.ts`. */
  readonly allow: ReadonlyMap<string, Allowance>
  /** What is done with the reasoning of earlier turns. */
  readonly reasoningContent: ReasoningContent
  /** In milliseconds, as all of them. */
  readonly connectTimeout: number
}

export interface Timeouts {
  /** How long a stream may be silent before its first content. */
  readonly firstByte: number
  /** Between two frames of a stream that has content. */
  readonly idle: number
  /** For a whole call that is not streamed, and until the first content of a stream that is not silent. */
  readonly response: number
}

export interface RouteSetting {
  readonly provider: ProviderSetting
  /** As the provider names it. */
  readonly model: string
  readonly priority: number
  readonly weight: number
  readonly timeouts: Timeouts
}

export interface ModelSetting {
  /** As clients name it. */
  readonly name: string
  readonly price: TokenPrice
  /** It gives embeddings and generates nothing. */
  readonly embeds: boolean
  /** 0 where it generates nothing. */
  readonly maxOutputTokens: number
  readonly imageTokens: number
  /** Shown to clients, as the capabilities are; undefined: the file does not say. */
  readonly contextLength: number | undefined
  readonly capabilities: ReadonlyArray<Capability> | undefined
  readonly routes: ReadonlyArray<RouteSetting>
  /** Names of models that serve where no provider of this one does. */
  readonly fallback: ReadonlyArray<string>
  /** The same where a prompt is too long for it. */
  readonly contextFallback: ReadonlyArray<string>
}

export interface Configuration {
  readonly providers: ReadonlyMap<string, ProviderSetting>
  readonly models: ReadonlyMap<string, ModelSetting>
}

const decode = Schema.decodeUnknownResult(File, { errors: "all", onExcessProperty: "error" })
const formatted = SchemaIssue.makeFormatterStandardSchemaV1()

const pathText = (path: ReadonlyArray<unknown> | undefined): string =>
  (path ?? []).reduce<string>((text, part) => {
    const key = typeof part === "object" && part !== null && "key" in part ? part.key : part
    return typeof key === "number" ? `${text}[${key}]` : `${text}${text === "" ? "" : "."}${String(key)}`
  }, "")

const problem = (path: string, message: string): string => (path === "" ? message : `${path}: ${message}`)

const maxProblems = 10

const duplicates = (names: ReadonlyArray<string>, list: string): ReadonlyArray<string> =>
  names.flatMap((name, index) =>
    names.indexOf(name) < index ? [problem(`${list}[${index}].name`, `${name} is there already`)] : []
  )

/** An unexpected value is not shown: it may be a key. */
const withoutValue = (message: string): string =>
  message.startsWith("Unexpected key") ? "Unexpected key" : message

/** Keeps a key that was written in place of its variable's name out of the log. */
const shownVariable = (name: string): string => (/^[A-Z][A-Z0-9_]*$/.test(name) ? name : "that it names")

const timed = (text: string | undefined, otherwise: string): number => millisOf(text ?? otherwise) ?? 0

const providerOf = (
  { allow, base_url, connect_timeout, name, reasoning_content, style, translate }: typeof Provider.Type,
  apiKey: string
): ProviderSetting => ({
  name,
  style,
  baseUrl: new URL(base_url),
  apiKey: Redacted.make(apiKey),
  translates: translate ?? true,
  allow: new Map(Object.entries(allow ?? {}).map(([extra, allowed]) => [extra, allowanceOf(allowed)])),
  reasoningContent: reasoning_content,
  connectTimeout: timed(connect_timeout, "5 seconds")
})

const allowanceOf = ({ factor = 1, fee = 0, tokens = 0, uses }: typeof Allowed.Type): Allowance => ({
  factor: BigInt(Math.round(factor * 1000)),
  fee: inUnits(fee),
  tokens,
  uses: uses ?? (fee > 0 || tokens > 0 ? 1 : 0)
})

/** Of a price that was checked. */
const inUnits = (credits: number): bigint => priceOf(plainDecimal(credits)) ?? 0n

/** What is not priced apart costs as much as what it is a part of. */
const tokenPriceOf = ({ input, output = 0, ...parts }: (typeof Model.Type)["price"]): TokenPrice => {
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

/** Those of the model, or else of its provider. Client libraries wait for 10 minutes: by then another one has answered. */
const timeoutsOf = (provider: typeof Provider.Type, model: typeof Model.Type): Timeouts => ({
  firstByte: timed(model.first_byte_timeout ?? provider.first_byte_timeout, "2 minutes"),
  idle: timed(model.idle_timeout ?? provider.idle_timeout, "60 seconds"),
  response: timed(model.response_timeout ?? provider.response_timeout, "5 minutes")
})

type ModelEntry = typeof Model.Type

const embeds = ({ capabilities = [] }: ModelEntry): boolean => capabilities.includes("embeddings")

/** Problems with a model, by its place in the file. */
type ProblemsOf = (
  model: ModelEntry,
  providers: ReadonlyMap<string, ProviderSetting>,
  index: number
) => ReadonlyArray<string>

const problemsOfGenerator: ProblemsOf = ({ max_output_tokens, price }, _, index) => [
  ...(max_output_tokens === undefined ? [problem(`models[${index}].max_output_tokens`, "Missing key")] : []),
  ...(price.output === undefined ? [problem(`models[${index}].price.output`, "Missing key")] : [])
]

/** Vectors of two models cannot be compared, so no other one stands in. */
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

/**
 * The file's text as a configuration, or all that is wrong with it, each by its path. `keyOf` looks up a provider's key
 * by the name of its variable.
 */
export const parseConfiguration = (
  text: string,
  keyOf: (variable: string) => Option.Option<string>
): Result.Result<Configuration, ReadonlyArray<string>> => {
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true })
  if (document.errors.length > 0) {
    return Result.fail(
      document.errors.slice(0, maxProblems).map(({ message }) => message.split("\n", 1).join(""))
    )
  }
  const read = Result.try({
    try: (): unknown => document.toJS({ maxAliasCount: 100 }),
    // Thrown by aliases that are unresolved or too many.
    catch: (error) => [error instanceof Error ? error.message : "the YAML cannot be read"]
  })
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const decoded = decode(read.success)
  if (Result.isFailure(decoded)) {
    return Result.fail(
      formatted(decoded.failure.issue)
        .issues.slice(0, maxProblems)
        .map(({ message, path }) => problem(pathText(path), withoutValue(message)))
    )
  }
  const file = decoded.success
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
    const key = Option.getOrElse(keyOf(provider.api_key_env), () => "")
    if (!/^[\x21-\x7e]+$/.test(key)) {
      problems.push(
        problem(
          `providers[${index}].api_key_env`,
          `the environment variable ${shownVariable(provider.api_key_env)} ${key === "" ? "is not set" : "holds no key"}`
        )
      )
    }
    providers.set(provider.name, providerOf(provider, key))
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

/** What a call names: a configured model with its routes, or one provider's own, which is priced as the model that maps to it. */
export interface Named {
  readonly model: ModelSetting
  readonly pinned: boolean
}

/**
 * "`provider/model`, split at the first slash and only if the head is a configured provider (else the whole string is the
 * model name)"; undefined: no such model, or none with a price.
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
