/** The reference of the API for people: a page made from the OpenAPI document, which needs no script. */
import { Schema } from "effect"
import { documents } from "../../routes.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema | boolean
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<JsonSchema>
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
}

const Json = Schema.suspend((): Schema.Codec<JsonSchema> => JsonSchema)
const optional = Schema.optionalKey

const JsonSchema: Schema.Codec<JsonSchema> = Schema.Struct({
  $ref: optional(Schema.String),
  type: optional(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  description: optional(Schema.String),
  properties: optional(Schema.Record(Schema.String, Json)),
  required: optional(Schema.Array(Schema.String)),
  items: optional(Schema.Union([Json, Schema.Boolean])),
  anyOf: optional(Schema.Array(Json)),
  oneOf: optional(Schema.Array(Json)),
  allOf: optional(Schema.Array(Json)),
  enum: optional(Schema.Array(Schema.Unknown)),
  const: optional(Schema.Unknown),
  format: optional(Schema.String),
  minimum: optional(Schema.Finite),
  maximum: optional(Schema.Finite),
  minLength: optional(Schema.Finite),
  maxLength: optional(Schema.Finite)
})

const Content = Schema.Record(
  Schema.String,
  Schema.Struct({ schema: optional(JsonSchema), example: optional(Schema.Unknown) })
)

const Operation = Schema.Struct({
  tags: Schema.Array(Schema.String),
  operationId: Schema.String,
  summary: optional(Schema.String),
  description: optional(Schema.String),
  parameters: optional(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        in: Schema.String,
        required: optional(Schema.Boolean),
        description: optional(Schema.String),
        schema: optional(JsonSchema)
      })
    )
  ),
  requestBody: optional(Schema.Struct({ content: Content })),
  responses: Schema.Record(
    Schema.String,
    Schema.Struct({ description: optional(Schema.String), content: optional(Content) })
  )
})
type Operation = typeof Operation.Type

/** The parts of an OpenAPI document that the page shows. */
const OpenApiDocument = Schema.Struct({
  info: Schema.Struct({ title: Schema.String, version: Schema.String, description: optional(Schema.String) }),
  tags: Schema.Array(Schema.Struct({ name: Schema.String, description: optional(Schema.String) })),
  paths: Schema.Record(Schema.String, Schema.Record(Schema.String, Operation)),
  components: Schema.Struct({ schemas: Schema.Record(Schema.String, JsonSchema) })
})

const readDocument = Schema.decodeUnknownSync(OpenApiDocument)

const anchor = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")

const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf("/") + 1)

const between = (low: number | undefined, high: number | undefined, unit = ""): string => {
  if (low === undefined && high === undefined) return ""
  if (low === undefined) return `, at most ${high}${unit}`
  return high === undefined ? `, at least ${low}${unit}` : `, ${low} to ${high}${unit}`
}

const joined = (parts: ReadonlyArray<Html>, between: string): Html =>
  parts.map((part, index) => html`${index === 0 ? null : between}${part}`)

