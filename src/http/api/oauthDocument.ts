/** What the edge adds to the errors of the token endpoint, for the document. */
import { Predicate } from "effect"
import { tokenPath } from "../../services/Tokens.ts"

type Node = Readonly<Record<string, unknown>>

const at = (node: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((value, key) => (Predicate.hasProperty(value, key) ? value[key] : undefined), node)

/** A copy with another value at this path. */
const replaced = (node: unknown, [key, ...path]: ReadonlyArray<string>, by: unknown): unknown =>
  key === undefined
    ? by
    : { ...(Predicate.isObject(node) ? node : {}), [key]: replaced(at(node, key), path, by) }

const members = {
  error: { type: "string", description: "RFC 6749 5.2" },
  error_description: { type: "string", description: "detail, in the characters of RFC 6749 5.2" }
}

/** The error with the members of OAuth, in place where it is one that others share. */
const inOAuth = (document: Node, schema: unknown): unknown => {
  const reference = at(schema, "$ref")
  if (typeof reference === "string") {
    return inOAuth(document, at(document, ...reference.split("/").slice(1)))
  }
  const options = at(schema, "anyOf")
  if (Array.isArray(options)) return { anyOf: options.map((option) => inOAuth(document, option)) }
  const required = at(schema, "required")
  return {
    ...(Predicate.isObject(schema) ? schema : {}),
    properties: { ...members, ...Object(at(schema, "properties")) },
    required: [...new Set([...(Array.isArray(required) ? required : []), ...Object.keys(members)])]
  }
}

const json = ["content", "application/json", "schema"]

export const withOAuthErrors = (document: Node): Record<string, unknown> => {
  const path = ["paths", tokenPath, "post", "responses"]
  const responses = Object.entries(Object(at(document, ...path))).map(([status, response]) => [
    status,
    Number(status) >= 400 ? replaced(response, json, inOAuth(document, at(response, ...json))) : response
  ])
  return { ...document, ...Object(replaced(document, path, Object.fromEntries(responses))) }
}
