/**
 * The form of the gateway's file: providers, models, and which provider serves which model. Each problem has the path of the wrong value.
 */
import { Duration, Result, Schema, SchemaIssue } from "effect"
import { parseDocument } from "yaml"
import { priceOf } from "../../scoring/tokenPrices.ts"
import { Capability, Style } from "../../services/Gateway.ts"
import { askingMembers, isPricedFeature, otherMaxima } from "./pricedFeatures.ts"
import { members } from "./json.ts"

/** The name appears in `<provider>/<model>`, in usage rows and in labels of metrics. */
const Name = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u, {
    message: "Expected 1 to 64 characters of A-Z a-z 0-9 . _ -, beginning with a letter or digit"
  })
)

/** A model's name, as clients or a provider use it. */
const ModelName = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,256}$/u, { message: "Expected 1 to 256 visible ASCII characters" })
)

const units = { milli: 1, second: 1000, minute: 60_000, hour: 3_600_000 }

/** The milliseconds of a checked duration; undefined for any other text. */
export const millisOf = (text: string): number | undefined => {
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

/** The timeouts of a provider; those of a model apply to all its routes. */
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

const PricedFeatureName = Schema.String.check(
  Schema.makeFilter(
    (name: string) =>
      isPricedFeature(name) ||
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

/** The name of the variable that holds a key: the key itself never stands in the file. */
const Variable = Schema.String.check(
  Schema.isPattern(/^[A-Za-z_][A-Za-z0-9_]*$/u, { message: "Expected the name of an environment variable" })
)
const Path = Schema.String.check(
  Schema.isPattern(/^\.{0,2}\/[^\0]+$/u, {
    message: "Expected a path that begins with / or ./, such as /run/secrets/north-key"
  })
)

/** Several keys of one provider share its calls. */
const OneOrMore = <S extends Schema.Top>(each: S) =>
  Schema.Union([each, Schema.Array(each).check(Schema.isMinLength(1), Schema.isMaxLength(32))])

/** Headers that the gateway or the connection sets. */
const ownHeaders = members(`
  accept accept-encoding connection content-encoding content-length content-type cookie expect host keep-alive te
  trailer transfer-encoding upgrade
`)

/** Names under which keys travel. The file holds no keys, and an address with a key would end up in others' logs. */
const namesOfKeys = /^(?:.*[-_.])?(?:api-?key|key|token|secret|password|authorization)$/i

const HeaderName = Schema.String.check(
  Schema.makeFilter((name: string) => {
    if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(name)) return "Expected the name of a header"
    const isOwn = ownHeaders.has(name.toLowerCase()) || /^proxy-/i.test(name) || namesOfKeys.test(name)
    return isOwn
      ? "Expected a header that the gateway does not set itself: auth says how a key is sent"
      : undefined
  })
)

const HeaderValue = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/u, {
    message: "Expected 1 to 1024 ASCII characters, without spaces at the ends"
  })
)

const QueryName = Schema.String.check(
  Schema.makeFilter((name: string) => {
    if (!/^[A-Za-z][\w.-]{0,63}$/.test(name)) return "Expected the name of a query parameter"
    return namesOfKeys.test(name) ? "Expected no key in an address: auth says how a key is sent" : undefined
  })
)

const memberName = /^[A-Za-z_][\w.-]{0,63}$/

/** Without these members a provider would do something else than the client requested and pays for. */
const needed = members("model messages input n stream")
/** Members that bound the cost of a call. */
export const maxima = members("max_tokens max_completion_tokens")

const OmittedMember = Schema.String.check(
  Schema.makeFilter((name: string) => {
    if (!memberName.test(name)) return "Expected the name of a member of a request"
    if (needed.has(name)) return "Expected a member that a call can be made without"
    return maxima.has(name)
      ? "Expected no maximum, which bounds the cost of a call: rename gives it another name"
      : undefined
  })
)

/** A client's member must not be renamed to one that is rejected or that decides what a call costs. */
const whyNotRenamed = (from: string, to: string): string | undefined => {
  if (!memberName.test(from) || !memberName.test(to)) return "Expected names of members of a request"
  const plain = to.toLowerCase()
  if (needed.has(from)) return "Expected a member that a call can be made without"
  if (maxima.has(from) && otherMaxima.includes(plain)) return undefined
  const isDeciding = needed.has(plain) || plain === "stream_options" || askingMembers.includes(plain)
  if (isDeciding || (maxima.has(plain) && !maxima.has(from)))
    return "Expected a name that does not decide what a call costs"
  return undefined
}

