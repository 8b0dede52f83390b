/**
 * Finds fields and parameters that an endpoint does not define. Unknown fields of a body are ignored and listed in the
 * answer, unless they may have been meant as limits. Unknown query parameters are rejected, because a missing filter changes
 * the answer. An optional field with the value null counts as absent: encoders of many languages write it.
 */
import { Context, Predicate, SchemaAST } from "effect"
import type { Schema } from "effect"
import { HttpBody, HttpServerResponse } from "effect/http"
import type { Headers } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { InvalidRequest } from "../services/domain/errors.ts"
import type { FieldProblem } from "../services/domain/errors.ts"
import { nearest } from "../services/domain/nearest.ts"
import { detailOf } from "./fieldProblems.ts"
import type { UnknownMember } from "./fieldProblems.ts"
import { ExtraFields, RefusedFields, RefusesUnknownFields } from "./api/middleware.ts"

/** The members and elements that a value may have. A shape with neither accepts everything. */
interface Shape {
  readonly members?: ReadonlyMap<string, Shape>
  readonly element?: Shape
  readonly isOptional?: boolean
  readonly takesNull?: boolean
}

/** Null counts as absent where some alternative of the body may lack the member, unless null is a valid value. */
const isAbsentWhenNull = ({ isOptional = false, takesNull = false }: Shape): boolean =>
  isOptional && !takesNull

const either = (one: Shape, other: Shape): Shape => {
  const members = new Map(one.members)
  for (const [name, shape] of other.members ?? []) {
    const known = members.get(name)
    members.set(name, known === undefined ? shape : either(known, shape))
  }
  const elements = [one.element, other.element].filter((each) => each !== undefined)
  return {
    ...((one.members ?? other.members) !== undefined && { members }),
    ...(elements.length > 0 && { element: elements.reduce(either) }),
    isOptional: one.isOptional === true || other.isOptional === true,
    takesNull: one.takesNull === true || other.takesNull === true
  }
}

const hasNull = (ast: SchemaAST.AST): boolean => {
  const encoded = ast.encoding?.at(-1)?.to ?? ast
  return SchemaAST.isUnion(encoded)
    ? encoded.types.some(hasNull)
    : SchemaAST.isNull(encoded) || SchemaAST.isUnknown(encoded) || SchemaAST.isAny(encoded)
}

const memberOf = ({ type }: SchemaAST.PropertySignature): Shape => ({
  ...shapeOf(type),
  isOptional: SchemaAST.isOptional(type),
  takesNull: hasNull(type)
})

/** The shape of a value as it is sent: of the encoded side of a schema, or of the decoded side where only that has members or elements. */
const shapeOf = (ast: SchemaAST.AST): Shape => {
  const encoded = ast.encoding?.at(-1)?.to
  const sent = encoded === undefined ? {} : shapeOf(encoded)
  if (sent.members !== undefined || sent.element !== undefined) return sent
  if (SchemaAST.isUnion(ast)) return ast.types.map(shapeOf).reduce(either, {})
  if (SchemaAST.isArrays(ast))
    return { element: [...ast.elements, ...ast.rest].map(shapeOf).reduce(either, {}) }
  if (!SchemaAST.isObjects(ast) || ast.indexSignatures.length > 0) return {}
  return { members: new Map(ast.propertySignatures.map((each) => [String(each.name), memberOf(each)])) }
}

const shapes = new WeakMap<HttpApiEndpoint.Top, Shape>()

const bodyShape = (endpoint: HttpApiEndpoint.Top): Shape => {
  const known = shapes.get(endpoint)
  if (known !== undefined) return known
  const also = Context.get(endpoint.annotations, ExtraFields).map((name): [string, Shape] => [name, {}])
  const isEmpty = endpoint.payload.size === 0
  const shape = [...endpoint.payload.values()]
    .flatMap(({ schemas }) => schemas.map(({ ast }) => shapeOf(ast)))
    .reduce(either, also.length > 0 || isEmpty ? { members: new Map(also) } : {})
  shapes.set(endpoint, shape)
  return shape
}

