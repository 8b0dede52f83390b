import { assert, layer } from "@effect/vitest"
import { inject } from "vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { askForToken, issue, onboard, pass, register, submit } from "../support/agents.ts"
import { openChallenge } from "../support/challenges.ts"
import { failingAnswer, passingAnswer } from "../support/responses.ts"
import { TcpProxy, tcpProxy, proxiedServices } from "../support/tcpProxy.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"
import { get, member, metrics, post, send, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { testAdminToken, testTokenSecret } from "../support/settings.ts"
import { asOwner } from "../support/database.ts"

const token = "/api/v1/agent/auth/token"
const profile = "/api/v1/agent/profile/self"
const scopes = "/api/v1/public/prediction-scopes"

const parent = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }
const parents: ReadonlyArray<Readonly<Record<string, string>>> = [
  { traceparent: `00-${parent.traceId}-${parent.spanId}-01` },
  { traceparent: `00-${parent.traceId}-${parent.spanId}-00` },
  { b3: `${parent.traceId}-${parent.spanId}-1` },
  { "x-b3-traceid": parent.traceId, "x-b3-spanid": parent.spanId, "x-b3-sampled": "0" }
]

/** The server's spans of requests that say which trace they are part of, in each of the ways. */
const joined = Effect.gen(function* () {
  const { spans } = yield* TelemetryRecorder
  for (const [index, headers] of parents.entries()) {
    yield* get(scopes, { headers: { ...headers, "x-request-id": `parent-${index}` } })
  }
  return parents.map((_, index) =>
    spans.find(
      ({ attributes, kind }) => kind === "server" && attributes.get("request.id") === `parent-${index}`
    )
  )
})

layer(testServer().pipe(Layer.provideMerge(telemetryRecorder)))("Telemetry", (it) => {
  it.effect("A prediction is one trace of HTTP, service and SQL spans, each with the request id", () =>
    Effect.gen(function* () {
      const { spans } = yield* TelemetryRecorder
      const { id } = yield* openChallenge()
      const { token } = yield* onboard()
      yield* post(`/api/v1/eval/challenges/${id}/predict`, {
        token,
        headers: { "x-request-id": "the-prediction" },
        json: { direction: "bullish", confidence: 0.8 }
      })
      const root = spans.find(
        ({ attributes, kind }) => kind === "server" && attributes.get("request.id") === "the-prediction"
      )
      assert.strictEqual(root?.name, "POST /api/v1/eval/challenges/:challenge_id/predict")
      const trace = spans.filter(({ traceId }) => traceId === root?.traceId)
      for (const name of ["Tokens.authenticate", "RateLimiter.admitWrite", "Arenas.predict"]) {
        assert.include(
          trace.map((span) => span.name),
          name
        )
      }
      const statements = trace.filter(({ kind }) => kind === "client")
      assert.isAtLeast(statements.length, 3)
      const server = new URL(inject("runningUrl"))
      for (const { attributes } of statements) {
        assert.strictEqual(attributes.get("db.system.name"), "postgresql")
        assert.strictEqual(attributes.get("server.address"), server.hostname)
        assert.strictEqual(attributes.get("server.port"), Number(server.port))
        assert.match(String(attributes.get("db.namespace")), /^test_/)
      }
      for (const span of trace) {
        assert.strictEqual(span.attributes.get("request.id"), "the-prediction", span.name)
        assert.strictEqual(span.status._tag, "Ended", span.name)
      }
    })
  )

  it.effect("Every log line of a request has its id, and every request has one", () =>
    Effect.gen(function* () {
      const { lines } = yield* TelemetryRecorder
      const linesOf = (id: string) => lines.filter((line) => line.includes(`"request_id":"${id}"`))
      for (const [path, id] of [
        [scopes, "log-200"],
        ["/nothing", "log-404"],
        [profile, "log-401"]
      ] as const) {
        yield* get(path, { headers: { "x-request-id": id } })
        const [line = "{}", ...more] = linesOf(id)
        assert.deepStrictEqual(more, [])
        const annotations = member(JSON.parse(line), "annotations")
        assert.strictEqual(member(annotations, "path"), path)
        assert.strictEqual(member(annotations, "status"), Number(id.slice(-3)))
      }
    })
  )

  it.effect("A failure of ours is logged with its cause and the request id, and answered without", () =>
    Effect.gen(function* () {
      const { lines } = yield* TelemetryRecorder
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`alter table registration_challenges rename to mislaid`)
      const answer = yield* post("/api/v1/agent/registry/register", {
        json: { name: "Ada" },
        headers: { "x-request-id": "log-500" }
      })
      yield* asOwner(sql`alter table mislaid rename to registration_challenges`)
      assert.strictEqual(answer.status, 500)
      assert.deepStrictEqual(answer.json, {
        detail: "Something went wrong on our side; the request id names it in our log.",
        code: "internal_error"
      })
      const error = lines.find((line) => line.includes('"level":"ERROR"') && line.includes("log-500"))
      assert.include(error, "registration_challenges")
      assert.notInclude(error, "Ada")
    })
  )

  it.effect("A client's text cannot begin a log line of its own", () =>
    Effect.gen(function* () {
      const { lines } = yield* TelemetryRecorder
      yield* get(`/nothing%0a{"level":"ERROR"}%1b[31m?x=%0d%0a`, { headers: { "user-agent": "a\tb" } })
      for (const line of lines) assert.notMatch(line, /\p{Cc}/u)
    })
  )

  it.effect("A trace that a request names is not joined on a stranger's word, nor the request hidden", () =>
    Effect.gen(function* () {
      const spans = yield* joined
      for (const span of spans) {
        assert.notStrictEqual(span?.traceId, parent.traceId)
        assert.strictEqual(span?.sampled, true)
      }
      assert.strictEqual(new Set(spans.map((span) => span?.traceId)).size, parents.length)
    })
  )
})

