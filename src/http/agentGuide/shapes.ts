/** The shape of a JSON answer in a line, as its schema has it: `{ items: [{ id, asset }], hint? }`. */
import { Predicate } from "effect"

/** Deeper members are not named; `...` stands for them. */
const deepest = 3

const member = (value: unknown, key: string): unknown =>
  Predicate.hasProperty(value, key) ? value[key] : undefined

const resolved = (document: unknown, schema: unknown): unknown => {
  const reference = member(schema, "$ref")
  if (typeof reference !== "string") return schema
  const path = reference.replace(/^#\//, "").split("/")
  return resolved(
    document,
    path.reduce<unknown>((inner, key) => member(inner, key), document)
  )
}

const inside = (document: unknown, given: unknown, depth: number): string => {
  const schema = resolved(document, given)
  const choices = member(schema, "anyOf") ?? member(schema, "oneOf")
  if (Array.isArray(choices)) {
    const shapes = choices.map((choice) => inside(document, choice, depth)).filter((shape) => shape !== "")
    return [...new Set(shapes)].join(" or ")
  }
  const items = member(schema, "items")
  if (items !== undefined) {
    const item = inside(document, items, depth)
    return item === "" ? "[]" : `[${item}]`
  }
  const properties = Object.entries(member(schema, "properties") ?? {})
  if (properties.length === 0) return ""
  if (depth === deepest) return "{ ... }"
  const required = member(schema, "required")
  const members = properties.map(([key, property]) => {
    const shape = inside(document, property, depth + 1)
    const name = Array.isArray(required) && required.includes(key) ? key : `${key}?`
    return shape === "" ? name : `${name}: ${shape}`
  })
  return `{ ${members.join(", ")} }`
}

export const shapeOf = (document: unknown, schema: unknown): string => inside(document, schema, 0)