const maxListed = 100
const maxPath = 200

const collect = (
  value: unknown,
  shape: Shape,
  path: ReadonlyArray<string>,
  unknown: Array<UnknownMember>
): void => {
  const enter = (name: string, each: unknown, inner: Shape) => collect(each, inner, [...path, name], unknown)
  if (unknown.length === maxListed) return
  if (Array.isArray(value)) {
    const { element } = shape
    if (element !== undefined) value.forEach((each, index) => enter(String(index), each, element))
  } else if (shape.members !== undefined && Predicate.isObject(value)) {
    for (const [name, each] of Object.entries(value)) {
      const inner = shape.members.get(name)
      if (inner !== undefined) enter(name, each, inner)
      else if (unknown.length < maxListed) {
        unknown.push({
          path: [...path, name].join(".").slice(0, maxPath),
          name,
          members: [...shape.members.keys()]
        })
      }
    }
  }
}

const unknownIn = (value: unknown, shape: Shape): ReadonlyArray<UnknownMember> => {
  const unknown: Array<UnknownMember> = []
  collect(value, shape, [], unknown)
  return unknown
}

/** The unknown fields of a JSON body, at most a hundred. */
export const unknownMembers = (endpoint: HttpApiEndpoint.Top, body: unknown): ReadonlyArray<UnknownMember> =>
  unknownIn(body, bodyShape(endpoint))

/** Returns a function that finds the members of a value that the schema does not define. */
export const unknownMembersOf = (schema: Schema.Top) => {
  const shape = shapeOf(schema.ast)
  return (value: unknown): ReadonlyArray<UnknownMember> => unknownIn(value, shape)
}

/** The value without absent members (null for an optional one); the same object where there are none. */
const withoutAbsent = (value: unknown, shape: Shape): unknown => {
  if (Array.isArray(value)) {
    const { element } = shape
    if (element === undefined) return value
    const elements = value.map((each) => withoutAbsent(each, element))
    return elements.every((each, index) => each === value[index]) ? value : elements
  }
  const { members } = shape
  if (members === undefined || !Predicate.isObject(value)) return value
  const given = Object.entries(value)
  const kept = given
    .filter(([name, each]) => each !== null || !isAbsentWhenNull(members.get(name) ?? {}))
    .map(([name, each]): [string, unknown] => [name, withoutAbsent(each, members.get(name) ?? {})])
  const isSame = kept.length === given.length && kept.every(([, each], index) => each === given[index]?.[1])
  return isSame ? value : Object.fromEntries(kept)
}

/** A JSON body without the optional members that are null. */
export const presentMembers = (endpoint: HttpApiEndpoint.Top, body: unknown): unknown =>
  withoutAbsent(body, bodyShape(endpoint))

/** `presentMembers` for a value of this schema. */
export const presentMembersOf = (schema: Schema.Top) => {
  const shape = shapeOf(schema.ast)
  return (value: unknown): unknown => withoutAbsent(value, shape)
}

const keyHeader = "Idempotency-Key"

/** The paths of ignored fields, and the header `Idempotency-Key` where the endpoint does not accept it. */
export const ignoredFields = (
  endpoint: HttpApiEndpoint.Top,
  body: unknown,
  headers: Headers.Headers
): ReadonlyArray<string> => {
  const name = keyHeader.toLowerCase()
  const isKeyIgnored = headers[name] !== undefined && !namesOf(endpoint.headers).includes(name)
  const paths = unknownMembers(endpoint, body).map(({ path }) => path)
  return isKeyIgnored ? [...paths, keyHeader] : paths
}

const refusing = (errors: ReadonlyArray<FieldProblem>): InvalidRequest | undefined =>
  errors.length === 0 ? undefined : new InvalidRequest({ detail: detailOf(errors), errors })