const behindProxy = testServer({ environment: { AUSPEX_TRUSTED_PROXIES: "127.0.0.1" } })
layer(behindProxy.pipe(Layer.provideMerge(telemetryRecorder)))(
  "The trace that a trusted proxy names",
  (it) => {
    it.effect("A trace that a trusted proxy names is joined, sampled or not", () =>
      Effect.gen(function* () {
        const spans = yield* joined
        assert.deepStrictEqual(
          spans.map((span) => [span?.traceId, span?.sampled]),
          [true, false, true, false].map((isSampled) => [parent.traceId, isSampled])
        )
      })
    )
  }
)

const journey = testServer({ services: proxiedServices }).pipe(
  Layer.provideMerge(Layer.mergeAll(tcpProxy, telemetryRecorder))
)

layer(journey, { excludeTestServices: true })("Secrets", (it) => {
  it.effect("Secrets stand in the answers that hand them out, and in no other answer, log line or span", () =>
    Effect.gen(function* () {
      const { lines, spans } = yield* TelemetryRecorder
      const { whileCut } = yield* TcpProxy
      const secrets: Array<string> = [testAdminToken, testTokenSecret]
      const answers: Array<Answer> = []
      const keep = (answer: Answer) => answers.push(answer)
      const admin = { token: testAdminToken }

      const registered = yield* register({ name: "Ada" })
      const { agent_id, challenge_id, challenge_prompt } = registered
      secrets.push(registered.client_secret)
      keep(yield* submit(challenge_id, failingAnswer))
      keep(yield* askForToken(agent_id, registered.client_secret))
      const outcome = yield* pass(registered)
      assert(outcome.passed)
      const claimToken = outcome.claim_url.replace(/.*\//, "")
      secrets.push(claimToken, outcome.pairing_code, outcome.pairing_code.replace("-", ""))
      keep(yield* submit(challenge_id, passingAnswer(challenge_prompt)))
      // A page that holds its own address, in the form that it shows.
      yield* get(`/claim/${claimToken}`)
      keep(yield* get(`/nothing?claim_token=${claimToken}&pairing_code=${outcome.pairing_code}`))

      const resent = yield* post("/api/v1/agent/registry/resend-secret", {
        json: { agent_id, challenge_id }
      })
      const secret = String(resent.json["client_secret"])
      secrets.push(secret)
      const { access_token } = yield* issue(agent_id, secret)
      secrets.push(access_token)
      keep(yield* askForToken(agent_id, `${secret}x`))
      keep(yield* askForToken(secret, agent_id))
      keep(
        yield* post(token, { json: { grant_type: secret, agent_id: [secret], client_secret: { secret } } })
      )
      keep(
        yield* post(token, {
          body: `{"client_secret":"${secret}`,
          headers: { "content-type": "application/json" }
        })
      )
      keep(yield* post(token, { body: new URLSearchParams({ client_secret: secret }) }))
      keep(yield* post(token, { body: secret }))
      keep(yield* post("/api/v1/agent/registry/resend-secret", { json: { agent_id, challenge_id } }))
      keep(yield* get(profile, { token: access_token }))
      keep(yield* get(`${profile}?access_token=${access_token}`))
      keep(yield* get(profile, { token: `${access_token}x` }))
      keep(yield* get(profile, { token: secret, headers: { "x-agent-id": secret } }))
      keep(yield* get(profile, { headers: { authorization: `Basic ${access_token}` } }))
      // A 404 repeats the caller's words to it, so only log and trace are looked at.
      yield* get(`/api/v1/eval/challenges/${secret}/results`, { token: access_token })

      keep(
        yield* send("PATCH", `/api/v1/admin/agents/${agent_id}`, {
          ...admin,
          json: { suspended: false, client_secret: secret, note: `like ${claimToken}`, api_key: 'a"b\\' }
        })
      )
      keep(
        yield* send("PATCH", `/api/v1/admin/agents/${agent_id}`, { ...admin, json: { suspended: secret } })
      )
      keep(yield* get(`/api/v1/admin/agents/${agent_id}`, admin))
      const rotated = yield* post(`/api/v1/admin/agents/${agent_id}/rotate-secret`, admin)
      secrets.push(String(rotated.json["client_secret"]))
      keep(yield* get("/api/v1/admin/audit", admin))
      keep(yield* get("/api/v1/admin/audit", { token: `${testAdminToken}x` }))

      // Failures of ours are logged with their causes.
      keep(yield* whileCut(askForToken(agent_id, secret)))
      keep(
        yield* whileCut(
          register().pipe(
            Effect.sandbox,
            Effect.ignore,
            Effect.andThen(get(profile, { token: access_token }))
          )
        )
      )
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`alter table agents rename to mislaid`)
      keep(yield* askForToken(agent_id, secret))
      yield* asOwner(sql`alter table mislaid rename to agents`)
      for (const path of ["/health/ready", "/openapi.json"]) keep(yield* get(path))

      assert.isTrue(answers.some(({ status }) => status === 500))
      assert.isTrue(answers.some(({ status }) => status === 503))
      assert.isAbove(lines.length, 30)
      assert.isAbove(spans.length, 100)
      const traced = spans.map(spanText)
      const measured = yield* metrics
      for (const canary of secrets) {
        assert.notInclude(measured, canary)
        assert.isAtLeast(canary.length, 6)
        for (const { text } of answers) assert.notInclude(text, canary)
        for (const line of lines) assert.notInclude(line, canary)
        for (const span of traced) assert.notInclude(span, canary)
      }
    })
  )
})
