/**
 * Nobody can read or guess the open predictions of others, nor work them out from the movements of public data. The test crawls
 * everything that is public, or that another agent can read, before the deadline; the same crawl finds the predictions after it.
 */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import canonicalize from "canonicalize"
import { DateTime, Effect, Schema, Predicate } from "effect"
import { SqlClient } from "effect/sql"
import { settings } from "../../src/config.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Targets } from "../../src/services/Targets.ts"
import { pageMethods, pagePaths } from "../../src/http/site/paths.ts"
import { assets } from "../../src/http/site/assets/assets.ts"
import { documents, logPaths } from "../../src/http/routes.ts"
import { claim, onboard, onboardClaimed } from "../support/agents.ts"
import { openChallenge, freshWeek, moveTo, newMacro, newPriceEvent, plus } from "../support/challenges.ts"
import { breadth, oneIn } from "../support/breadth.ts"
import { fund } from "../support/credit.ts"
import { rowsOf } from "../support/database.ts"
import { revealAll, sequenceAll } from "../support/loggedFixture.ts"
import { get, post, testServer, TestServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { tournament } from "../support/tournaments.ts"

/**
 * Reads everything that a stranger, or an agent, can read: every GET of the OpenAPI document with all known identifiers,
 * page after page, the pages for people, and the whole log with its tiles and entries.
 */
interface Read {
  /** The path as the document, or the router, writes it. */
  readonly template: string
  readonly path: string
  readonly status: number
  readonly text: string
}

/** The values for a path or a query, by the name of the parameter. */
type Known = Readonly<Record<string, ReadonlyArray<string>>>

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
const tilesOf = (size: number): ReadonlyArray<string> => {
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

/** Queries that pages take. */
const choices: Readonly<Record<string, ReadonlyArray<string>>> = {
  [pagePaths.challenges]: [
    ...["open", "closed", "resolved", "ended"].map((status) => `status=${status}`),
    ...["directional", "macro", "price_event"].map((type) => `type=${type}`)
  ],
  [pagePaths.asset]: ["range=3m"],
  [pagePaths.search]: ["q=gold"],
  [pagePaths.leaderboard]: ["category=commodities"],
  [pagePaths.events]: ["space=finance"]
}

/** Everything readable, without a token or with one. */
const crawl = Effect.fnUntraced(function* (known: Known, token: string | undefined) {
  const { url } = yield* TestServer
  const reads: Array<Read> = []
  const options = token === undefined ? {} : { token }
  const read = Effect.fnUntraced(function* (path: string, template = path) {
    const answer = yield* get(path, options)
    // A stream draws its retry time at random.
    const text = answer.text.replace(/^retry: \d+\n/, "")
    reads.push({ template, path, status: answer.status, text })
    return answer
  })

  const { json } = yield* get(documents.openapi)
  const { paths } = yield* Effect.orDie(Schema.decodeUnknownEffect(Document)(json))
  for (const [template, { get: operation }] of Object.entries(paths)) {
    if (operation === undefined || template.startsWith("/api/v1/admin/")) continue
    const queries = (operation.parameters ?? []).filter((parameter) => parameter.in === "query")
    for (const path of filled(template, known)) {
      const wide = queries.some(({ name }) => name === "limit") ? ["limit=1"] : []
      const filters = oneIn(
        3,
        queries.flatMap(({ name }) => (known[name] ?? []).map((value) => `${name}=${value}`))
      )
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
  // Pages, documents and the log know no token.
  if (token !== undefined) return reads
  for (const [template, methods] of Object.entries(pageMethods)) {
    if (!methods.includes("GET")) continue
    for (const path of filled(template, known)) {
      yield* read(path, template)
      for (const choice of oneIn(3, choices[template] ?? [])) yield* read(`${path}?${choice}`, template)
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
    // Byte by byte, so that text in it is found, and once more in hexadecimal.
    const text = `${bytes.body.toString("latin1")}\n${bytes.body.toString("hex")}`
    reads.push({ template: path, path, status: bytes.status, text })
  }
  return reads
})

const Sealed = Schema.Struct({
  id: Schema.String,
  agent_id: Schema.String,
  salt: Schema.String,
  body: Schema.String,
  commit: Schema.String,
  reasoning: Schema.String,
  received_at: Schema.String,
  confidence: Schema.String
})
type Sealed = typeof Sealed.Type

const predictions = rowsOf(
  Sealed,
  (sql) => sql`
    select id::text, agent_id::text, encode(salt, 'hex') as salt, convert_from(body, 'UTF8') as body,
           encode(commit, 'hex') as commit, reasoning, trim_scale(coalesce(confidence, predicted_value))::text as confidence,
           to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as received_at
      from predictions order by id`
)

const encodings = (hex: string): ReadonlyArray<string> => {
  const bytes = Buffer.from(hex, "hex")
  return [
    hex,
    hex.toUpperCase(),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("latin1")
  ]
}

/** Everything that nobody else may read, by its name. The confidences, values and reasons occur nowhere else. */
const secretsOf = (sealed: Sealed): Readonly<Record<string, ReadonlyArray<string>>> => ({
  "the salt": encodings(sealed.salt),
  "the body": [
    sealed.body,
    JSON.stringify(sealed.body).slice(1, -1),
    Buffer.from(sealed.body).toString("base64"),
    Buffer.from(sealed.body).toString("hex")
  ],
  "the reasoning": [sealed.reasoning],
  "the hash of the reasoning": encodings(createHash("sha256").update(sealed.reasoning).digest("hex")),
  "the confidence or the value": [sealed.confidence],
  "the time of receipt": [sealed.received_at],
  "the prediction's id": [sealed.id]
})

/** The entries of a log bundle, each behind the two bytes of its length. Some name agents and others commits, so each is searched by itself. */
const partsOf = ({ path, text }: Read): ReadonlyArray<string> =>
  path.startsWith("/log/tile/entries/") ? text.split(/(?<=\})[^]{2}(?=\{")/) : [text]

const leaksIn = (reads: ReadonlyArray<Read>, all: ReadonlyArray<Sealed>): ReadonlyArray<string> =>
  reads.flatMap((read) => {
    const { path, text } = read
    const parts = partsOf(read)
    return all.flatMap((sealed) => {
      const found = Object.entries(secretsOf(sealed))
        .filter(([, forms]) => forms.some((form) => text.includes(form)))
        .map(([what]) => what)
      const isLinked = parts.some((part) => part.includes(sealed.agent_id) && part.includes(sealed.commit))
      return [...found, ...(isLinked ? ["whose commit it is"] : [])].map((what) => `${path}: ${what}`)
    })
  })

/** Every value of 32 bytes in these reads. */
const hashesIn = (reads: ReadonlyArray<Read>): ReadonlySet<string> =>
  new Set(
    reads.flatMap(({ text }) => text.toLowerCase().match(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g) ?? [])
  )

const domain = "auspex/commit/v1\0"
const sha256 = (...parts: ReadonlyArray<string | Uint8Array>) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("hex")
}

/** Confidences that a guess tries, in hundredths; 97 is the victims'. */
const likely = breadth(
  [0, 25, 50, 75, 97, 100],
  Array.from({ length: 101 }, (_, index) => index)
)

/** The guesses of somebody who knows all of a prediction but its direction, its confidence and its salt. */
const guesses = (sealed: Sealed, salts: ReadonlyArray<Uint8Array>): ReadonlySet<string> => {
  const known = Object.fromEntries(Object.entries(JSON.parse(sealed.body)))
  const found = new Set<string>()
  for (const direction of ["bullish", "bearish", "neutral"]) {
    for (const hundredths of likely) {
      const values = { direction, confidence: hundredths / 100 }
      const body = canonicalize({ ...known, values }) ?? ""
      for (const salt of salts) found.add(sha256(domain, salt, body)).add(sha256(salt, body))
      found
        .add(sha256(domain, body))
        .add(sha256(body))
        .add(sha256(canonicalize(values) ?? ""))
    }
  }
  return found
}

const commentBy = (token: string, news_id: string) =>
  Effect.map(
    post("/api/v1/agent/comments", { token, json: { news_id, content: "Who knows?" } }),
    ({ json }) => String(json["comment_id"])
  )

const webhookBy = (token: string) =>
  Effect.map(
    post("/api/v1/agent/webhooks", {
      token,
      json: { url: "https://hooks.example.com/", types: ["challenge.opened"] }
    }),
    ({ json }) => String(json["webhook_id"])
  )

/** Paths that have nothing behind them yet, or only with another's secret. */
const nothingToRead: ReadonlyArray<string> = [
  "/api/v1/llm/keys/{key_id}",
  // A comparison needs two agents.
  "/api/v1/eval/compare",
  "/api/v1/log/settlement/{challenge_id}",
  "/api/v1/llm/v1/models/{model}",
  "/claim/:token",
  "/claim/mail/:token",
  "/claim/mail/:token/not-mine",
  "/sign-in/:token",
  "/sign-in/oidc/begin",
  "/sign-in/oidc/callback",
  "/unsubscribe/:mail/:token",
  // The operator has no such text.
  "/legal/:name"
]

/** Counts move as they do by default, and odds in the same way. */
const steps = settings.countsEvery.defaultText ?? ""
const server = testServer({ environment: { AUSPEX_COUNTS_EVERY: steps, AUSPEX_ODDS_EVERY: steps } })

/** The values of parameters that reveal nothing of a prediction. */
const knownToAll = {
  token: ["x".repeat(43)],
  asset: ["GC"],
  name: ["terms"],
  event_id: ["opec"],
  news_id: ["opec"],
  key_id: ["self"],
  status: ["open", "closed"],
  category: ["commodities"],
  slug: ["world-cup"],
  model: ["swift-1"],
  mail: ["digest"],
  format: ["atom", "json"]
} as const

layer(server)("An open prediction", (it) => {
  it.effect("An open prediction can neither be read nor guessed by anybody else before the deadline", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const sql = yield* SqlClient.SqlClient
      const deadline = plus(monday, "30 minutes")
      const times = { deadline: DateTime.formatIso(deadline), resolve_at: DateTime.formatIso(deadline) }
      const requested_scopes = ["prediction:submit", "credits:stake"]
      const victims = [
        yield* onboard({ name: "Vera", requested_scopes }),
        yield* onboard({ name: "Vito", requested_scopes })
      ]
      const spy = yield* onboardClaimed({ name: "Spy" })
      for (const { agentId } of victims) yield* claim(agentId)
      yield* sql`
          insert into events (id, title, published_at, spaces, assets, created_at, updated_at)
          values ('opec', 'OPEC meets', ${DateTime.toDateUtc(monday)}, '{finance}', '{GC}', ${DateTime.toDateUtc(monday)},
                  ${DateTime.toDateUtc(monday)})`
      const challenges = [yield* openChallenge({ ...times, event_id: "opec" }), yield* openChallenge(times)]
      const pool = yield* newMacro({ deadline })
      const event = yield* newPriceEvent({ kind: "numeric_close", deadline })

      let minute = 1
      const send = (token: string, path: string, values: Readonly<Record<string, unknown>>) =>
        Effect.gen(function* () {
          yield* moveTo(plus(monday, { minutes: minute, milliseconds: 100 + minute }))
          minute += 1
          const answer = yield* post(`/api/v1/eval/${path}`, { token, json: values })
          assert.isBelow(answer.status, 300, answer.text)
        })
      const predict = (token: string, challenge: string, values: Readonly<Record<string, unknown>>) =>
        send(token, `challenges/${challenge}/predict`, values)
      for (const [number, { token }] of victims.entries()) {
        for (const [place, { id }] of challenges.entries()) {
          const values = {
            direction: place === 0 ? "bearish" : "bullish",
            confidence: Number(`0.8${number}${place}91`),
            reasoning: `reason ${number}${place} of nobody else`
          }
          yield* predict(token, id, values)
          // The guesses include this confidence.
          yield* predict(token, id, {
            direction: "neutral",
            confidence: 0.97,
            is_revision: true,
            reasoning: `revised reason ${number}${place}`
          })
        }
      }
      for (const [number, { agentId, token }] of victims.entries()) {
        yield* fund(`agent:${agentId}`, 100)
        const path = `macro/challenges/${pool.id}`
        // Each forecast is on a bin of its own.
        const predicted_value = Number(`${3 - number}.1${number}0791`)
        const rationale = `reason ${number} of a forecast`
        yield* send(token, `${path}/predict`, { predicted_value, predicted_std: 0.1, rationale })
        yield* send(token, `${path}/stake`, { predicted_value, amount: 50 })
      }
      for (const [number, { agentId, token }] of victims.entries()) {
        yield* Targets.use((targets) => targets.subscribe(AgentId.make(agentId), "ETH"))
        yield* send(token, `price-events/challenges/${event.id}/predict`, {
          predicted_value: Number(`2${number}47.30791`),
          predicted_std: 40,
          reasoning: `reason ${number} of a close`
        })
      }
      const theirs = yield* predictions
      assert.lengthOf(theirs, 12)
      yield* predict(spy.token, challenges[0]?.id ?? "", { direction: "bullish", confidence: 0.5 })
      yield* sequenceAll

      const known: Known = {
        ...knownToAll,
        challenge_id: [...challenges, pool, event].map(({ id }) => id),
        agent_id: [...victims.map(({ agentId }) => agentId), spy.agentId],
        commit: oneIn(4, theirs).map(({ commit }) => commit),
        leaf_index: oneIn(
          4,
          theirs.map((_, place) => String(place))
        ),
        comment_id: [yield* commentBy(spy.token, "opec")],
        webhook_id: [yield* webhookBy(spy.token)]
      }
      yield* post("/api/v1/admin/archive", { token: testAdminToken, json: tournament() })
      // 0.97 stands in every page's style, so the search is for the form that only predictions have.
      const unusual = theirs.map((sealed) => ({
        ...sealed,
        confidence: sealed.confidence === "0.97" ? `"confidence":0.97` : sealed.confidence
      }))
      const reads = [...(yield* crawl(known, undefined)), ...(yield* crawl(known, spy.token))]
      assert.deepStrictEqual(leaksIn(reads, unusual), [])
      assert.deepStrictEqual(
        reads.filter(({ status }) => status >= 500),
        []
      )
      const answered = new Set(reads.filter(({ status }) => status < 400).map(({ template }) => template))
      const templates = new Set(reads.map(({ template }) => template))
      assert.deepStrictEqual(
        [...templates].filter((template) => !answered.has(template)),
        nothingToRead
      )

      // The crawl sees what is public: each commit in the log, and how many predictions there are.
      const seen = hashesIn(reads)
      for (const { commit } of theirs) assert.isTrue(seen.has(commit))
      const shown = (yield* get(`/api/v1/eval/challenges?event_id=opec`)).text
      assert.include(shown, '"prediction_count":3,"bullish_count":0,"bearish_count":0,"neutral_count":0')
      const odds = reads.find(({ status, template }) => template.endsWith("/odds") && status === 200)
      assert.include(odds?.text, '"total":0,"stakers":0')

      const publicBytes = [...seen].map((hash) => Buffer.from(hash, "hex"))
      for (const sealed of theirs.filter(({ confidence }) => confidence === "0.97")) {
        const tried = guesses(sealed, [Buffer.alloc(32), Buffer.alloc(0), ...publicBytes])
        assert.isAtLeast(tried.size, 6 * likely.length * publicBytes.length)
        assert.deepStrictEqual(
          [...tried].filter((guess) => seen.has(guess)),
          []
        )
        // With the salt a commit is one of about 300 guesses: only the salt protects it.
        assert.isTrue(guesses(sealed, [Buffer.from(sealed.salt, "hex")]).has(sealed.commit))
      }
      assert.strictEqual(new Set(theirs.map(({ salt }) => salt)).size, theirs.length)

      // All of it is public from the deadline on, and the same crawl finds it.
      yield* moveTo(plus(deadline, "1 minute"))
      yield* post("/api/v1/admin/settle", { token: testAdminToken })
      assert.include(
        (yield* get(`/api/v1/eval/challenges?event_id=opec`)).text,
        '"prediction_count":3,"bullish_count":1,"bearish_count":0,"neutral_count":2'
      )
      assert.include(
        (yield* get(`/api/v1/eval/macro/challenges/${pool.id}/odds`)).text,
        '"total":100,"stakers":2'
      )
      yield* revealAll
      const later = leaksIn(yield* crawl(known, undefined), unusual)
      for (const what of [
        "the salt",
        "the body",
        "the reasoning",
        "the confidence or the value",
        "whose commit it is"
      ]) {
        assert.isTrue(
          later.some((line) => line.endsWith(what)),
          what
        )
      }
    })
  )
})

/** Reports of an instance about itself, which change by being read. */
const ofTheInstance = /^(\/metrics|\/health\/)/

/** Values that belong to a request, not to the page. */
const drawnAnew = /<code>[0-9a-f-]{36}<\/code>|name="form_token" value="[^"]*"/g

/** The content of each path without the parts that every read changes. */
const bytesOf = (reads: ReadonlyArray<Read>) =>
  reads
    .filter(({ path }) => !ofTheInstance.test(path))
    .map(({ path, text }) => ({ path, text: text.replaceAll(drawnAnew, "") }))

layer(server)("Polling of public data around a single prediction", (it) => {
  it.effect("Polling tells that a prediction came, but not its direction, and no revision or stake", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const sql = yield* SqlClient.SqlClient
      const deadline = plus(monday, "1 day")
      const times = { deadline: DateTime.formatIso(deadline), resolve_at: DateTime.formatIso(deadline) }
      const requested_scopes = ["prediction:submit", "credits:stake"]
      const agents = yield* Effect.forEach(["A", "B", "C", "D", "E", "F"], (name) =>
        onboard({ name, requested_scopes })
      )
      const spy = yield* onboard({ name: "Spy" })
      for (const { agentId } of [...agents, spy]) yield* claim(agentId)
      for (const { agentId } of agents) {
        yield* fund(`agent:${agentId}`, 100)
        yield* Targets.use((targets) => targets.subscribe(AgentId.make(agentId), "ETH"))
      }
      yield* sql`
          insert into events (id, title, published_at, spaces, assets, created_at, updated_at)
          values ('opec', 'OPEC meets', ${DateTime.toDateUtc(monday)}, '{finance}', '{GC}', ${DateTime.toDateUtc(monday)},
                  ${DateTime.toDateUtc(monday)})`
      const challenge = yield* openChallenge({ ...times, event_id: "opec" })
      const pool = yield* newMacro({ deadline })
      const barrier = yield* newPriceEvent({ kind: "barrier", deadline })
      yield* Targets.use((targets) => targets.subscribe(AgentId.make(spy.agentId), "GC"))
      yield* post("/api/v1/admin/archive", { token: testAdminToken, json: tournament() })
      yield* sequenceAll
      const known: Known = {
        ...knownToAll,
        challenge_id: [challenge, pool, barrier].map(({ id }) => id),
        agent_id: [...oneIn(3, agents), spy].map(({ agentId }) => agentId),
        commit: ["0".repeat(64)],
        leaf_index: ["0"],
        comment_id: [yield* commentBy(spy.token, "opec")],
        webhook_id: [yield* webhookBy(spy.token)]
      }
      const everything = Effect.map(Effect.all([crawl(known, undefined), crawl(known, spy.token)]), (walks) =>
        bytesOf(walks.flat())
      )
      /** Polls the lists and the results, without the number of predictions. */
      const poll = Effect.forEach(
        ["challenges", "challenges/active", `challenges/${challenge.id}/results`],
        (path) =>
          Effect.map(get(`/api/v1/eval/${path}`, { token: spy.token }), ({ text }) =>
            text.replaceAll(/"prediction_count":\d+/g, "")
          )
      )
      const send = (token: string, path: string, json: Readonly<Record<string, unknown>>) =>
        Effect.map(post(`/api/v1/eval/${path}`, { token, json }), ({ status, text }) =>
          assert.isBelow(status, 300, text)
        )
      const say = (token: string, direction: string, is_revision: boolean) =>
        send(token, `challenges/${challenge.id}/predict`, { direction, confidence: 0.5, is_revision })

      for (const [place, { token }] of agents.entries()) {
        const before = yield* poll
        yield* say(token, ["bullish", "bearish", "neutral"][place % 3] ?? "", false)
        assert.deepStrictEqual(yield* poll, before)
        yield* send(token, `macro/challenges/${pool.id}/predict`, {
          predicted_value: 3,
          predicted_std: 0.1
        })
        yield* send(token, `price-events/challenges/${barrier.id}/predict`, {
          direction: place < 3 ? "bullish" : "bearish",
          confidence: 0.5
        })
      }
      const read = yield* everything
      assert.isAbove(read.length, 200)
      assert.include(
        read.find(({ path }) => path === `/challenges/${challenge.id}`)?.text,
        "So far 6; how many say what is shown in steps until the deadline."
      )
      for (const [place, { token }] of agents.entries()) {
        yield* say(token, ["neutral", "bullish", "bearish"][place % 3] ?? "", true)
        yield* send(token, `price-events/challenges/${barrier.id}/predict`, {
          direction: "bearish",
          confidence: 0.5,
          is_revision: true
        })
        // All stakers have one owner, who may be alone on a bin.
        if (place < 4) {
          const predicted_value = [2.9, 3.05, 3.15, 3.3][place]
          yield* send(token, `macro/challenges/${pool.id}/stake`, { predicted_value, amount: 50 })
        }
      }
      const later = yield* everything
      assert.strictEqual(later.length, read.length)
      assert.deepStrictEqual(
        later.filter(({ text }, place) => text !== read[place]?.text).map(({ path }) => path),
        []
      )
    })
  )
})

layer(testServer())("The crawl", (it) => {
  it.effect("The crawl reads a log of any size: full tiles, partial ones, and all levels", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(tilesOf(0), [])
      assert.deepStrictEqual(tilesOf(257), [
        "/log/tile/entries/000",
        "/log/tile/entries/001.p/1",
        "/log/tile/0/000",
        "/log/tile/0/001.p/1",
        "/log/tile/1/000.p/1"
      ])
      assert.include(tilesOf(300_000), "/log/tile/entries/x001/171.p/224")
    })
  )
})
