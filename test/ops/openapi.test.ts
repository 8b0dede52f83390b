/** The parts of /openapi.json that generators of clients need beside its schemas, which the fuzz test holds it to. */
import { assert, layer } from "@effect/vitest"
import { Effect, Predicate } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import { allScopes } from "../../src/services/Scopes.ts"
import { operationsOf, parseDocument } from "../support/fuzz/document.ts"
import { faultsOf } from "../support/fuzz/structure.ts"
import { makeValidator, printed } from "../support/fuzz/validate.ts"
import { routes } from "../support/routes.ts"
import { get, testServer } from "../support/server.ts"

const baseUrl = "https://auspex.example/arena"

const read = (path: string) => Effect.flatMap(get(path), ({ text }) => parseDocument(text))

/** Every object of a value, with its path. */
const objectsIn = (
  value: unknown,
  path = "#"
): ReadonlyArray<readonly [path: string, object: Readonly<Record<string, unknown>>]> => {
  if (Array.isArray(value)) return value.flatMap((item, index) => objectsIn(item, `${path}/${index}`))
  if (!Predicate.isObject(value)) return []
  const object = { ...value }
  return [
    [path, object],
    ...Object.entries(object).flatMap(([key, each]) => objectsIn(each, `${path}/${key}`))
  ]
}

layer(testServer({ environment: { AUSPEX_BASE_URL: baseUrl } }))("/openapi.json", (it) => {
  it.effect("The document names its server, its licence, and the version of the program", () =>
    Effect.gen(function* () {
      const { info, servers } = yield* read("/openapi.json")
      assert.deepStrictEqual(servers, [{ url: baseUrl }])
      assert.strictEqual(info.version, packageJson.version)
      assert.strictEqual(info.license.identifier, packageJson.license)
    })
  )

  it.effect("The document has OAuth 2's client credentials, with the token endpoint and every scope", () =>
    Effect.gen(function* () {
      const { components } = yield* read("/openapi.json")
      assert.deepNestedInclude(components.securitySchemes["oauth2"], {
        type: "oauth2",
        "flows.clientCredentials.tokenUrl": `${baseUrl}/api/v1/agent/auth/token`
      })
      const [, flow] =
        objectsIn(components.securitySchemes["oauth2"]).find(([path]) => path.endsWith("/scopes")) ?? []
      assert.deepStrictEqual(Object.keys(flow ?? {}), [...allScopes])
    })
  )

  it.effect("The document says of each operation which scope it needs, as the endpoint does", () =>
    Effect.gen(function* () {
      const operations = operationsOf(yield* read("/openapi.json"))
      for (const route of routes) {
        const path = route.template.replaceAll(/:([a-z_]+)/g, "{$1}")
        const operation = operations.find((each) => each.path === path && each.method === route.method)
        const schemes = operation?.security.map((each) => Object.keys(each).join()) ?? []
        const expected = { agent: "oauth2", administrator: "administrator", anybody: undefined }[route.caller]
        // Where a token is optional, the first scheme is none.
        assert.strictEqual(schemes[0] || undefined, expected, route.name)
        if (route.scope !== undefined) {
          assert.deepStrictEqual(operation?.security, [{ oauth2: [route.scope] }], route.name)
        }
      }
    })
  )

  it.effect("The document describes every operation, parameter and tag", () =>
    Effect.gen(function* () {
      const document = yield* read("/openapi.json")
      for (const { description, name } of document.tags) assert.isNotEmpty(description, name)
      for (const { description, operationId, parameters, summary } of operationsOf(document)) {
        assert.isNotEmpty(summary, operationId)
        assert.isNotEmpty(description, operationId)
        for (const each of parameters) assert.isNotEmpty(each.description, `${operationId} ${each.name}`)
      }
    })
  )

  it.effect("The document names the schema of every error", () =>
    Effect.gen(function* () {
      const document = yield* read("/openapi.json")
      for (const { operationId, responses } of operationsOf(document)) {
        for (const [status, { content }] of Object.entries(responses)) {
          if (Number(status) < 400) continue
          const schema = content?.["application/json"]?.schema ?? {}
          for (const option of schema.anyOf ?? [schema])
            assert.isString(option.$ref, `${operationId} ${status}`)
        }
      }
      assert.deepStrictEqual(
        Object.keys(document.components.schemas).filter((name) => name.endsWith("Encoded")),
        []
      )
    })
  )

  it.effect("The document closes tuples, and has no bound that every integer has, nor a choice of one", () =>
    Effect.gen(function* () {
      for (const [path, object] of objectsIn(yield* read("/openapi.json"))) {
        if ("prefixItems" in object) assert.isFalse(object["items"], path)
        assert.notStrictEqual(object["minimum"], Number.MIN_SAFE_INTEGER, path)
        assert.notStrictEqual(object["maximum"], Number.MAX_SAFE_INTEGER, path)
        if (Array.isArray(object["anyOf"])) {
          const options = object["anyOf"].map((option) => JSON.stringify(option))
          assert.isAbove(options.length, 1, path)
          assert.strictEqual(new Set(options).size, options.length, path)
        }
      }
    })
  )

  it.effect("The document shows examples that its schemas allow, of calls that were made", () =>
    Effect.gen(function* () {
      const document = yield* read("/openapi.json")
      const [sent, answered] = [makeValidator(document, "ignored"), makeValidator(document, "wrong")]
      let shown = 0
      for (const { operationId, requestBody, responses } of operationsOf(document)) {
        const bodies = [
          ...Object.values(requestBody?.content ?? {}).map((media) => [media, sent] as const),
          ...Object.values(responses).flatMap(({ content }) =>
            Object.values(content ?? {}).map((media) => [media, answered] as const)
          )
        ]
        for (const [{ example, schema }, problems] of bodies) {
          if (example === undefined) continue
          shown += 1
          assert.deepStrictEqual(problems(schema, example).map(printed), [], operationId)
        }
      }
      assert.isAtLeast(shown, 33)
      const written = JSON.stringify(document)
      assert.notMatch(written, /aus_(cs|gw|cl)_\w/)
      assert.notInclude(written, "127.0.0.1")
    })
  )

  it.effect("The document for agents leaves out what only administrators call, and nothing else", () =>
    Effect.gen(function* () {
      const whole = yield* read("/openapi.json")
      const agents = yield* read("/openapi.json?for=agents")
      const paths = Object.keys(whole.paths)
      assert.deepStrictEqual(
        Object.keys(agents.paths),
        paths.filter((path) => !path.startsWith("/api/v1/admin/"))
      )
      assert.isBelow(Object.keys(agents.paths).length, paths.length)
      assert.notProperty(agents.components.securitySchemes, "administrator")
      assert.deepStrictEqual(faultsOf(agents, operationsOf(agents)), [])
      // The document has nothing that only administration refers to.
      const references = new Set(objectsIn(agents).map(([, object]) => object["$ref"]))
      for (const name of Object.keys(agents.components.schemas)) {
        assert.isTrue(references.has(`#/components/schemas/${name}`), name)
      }
      assert.deepStrictEqual(
        agents.tags.map(({ name }) => name),
        whole.tags.map(({ name }) => name).filter((name) => name !== "Administration")
      )
      assert.strictEqual((yield* get("/openapi.json?for=everybody")).status, 400)
    })
  )
})