const meant = (name: string, known: Iterable<string>): string => {
  const word = nearest(name, known)
  return word === undefined ? "" : ` (did you mean ${word}?)`
}

const asRefused = ({ members, name, path }: UnknownMember): FieldProblem => ({
  path,
  message: `Unknown field${meant(name, members)}: expected one of ${[...members].join(", ")}`
})

/** The rejection of a body with fields that the endpoint rejects, by name or as unknown; undefined for other bodies. */
export const refusedFields = (endpoint: HttpApiEndpoint.Top, body: unknown): InvalidRequest | undefined => {
  const refused = Object.entries(Context.get(endpoint.annotations, RefusedFields))
    .filter(([name]) => Predicate.hasProperty(body, name) && body[name] !== null)
    .map(([path, message]) => ({ path, message }))
  const unknown = Context.get(endpoint.annotations, RefusesUnknownFields)
    ? unknownMembers(endpoint, body)
    : []
  return refusing([...refused, ...unknown.map(asRefused)])
}

/** Clients and proxies reject an answer whose headers are too large. */
const maxHeader = 4000

/** The names in visible ASCII, as many as a header may hold. */
const inHeader = (names: ReadonlyArray<string>): string => {
  const text = JSON.stringify(names).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
  return text.length <= maxHeader ? text : inHeader(names.slice(0, Math.floor(names.length / 2)))
}

const listedIn = (json: object): ReadonlyArray<unknown> =>
  "ignored_fields" in json && Array.isArray(json.ignored_fields) ? json.ignored_fields : []

/** Adds `ignored_fields` to the JSON object of the answer, after the ones it has; without a JSON object, the header `Ignored-Fields`. */
export const withIgnoredFields = (
  response: HttpServerResponse.HttpServerResponse,
  ignored: ReadonlyArray<string>
): HttpServerResponse.HttpServerResponse => {
  if (ignored.length === 0) return response
  const { body } = response
  const json: unknown =
    body._tag === "Uint8Array" && body.contentType.startsWith("application/json")
      ? JSON.parse(new TextDecoder().decode(body.body))
      : undefined
  return Predicate.isObject(json) && !Array.isArray(json)
    ? HttpServerResponse.setBody(
        response,
        HttpBody.jsonUnsafe({ ...json, ignored_fields: [...listedIn(json), ...ignored] })
      )
    : HttpServerResponse.setHeader(response, "ignored-fields", inHeader(ignored))
}

/** The names that a schema of query parameters or headers defines. */
export const namesOf = (schema: Schema.Top | undefined): ReadonlyArray<string> =>
  schema !== undefined && SchemaAST.isObjects(schema.ast)
    ? schema.ast.propertySignatures.map(({ name }) => String(name))
    : []

/** The parameter names in the query of a URL; a repeated parameter occurs as often as it was sent. */
const namesInQuery = (url: string): ReadonlyArray<string> => {
  const start = url.indexOf("?")
  return start === -1 ? [] : [...new URLSearchParams(url.slice(start)).keys()]
}

/** The rejection of a URL with unknown or repeated parameters; undefined for other URLs. */
export const refusedParameters = (url: string, known: ReadonlyArray<string>): InvalidRequest | undefined => {
  const names = namesInQuery(url)
  if (names.length === 0) return undefined
  const expected =
    known.length === 0 ? "this endpoint takes no query parameters" : `this endpoint takes ${known.join(", ")}`
  const problem = (name: string) => {
    if (known.includes(name))
      return `Given ${names.filter((each) => each === name).length} times; send it once`
    return `Unknown query parameter${meant(name, known)}: ${expected}`
  }
  const wrong = names.filter((name, index) => !known.includes(name) || names.indexOf(name) !== index)
  return refusing(
    [...new Set(wrong)]
      .slice(0, maxListed)
      .map((name) => ({ path: name.slice(0, maxPath), message: problem(name) }))
  )
}
