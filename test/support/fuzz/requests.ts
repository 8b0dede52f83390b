/** Requests of an operation, made from a sample. */
import type { Schema } from "effect"
import type { Header, Outgoing } from "./client.ts"
import { resolve } from "./document.ts"
import type { Document, JsonSchema, Operation } from "./document.ts"
import { alternatives, generate } from "./generate.ts"
import type { Hints } from "./generate.ts"
import { isList, isRecord } from "./validate.ts"
import type { Sample, Fixture } from "./fixture.ts"

type Json = Schema.Json

export const jsonType: Header = ["content-type", "application/json"]
export const formType = "application/x-www-form-urlencoded"

/** The path with its parameters filled in; `encoded` ones stay unchanged. */
export const pathOf = (
  operation: Operation,
  params: Sample["params"],
  encoded: Sample["params"] = {}
): string =>
  operation.path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => encoded[name] ?? encodeURIComponent(params[name] ?? `no-${name}`)
  )

export const base64url = (text: string): string => Buffer.from(text).toString("base64url")

export const queryOf = (query: Readonly<Record<string, string>>): string => {
  const text = new URLSearchParams(query).toString()
  return text === "" ? "" : `?${text}`
}

export const formOf = (value: Json): string =>
  new URLSearchParams(
    Object.fromEntries(
      Object.entries(isRecord(value) ? value : {}).map(([name, member]) => [name, String(member)])
    )
  ).toString()

/** Every schema that a JSON body may follow: each alternative of a union. */
export const bodySchemas = (document: Document, operation: Operation): ReadonlyArray<JsonSchema> => {
  const schema = operation.requestBody?.content["application/json"]?.schema
  return schema === undefined ? [] : alternatives(document, schema)
}

/** The hints for one alternative of a body. */
export const hintsFor = (document: Document, schema: JsonSchema, sample: Sample): Hints => {
  const [first = schema] = alternatives(document, schema)
  const fields = Object.keys(resolve(document, first).properties ?? {})
  const own = fields.map((field) => sample.byField?.[field] ?? {})
  return Object.assign({ ...sample.hints }, ...own)
}

/** A value without the members of these names, at any depth. */
const leavingOut = (names: ReadonlyArray<string>, value: Json): Json => {
  if (isList(value)) return value.map((item) => leavingOut(names, item))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      names.includes(name) ? [] : [[name, leavingOut(names, member)]]
    )
  )
}

export const bodyOf = (
  document: Document,
  schema: JsonSchema,
  sample: Sample,
  fields: "all" | "required" = "all"
) => {
  const { without = [] } = sample
  return leavingOut(without, generate(document, schema, hintsFor(document, schema, sample), fields))
}

export interface Plain {
  readonly operation: Operation
  readonly sample: Sample
  /** A right body; `undefined` if there is none. */
  readonly body: string | undefined
}

/** A request that is right in everything. */
export const rightRequest = (document: Document, operation: Operation, sample: Sample): Plain => {
  const [schema] = bodySchemas(document, operation)
  return {
    operation,
    sample,
    body: schema === undefined ? undefined : JSON.stringify(bodyOf(document, schema, sample))
  }
}

/** The query, completed with the parameters that the operation requires. */
const withRequired = (operation: Operation, sample: Sample, query: string): string => {
  const lacking = operation.parameters.flatMap(({ in: where, name, required }) =>
    where === "query" && required && !query.includes(`${name}=`) && !query.includes(`${name}[`)
      ? [`${name}=${encodeURIComponent(sample.query[name] ?? "")}`]
      : []
  )
  return lacking.length === 0 ? query : `${query === "" ? "?" : `${query}&`}${lacking.join("&")}`
}

/** The request as it is sent, with some parts replaced. */
export const outgoing = (
  fixture: Fixture,
  { body, operation, sample }: Plain,
  replaced: {
    readonly path?: string
    readonly query?: string
    readonly headers?: ReadonlyArray<Header>
    readonly credential?: ReadonlyArray<Header>
    readonly body?: string | Uint8Array
    readonly method?: string
  } = {}
): Outgoing => {
  const sent = replaced.body ?? body
  return {
    method: replaced.method ?? operation.method,
    target: `${replaced.path ?? pathOf(operation, sample.params)}${withRequired(operation, sample, replaced.query ?? "")}`,
    headers: [
      ...(replaced.credential ?? fixture.credentialFor(operation)),
      ...(replaced.headers ?? (sent === undefined ? [] : [jsonType]))
    ],
    body: sent
  }
}