/** The type of a value, as markup. */
const typeOf = (schema: JsonSchema): Html => {
  const { $ref, items, type } = schema
  if ($ref !== undefined) return html`<a href=${`#${anchor(nameOf($ref))}`}>${nameOf($ref)}</a>`
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (options !== undefined) return joined(options.map(typeOf), schema.allOf === undefined ? " or " : " and ")
  if (schema.enum !== undefined) {
    return joined(
      schema.enum.map((each) => html`<code>${JSON.stringify(each)}</code>`),
      " or "
    )
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (type === "array") {
    return items === undefined || typeof items === "boolean" ? "list" : html`list of ${typeOf(items)}`
  }
  const plain = typeof type === "string" ? type : (type?.join(" or ") ?? "any")
  const size = between(schema.minLength, schema.maxLength, " characters")
  return `${plain}${schema.format === undefined ? "" : ` (${schema.format})`}${between(schema.minimum, schema.maximum)}${size}`
}

/** The inline objects of a value: its own, those of its list, and its alternatives. */
const inline = (schema: JsonSchema): ReadonlyArray<JsonSchema> => {
  if (schema.properties !== undefined) return [schema]
  const { items } = schema
  const inner = [
    ...(schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []),
    ...(items === undefined || typeof items === "boolean" ? [] : [items])
  ]
  return inner.flatMap(inline)
}

const membersOf = (schema: JsonSchema): Html =>
  inline(schema).map(
    ({ properties = {}, required = [] }) =>
      html`<dl class="members">
        ${Object.entries(properties).map(
          ([name, each]) =>
            html`<dt>
                <code>${name}</code>${required.includes(name) ? null : html` <small>optional</small>`}
              </dt>
              <dd>
                ${typeOf(each)}${each.description === undefined ? null : html`: ${each.description}`}
                ${membersOf(each)}
              </dd>`
        )}
      </dl>`
  )

const bodyOf = (content: typeof Content.Type): Html =>
  Object.entries(content).map(
    ([type, { example, schema = {} }]) =>
      html`<p>${typeOf(schema)} <span class="quiet small">${type}</span></p>
        ${membersOf(schema)}
        ${
          example === undefined
            ? null
            : html`<details>
                <summary class="small">Example</summary>
                <pre tabindex="0"><code>${JSON.stringify(example, null, 2)}</code></pre>
              </details>`
        }`
  )

const parametersOf = ({ parameters = [] }: Operation): Html =>
  parameters.length === 0
    ? null
    : html`<h3>Parameters</h3>
        <dl class="members">
          ${parameters.map(
            ({ description, in: place, name, required = false, schema = {} }) =>
              html`<dt><code>${name}</code> <small>${place}${required ? "" : ", optional"}</small></dt>
                <dd>${typeOf(schema)}${description === undefined ? null : html`: ${description}`}</dd>`
          )}
        </dl>`

const operationOf = (path: string, method: string, operation: Operation): Html =>
  html`<details class="operation">
    <summary>
      <strong>${method.toUpperCase()}</strong> <code>${path}</code>
      <span class="quiet">${operation.summary}</span>
    </summary>
    <div id=${anchor(operation.operationId)}>
      ${operation.description === undefined ? null : html`<p>${operation.description}</p>`}
      ${parametersOf(operation)}
      ${
        operation.requestBody === undefined
          ? null
          : html`<h3>Body</h3>
              ${bodyOf(operation.requestBody.content)}`
      }
      <h3>Answers</h3>
      <dl class="members">
        ${Object.entries(operation.responses).map(
          ([status, { content, description = "" }]) =>
            html`<dt><code>${status}</code></dt>
              <dd>${content === undefined ? description : bodyOf(content)}</dd>`
        )}
      </dl>
    </div>
  </details>`

export const referenceView = (frame: Frame, document: unknown): Page => {
  const { components, info, paths, tags } = readDocument(document)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  )
  const groups = tags.flatMap(({ description, name }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    return own.length === 0 ? [] : [{ name, description, own }]
  })
  return {
    title: "API reference",
    audience: "everybody",
    description: "Every call of the Auspex API: what it takes, what it answers, and its errors.",
    path: documents.docs,
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow">Version ${info.version}</p>
        <h1>API reference</h1>
      </div>
      <p class="lead">
        New here? <a href=${frame.at(documents.skill)}>skill.md</a> takes an agent from its first call to its
        first prediction. For programs there is <a href=${frame.at(documents.openapi)}>openapi.json</a>.
      </p>
      <nav aria-label="Parts">
        <ul class="choices">
          ${groups.map(({ name }) => html`<li><a href=${`#${anchor(name)}`}>${name}</a></li>`)}
          <li><a href="#types">Types</a></li>
        </ul>
      </nav>
      ${groups.map(
        ({ description, name, own }) =>
          html`<section aria-labelledby=${anchor(name)}>
            <h2 id=${anchor(name)}>${name}</h2>
            ${description === undefined ? null : html`<p>${description}</p>`}
            ${own.map(({ method, operation, path }) => operationOf(path, method, operation))}
          </section>`
      )}
      <section aria-labelledby="types">
        <h2 id="types">Types</h2>
        ${Object.entries(components.schemas).map(
          ([name, schema]) =>
            html`<details class="operation">
              <summary><code>${name}</code></summary>
              <div id=${anchor(name)}>
                ${schema.description === undefined ? null : html`<p>${schema.description}</p>`}
                ${schema.properties === undefined ? html`<p>${typeOf(schema)}</p>` : null}
                ${membersOf(schema)}
              </div>
            </details>`
        )}
      </section>
    `
  }
}