const Renames = Schema.Record(Schema.String, Schema.String).check(
  Schema.makeFilter((renames: Readonly<Record<string, string>>) =>
    Object.entries(renames).flatMap(([from, to]) => {
      const why = whyNotRenamed(from, to)
      return why === undefined ? [] : [{ path: [from], issue: why }]
    })
  )
)

const Provider = Schema.Struct({
  name: Name,
  style: Style,
  base_url: Url,
  auth: Schema.optionalKey(Schema.Literals(["bearer", "x-api-key", "api-key", "none"])),
  api_key_env: Schema.optionalKey(OneOrMore(Variable)),
  key_file: Schema.optionalKey(OneOrMore(Path)),
  headers: Schema.optionalKey(Schema.Record(HeaderName, HeaderValue)),
  query: Schema.optionalKey(Schema.Record(QueryName, Schema.String.check(Schema.isMaxLength(256)))),
  omit: Schema.optionalKey(Schema.Array(OmittedMember).check(Schema.isMaxLength(64))),
  rename: Schema.optionalKey(Renames),
  translate: Schema.optionalKey(Schema.Boolean),
  allow: Schema.optionalKey(Schema.Record(PricedFeatureName, Allowed)),
  reasoning_content: Schema.optionalKey(Schema.Literals(["keep", "drop"])),
  connect_timeout: Schema.optionalKey(Time),
  ...timeouts
})

/** Credits per token, and per image. */
const Prices = Schema.Struct({
  input: Price,
  output: Schema.optionalKey(Price),
  cached_input: Schema.optionalKey(Price),
  cache_write: Schema.optionalKey(Price),
  cache_write_1h: Schema.optionalKey(Price),
  reasoning: Schema.optionalKey(Price),
  image: Schema.optionalKey(Price)
})

const Route = Schema.Struct({
  provider: Name,
  model: ModelName,
  cost: Schema.optionalKey(Prices),
  priority: Schema.optionalKey(Count(1000)),
  weight: Schema.optionalKey(Count(1000))
})

const OtherModels = Schema.optionalKey(Schema.Array(ModelName).check(Schema.isMaxLength(8)))

const Model = Schema.Struct({
  name: ModelName,
  price: Prices,
  max_output_tokens: Schema.optionalKey(Count(10_000_000)),
  image_tokens: Schema.optionalKey(Count(1_000_000)),
  context_length: Schema.optionalKey(Count(1_000_000_000)),
  capabilities: Schema.optionalKey(Schema.Array(Capability)),
  ...timeouts,
  routes: Schema.Array(Route).check(Schema.isMinLength(1)),
  fallback: OtherModels,
  context_fallback: OtherModels
})

export type ProviderEntry = typeof Provider.Type
export type ModelEntry = typeof Model.Type

const File = Schema.Struct({
  providers: Schema.Array(Provider).check(Schema.isMinLength(1)),
  models: Schema.Array(Model).check(Schema.isMinLength(1))
})
export type ConfigurationFile = typeof File.Type

/** A number as a decimal without an exponent. */
export const plainDecimal = (value: number): string => {
  const text = String(value)
  return text.includes("e") ? value.toFixed(13).replace(/0+$/, "").replace(/\.$/, "") : text
}

const decode = Schema.decodeUnknownResult(File, { errors: "all", onExcessProperty: "error" })
const formatted = SchemaIssue.makeFormatterStandardSchemaV1()

const pathText = (path: ReadonlyArray<unknown> | undefined): string =>
  (path ?? []).reduce<string>((text, part) => {
    const key = typeof part === "object" && part !== null && "key" in part ? part.key : part
    return typeof key === "number" ? `${text}[${key}]` : `${text}${text === "" ? "" : "."}${String(key)}`
  }, "")

/** A problem with its path. */
export const problem = (path: string, message: string): string =>
  path === "" ? message : `${path}: ${message}`

/** At most this many problems are shown. */
export const maxProblems = 10

/** An unexpected value is not shown: it may be a key. */
const withoutValue = (message: string): string =>
  message.startsWith("Unexpected key") ? "Unexpected key" : message

/** The parsed file, or all problems with its form. */
export const readConfigurationFile = (
  text: string
): Result.Result<ConfigurationFile, ReadonlyArray<string>> => {
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true })
  if (document.errors.length > 0) {
    return Result.fail(
      document.errors.slice(0, maxProblems).map(({ message }) => message.split("\n", 1).join(""))
    )
  }
  const read = Result.try({
    try: (): unknown => document.toJS({ maxAliasCount: 100 }),
    // Unresolved or too many aliases throw.
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
  return Result.succeed(decoded.success)
}
