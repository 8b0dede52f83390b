/**
 * Reads everything that a stranger, or an agent, can read: every GET of the OpenAPI document with the identifiers that
 * there are, page after page, the pages for people, and the whole log with its tiles and entries.
 */
import { Effect, Predicate, Schema } from "effect"
import { pageMethods, pagePaths } from "../../src/http/site/paths.ts"
import { assets } from "../../src/http/site/assets/assets.ts"
import { documents, logPaths } from "../../src/http/routes.ts"
import { TestServer, get } from "./server.ts"

export interface Read {
  /** As the document, or the router, writes the path. */
  readonly template: string
  readonly path: string
  readonly status: number
  readonly text: string
}

/** What is put into a path or a query by the name of the parameter. */
export type Known = Readonly<Record<string, ReadonlyArray<string>>>

const Document = Schema.Struct({
  paths: Schema.Record(
    Schema.String,
    Schema.Struct({
      get: Schema.optionalKey(
        Schema.Struct({
          parameters: Schema.optionalKey(
            Schema.Array(
              Schema.Struct({
                name: Schema.String,
                in: Schema.String,
                required: Schema.optionalKey(Schema.Boolean)
              })
            )
          )
        })
      )
    })
  )
})

/** Every way to fill in the parameters of a template, `{name}` or `:name`. */
const filled = (template: string, known: Known): ReadonlyArray<string> => {
  const parameter = /\{([a-z_]+)\}|:([a-z_]+)/.exec(template)
  if (parameter === null) return [template]
  const name = parameter[1] ?? parameter[2] ?? ""
  const values = known[name]
  if (values === undefined) throw new Error(`say what the crawl puts in for "${name}" of ${template}`)
  return values.flatMap((value) => filled(template.replace(parameter[0], encodeURIComponent(value)), known))
}

/** Tile numbers as paths write them: 1234067 is x001/x234/067. */
const tileNumber = (n: number): string => {
  const groups = [String(n % 1000).padStart(3, "0")]
  for (let rest = Math.floor(n / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`)
  }
  return groups.join("/")
}

/** All tiles and entry bundles of a log of this size, as C2SP tlog-tiles names them. */
export const tilesOf = (size: number): ReadonlyArray<string> => {
  const paths: Array<string> = []
  const add = (kind: string | number, hashes: number) => {
    for (let n = 0; n * 256 < hashes; n++) {
      const width = Math.min(256, hashes - n * 256)
      paths.push(`/log/tile/${kind}/${tileNumber(n)}${width < 256 ? `.p/${width}` : ""}`)
    }
  }
  add("entries", size)
  for (
    let [level, hashes] = [0, size];
    hashes >= 1;
    [level, hashes] = [level + 1, Math.floor(hashes / 256)]
  ) {
    add(level, hashes)
  }
  return paths
}

/** What pages can be asked for beside their path. */
const choices: Readonly<Record<string, ReadonlyArray<string>>> = {
  [pagePaths.challenges]: [
    ...["open", "closed", "resolved", "ended"].map((status) => `status=${status}`),
    ...["directional", "macro", "price_event"].map((type) => `type=${type}`)
  ],
  [pagePaths.leaderboard]: ["category=commodities"],
  [pagePaths.events]: ["space=finance"]
}

/** Everything there is to read, as nobody or with a token. */
export const crawl = Effect.fnUntraced(function* (known: Known, token: string | undefined) {
  const { url } = yield* TestServer
  const reads: Array<Read> = []
  const asked = token === undefined ? {} : { token }
  const read = Effect.fnUntraced(function* (path: string, template = path) {
    const answer = yield* get(path, asked)
    reads.push({ template, path, status: answer.status, text: answer.text })
    return answer
  })

  const { json } = yield* get(documents.openapi)
  const { paths } = yield* Effect.orDie(Schema.decodeUnknownEffect(Document)(json))
  for (const [template, { get: operation }] of Object.entries(paths)) {
    if (operation === undefined || template.startsWith("/api/v1/admin/")) continue
    const queries = (operation.parameters ?? []).filter((parameter) => parameter.in === "query")
    for (const path of filled(template, known)) {
      const wide = queries.some(({ name }) => name === "limit") ? ["limit=1"] : []
      const filters = queries.flatMap(({ name }) => (known[name] ?? []).map((value) => `${name}=${value}`))
      for (const filter of ["", ...filters]) {
        let cursor: unknown
        do {
          const parts = [...wide, filter, ...(Predicate.isString(cursor) ? [`cursor=${cursor}`] : [])]
          const query = parts.filter((part) => part !== "").join("&")
          const answer = yield* read(query === "" ? path : `${path}?${query}`, template)
          cursor = answer.json["next_cursor"]
        } while (Predicate.isString(cursor))
      }
    }
  }
  for (const [template, methods] of Object.entries(pageMethods)) {
    if (!methods.includes("GET")) continue
    for (const path of filled(template, known)) {
      yield* read(path, template)
      for (const choice of choices[template] ?? []) yield* read(`${path}?${choice}`, template)
    }
  }
  for (const path of [...Object.values(documents), ...assets.map((asset) => asset.path)]) yield* read(path)
  const checkpoint = yield* read(logPaths.checkpoint)
  yield* read(logPaths.key)
  const size = Number(checkpoint.text.split("\n")[1])
  for (const path of tilesOf(size)) {
    const bytes = yield* Effect.promise(async () => {
      const response = await fetch(url + path)
      return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
    })
    // Byte by byte, so that what is text in it is found, and once more in hexadecimal.
    const text = `${bytes.body.toString("latin1")}\n${bytes.body.toString("hex")}`
    reads.push({ template: path, path, status: bytes.status, text })
  }
  return reads
})
