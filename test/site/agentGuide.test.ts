/** The guide for agents is true of this instance, and enough to go the whole way. */
import { spawnSync } from "node:child_process"
import { hash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { Config, DateTime, Effect, Layer, Data, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import packageJson from "../../package.json" with { type: "json" }
import recorded from "../../src/http/api/examples.json" with { type: "json" }
import { crps, crpsScore } from "../../src/scoring/crps.ts"
import { judge } from "../../src/scoring/registration.ts"
import { Practice } from "../../src/services/Practice.ts"
import { Settings } from "../../src/services/Settings.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"
import { claim, onboardClaimed, signInFrom } from "../support/agents.ts"
import { openChallenge, newMacro, newPriceEvent } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { operationAt, shown } from "../support/examples.ts"
import { failingAnswer, passingAnswer } from "../support/responses.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { gatewayServer } from "../support/gateway.ts"
import { completeLog } from "../support/logbook.ts"
import { freePort } from "../support/process.ts"
import { drawn, inUse } from "../support/registrationEvents.ts"
import { get, member, post, TestServer, testServer } from "../support/server.ts"
import { makeVisitor } from "../support/visitor.ts"

/**
 * A reader that knows only the guide: it takes the guide's examples, replaces their placeholders by values of earlier
 * answers, sends them, and keeps the values that the page names.
 */
interface GuideExample {
  readonly chapter: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** The statuses of success that the page names. */
  readonly statuses: ReadonlyArray<number>
  /** The names at the top of the answer on the page; empty without a body. */
  readonly members: ReadonlyArray<string>
  /** The path of a value in the answer, and its name in later examples. */
  readonly keep: ReadonlyArray<readonly [path: string, name: string]>
}

interface GuideAnswer {
  /** The body that was sent. */
  readonly request?: unknown
  readonly status: number
  readonly json: unknown
}

/** Kept values by placeholder. */
type Memory = ReadonlyMap<string, string>

class NothingThere extends Data.TaggedError("NothingThere")<{ readonly placeholder: string }> {}

const quoted = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = ""]) => found)

/** Names at the top of `{ a, b: { c }, d: [] }`. */
const topOf = (shape: string): ReadonlyArray<string> => {
  let depth = 0
  let flat = ""
  for (const character of shape.split(" or ")[0] ?? "") {
    if ("{[".includes(character)) depth += 1
    if (depth === 1 && !"{[]}".includes(character)) flat += character
    if ("}]".includes(character)) depth -= 1
  }
  return flat
    .split(",")
    .map((name) => name.replace(/:.*/s, "").trim())
    .filter((name) => name !== "" && !name.endsWith("?"))
}

const parsed = (chapter: string, command: string, after: string): GuideExample => {
  const [answers = "", kept = ""] = (after.split("```")[0] ?? "").split("**Keep**")
  return {
    chapter,
    method: /-X ([A-Z]+)/.exec(command)?.[1] ?? "GET",
    url: /curl -sS (?:-X [A-Z]+ )?"([^"]+)"/.exec(command)?.[1] ?? "",
    headers: Object.fromEntries(quoted(command, /-H "([^"]+)"/g).map((line) => line.split(": ", 2))),
    body: /-d '([^']*)'/.exec(command)?.[1],
    statuses: quoted(/Answers ([\d or]+)/.exec(answers)?.[0] ?? "", /(\d{3})/g).map(Number),
    members: topOf(/Answers [\d or]+: `([^`]*)`/.exec(answers)?.[1] ?? ""),
    keep: [...(kept.split("\n\n")[0] ?? "").matchAll(/`([^`<]+)` as `<([A-Z_]+)>`/g)].map(
      ([, path = "", name = ""]) => [path, name] as const
    )
  }
}

/** The examples of a page, in order. */
const examplesIn = (page: string): ReadonlyArray<GuideExample> =>
  page.split(/^## /m).flatMap((chapter) => {
    const [title = "", ...text] = chapter.split("\n")
    const [, ...blocks] = text.join("\n").split("```sh\n")
    return blocks.map((block) => {
      const [command = "", ...after] = block.split("\n```\n")
      return parsed(title, command, after.join("\n```\n"))
    })
  })

const placeholder = /"?<([A-Z_]+)>"?/g

/** The reader's value for a placeholder without a kept value. */
type Think = (name: string, memory: Memory, example: GuideExample) => unknown

const filled = (text: string, valueOf: (name: string) => unknown): string =>
  text.replaceAll(placeholder, (found, name: string) => {
    const value = valueOf(name)
    const [opens, closes] = [found.startsWith('"'), found.endsWith('"')]
    // A placeholder that fills a quoted text is a JSON text; within one, or without quotes, it stands as it is.
    if (opens && closes) return JSON.stringify(String(value))
    const bare = typeof value === "string" ? value : JSON.stringify(value)
    return `${opens ? '"' : ""}${bare}${closes ? '"' : ""}`
  })

const at = (json: unknown, path: string): unknown =>
  member(
    json,
    ...path.split(/[.[\]]+/).flatMap((key) => (key === "" ? [] : [/^\d+$/.test(key) ? Number(key) : key]))
  )

/** Sends an example, filled in. Fails where a placeholder has no value yet. */
const run = Effect.fnUntraced(function* (example: GuideExample, memory: Map<string, string>, think: Think) {
  const missing = quoted(`${example.url}${example.body ?? ""}`, /<([A-Z_]+)>/g).find(
    (name) => !name.startsWith("YOUR_") && !memory.has(name)
  )
  if (missing !== undefined) return yield* new NothingThere({ placeholder: missing })
  const valueOf = (name: string) => memory.get(name) ?? think(name, memory, example)
  const headers = Object.entries(example.headers).map(
    ([name, value]) => [name, filled(value, valueOf)] as const
  )
  const answer = yield* Effect.promise(async (signal): Promise<GuideAnswer> => {
    const body = example.body === undefined ? undefined : filled(example.body, valueOf)
    const response = await fetch(filled(example.url, valueOf), {
      method: example.method,
      headers: Object.fromEntries(headers),
      signal,
      ...(body !== undefined && { body })
    })
    const text = await response.text()
    return {
      ...(body !== undefined && { request: JSON.parse(body) }),
      status: response.status,
      json: text === "" ? undefined : JSON.parse(text)
    }
  })
  for (const [path, name] of example.keep) {
    Option.map(Option.fromNullishOr(at(answer.json, path)), (value) => memory.set(name, String(value)))
  }
  return answer
})

const farDeadline = DateTime.makeUnsafe("2999-01-01T00:00:00Z")
const farMonday = DateTime.makeUnsafe("3000-01-06T00:00:00Z")

const practise = Practice.use(({ makeDue }) => makeDue)

/** The world that an agent finds: an open question of every kind, and an event with a comment. */
const world = Effect.gen(function* () {
  yield* practise
  yield* openChallenge({ asset: "GC" })
  yield* newMacro({ deadline: farDeadline })
  yield* newPriceEvent({ kind: "threshold", deadline: farDeadline })
  const event = yield* newEvent({ title: "Gold at a record" })
  const author = yield* onboardClaimed({ name: "Bob" })
  yield* comment(AgentId.make(author.agentId), event)
})

/** The answers that a model would invent. Only the registration challenge needs knowledge of its subject. */
const thinking =
  (answerTo: (prompt: string) => RegistrationAnswer): Think =>
  (name, memory: Memory, example: GuideExample) => {
    if (example.chapter.includes("registration challenge")) {
      const answer = answerTo(memory.get("CHALLENGE_PROMPT") ?? "")
      const own: Readonly<Record<string, unknown>> = {
        YOUR_SUMMARY_OF_THE_EVENT: answer.event_summary,
        YOUR_LIST_OF_ASSET_KEYS: answer.market_impact.affected_assets,
        YOUR_DIRECTION: answer.market_impact.direction,
        YOUR_MAGNITUDE: answer.market_impact.magnitude,
        YOUR_REASONING: answer.market_impact.reasoning,
        YOUR_SHORT_TERM: answer.trading_implications.short_term,
        YOUR_MEDIUM_TERM: answer.trading_implications.medium_term,
        YOUR_CONFIDENCE: answer.confidence,
        YOUR_LIST_OF_RELATED_EVENTS: answer.related_events
      }
      return own[name]
    }
    const others: Readonly<Record<string, unknown>> = {
      YOUR_NAME: "Ada",
      YOUR_BIO: "Reads metals and rates, says how sure it is",
      YOUR_MODEL_PROVIDER: "Example",
      YOUR_MODEL_NAME: "example-1",
      YOUR_REASONING: `Real yields rise while "safe" demand fades, which weighs on the price.`,
      YOUR_COMMENT: "A record on thin volume: half of it may come back.",
      YOUR_REPLY: "Volume was thin in spring, too, and it held.",
      YOUR_PREDICTED_DIRECTION: "bearish",
      YOUR_YES_OR_NO: "bullish",
      YOUR_CONFIDENCE: 0.7,
      YOUR_VALUE: 3.1,
      YOUR_STANDARD_DEVIATION: 0.1
    }
    return others[name] ?? `what I think: "${name}"`
  }
const thoughts = thinking(passingAnswer)
const noThoughts = thinking(() => failingAnswer)

/** A server that knows its own address, so that its links can be followed. */
const server = Layer.unwrap(
  Effect.map(freePort, (port) =>
    testServer({ port, environment: { AUSPEX_BASE_URL: `http://127.0.0.1:${port}` } })
  )
)

const guide = Effect.map(get("/skill.md"), ({ text }) => text)

/** The room that an agent gives the guide, in tokens of o200k_base: a longer page is cut, or not read. */
const maxTokens = 8500

layer(server)("The guide for agents", (it) => {
  it.effect("Every example of the guide runs, in order, and answers as the page says", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-03-02T14:30:00Z")))
      yield* world
      const examples = examplesIn(yield* guide)
      assert.isAtLeast(examples.length, 30)
      const memory = new Map<string, string>()
      const { json: document } = yield* get("/openapi.json")
      const { url } = yield* TestServer
      const made = new Map<string, object>()
      for (const example of examples) {
        const name = `${example.chapter}: ${example.method} ${example.url}`
        // These steps need a person, or time.
        if (example.chapter.includes("After the claim") && !memory.has("CLAIMED")) {
          const agentId = memory.get("AGENT_ID") ?? ""
          yield* claim(agentId)
          yield* fund(`agent:${agentId}`, 500)
          memory.set("CLAIMED", "yes")
        }
        if (example.url.includes("/log/")) yield* completeLog
        const answer = yield* run(example, memory, thoughts)
        assert.include(example.statuses, answer.status, `${name} ${JSON.stringify(answer.json)}`)
        for (const each of example.members) assert.property(answer.json, each, name)
        for (const [, kept] of example.keep) assert.isTrue(memory.has(kept), `${name} keeps ${kept}`)
        // Each agent answers the registration challenge in its own way.
        if (example.url === "<SUBMIT_URL>") continue
        const path = example.url.replace(url, "").replace(/\?.*/, "")
        made.set(operationAt(document, example.method, path), {
          ...(answer.request !== undefined && { request: shown(answer.request, url) }),
          status: answer.status,
          ...(answer.json !== undefined && { answer: shown(answer.json, url) })
        })
      }
      // The document's examples are the answers that were recorded here; RECORD_EXAMPLES=true records them again.
      if (yield* Config.Boolean("RECORD_EXAMPLES").pipe(Config.withDefault(false))) {
        const file = new URL("../../src/http/api/examples.json", import.meta.url)
        writeFileSync(file, `${JSON.stringify(Object.fromEntries(made), null, 2)}\n`)
      } else {
        assert.sameMembers(Object.keys(recorded), [...made.keys()])
      }
    })
  )

  it.effect("A numeric price event is answered by the body that the guide gives", () =>
    Effect.gen(function* () {
      const text = yield* guide
      const body = /by a figure, with the body `([^`]+)`/.exec(text)?.[1] ?? ""
      const { token } = yield* onboardClaimed({ name: "Carl" })
      for (const kind of ["numeric_close", "count_days"] as const) {
        const { asset, id } = yield* newPriceEvent({ kind, deadline: farDeadline, resolve_at: farMonday })
        yield* post(`/api/v1/agent/prediction-scope/${asset}`, { token })
        const path = `/api/v1/eval/price-events/challenges/${id}/predict`
        const answer = yield* post(path, { token, json: JSON.parse(filled(body, () => "why")) })
        assert.strictEqual(answer.status, 201, answer.text)
      }
    })
  )

  it.effect("The receipt of a prediction is checked by the lines that the guide gives", () =>
    Effect.gen(function* () {
      const lines = /```python\n([^]*?)```/.exec(yield* guide)?.[1] ?? ""
      const { id } = yield* openChallenge({ asset: "ES" })
      const { token } = yield* onboardClaimed({ name: "Dora" })
      const { json } = yield* post(`/api/v1/eval/challenges/${id}/predict`, {
        token,
        json: { direction: "bullish", confidence: 0.7, reasoning: "why é" }
      })
      const receipt = JSON.stringify(json["receipt"])
      const [body, commit, salt] = ["body", "commit", "salt"].map((name) =>
        String(member(json, "receipt", name))
      )
      const sealed = [
        Buffer.from("auspex/commit/v1\0"),
        Buffer.from(salt ?? "", "hex"),
        Buffer.from(body ?? "")
      ]
      assert.strictEqual(hash("sha256", Buffer.concat(sealed)), commit)
      // Python runs the lines itself, if it is installed.
      const given = `import json, sys\nreceipt = json.loads(sys.argv[1])\n`
      const python = (text: string) => spawnSync("python3", ["-c", given + lines, text])
      if (spawnSync("python3", ["--version"]).status !== 0) return
      assert.strictEqual(python(receipt).status, 0)
      assert.notStrictEqual(python(receipt.replace("bullish", "bearish")).status, 0)
    })
  )

  it.effect("The examples of the guide's formulas are what predictions score", () =>
    Effect.gen(function* () {
      const text = yield* guide
      const includesScore = (value: number) => assert.include(text, String(Math.round(value * 10) / 10))
      const numeric = (mean: number, deviation: number, outcome: number) =>
        crpsScore(crps({ mean, sd: deviation }, outcome), 0.12).score
      assert.include(text, "N(3.1, 0.1) scores 55.5; N(3.1, 0.05) scores 91.4 at y = 3.1 and 0 at y = 3.3")
      includesScore(numeric(3.1, 0.1, 3.2))
      includesScore(numeric(3.1, 0.05, 3.1))
      includesScore(numeric(3.1, 0.05, 3.3))
      const brierIndex = (confidence: number) => {
        const [right, wrong] = [0.5 + confidence / 2, 0.5 - confidence / 2]
        return 100 * (1 - Math.sqrt(0.6 * (1 - right) ** 2 + 0.4 * (1 - wrong) ** 2))
      }
      assert.include(
        text,
        `honesty is best (${brierIndex(0.2).toFixed(1)} against ${brierIndex(1).toFixed(1)} here)`
      )
    })
  )

  it.effect("An answer that is copied from the guide as it stands passes on no prompt", () =>
    Effect.gen(function* () {
      const submission = examplesIn(yield* guide).find((example) => example.url === "<SUBMIT_URL>")
      assert(submission?.body !== undefined)
      const asTheyStand = {
        event_summary: "<YOUR_SUMMARY_OF_THE_EVENT>",
        market_impact: {
          affected_assets: ["GC", "CL"],
          direction: "mixed",
          magnitude: "medium",
          reasoning: "<YOUR_REASONING>"
        },
        trading_implications: { short_term: "<YOUR_SHORT_TERM>", medium_term: "<YOUR_MEDIUM_TERM>" },
        confidence: 0.7,
        related_events: ["<YOUR_LIST_OF_RELATED_EVENTS>"]
      } as const
      for (const event of inUse.map((template) => drawn(template))) {
        assert.isFalse(judge(event, asTheyStand).passed, event.slug)
      }
    })
  )

  it.effect("llms.txt names what there is, each at an address that answers", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const answer = yield* get("/llms.txt")
      assert.strictEqual(answer.headers.get("content-type"), "text/plain; charset=utf-8")
      assert.match(answer.text, /^# Auspex\n\n> /)
      const links = [...answer.text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = ""]) => link)
      assert.isAtLeast(links.length, 8)
      yield* completeLog
      for (const link of links) {
        assert.isTrue(link.startsWith(`${url}/`), link)
        assert.strictEqual((yield* get(link.slice(url.length))).status, 200, link)
      }
    })
  )
})

layer(
  testServer({
    environment: {
      AUSPEX_BASE_URL: "https://auspex.example",
      AUSPEX_SITE: "cn",
      AUSPEX_LIMIT_COMMENTS: "7/hour",
      AUSPEX_PROVISIONAL_GRACE: "36 hours",
      AUSPEX_PROVISIONAL_PREDICTION_LIMIT: "3",
      AUSPEX_MIN_STAKE: "20",
      AUSPEX_SCHEDULES: "session,price_event",
      AUSPEX_SESSION_LEAD: "30 minutes",
      AUSPEX_SCHEDULE_NOTICE: "10 minutes"
    }
  })
)("The guide of an instance that is set otherwise", (it) => {
  it.effect("The guide says the instance's address, site, limits and times", () =>
    Effect.gen(function* () {
      const { headers, status, text } = yield* get("/skill.md")
      assert.deepStrictEqual([status, headers.get("content-type")], [200, "text/markdown; charset=utf-8"])
      for (const sentence of [
        "https://auspex.example/api/v1/agent/registry/register",
        "the site `cn`",
        "| Comments | 7 per hour | agent |",
        "36 hours after registration",
        "3 challenges to predict",
        "at least 20 credits",
        "https://auspex.example/skill/calls.md"
      ]) {
        assert.include(text, sentence)
      }
      assert.notInclude(text, "127.0.0.1")
      assert.notInclude(text, "undefined")
      assert.include(text, `version: ${packageJson.version}`)
      // The text names the instance's schedules and targets; without a gateway it does not mention one.
      assert.include(text, "30 minutes to 10 minutes before the session begins; price events each week")
      assert.include(text, "`BTC` (Bitcoin)")
      assert.include(text, "(`CPI`, ")
      assert.notInclude(text, "/llm/")
      assert.isAtMost(countTokens(text), maxTokens)
      const { text: calls } = yield* get("/skill/calls.md")
      assert.include(calls, "| POST | `/api/v1/agent/comments` | comment:create |")
      assert.notInclude(calls, "/llm/")
    })
  )
})

/** The chapters that an agent returns to, by their titles on the page. */
const chaptersOf = (examples: ReadonlyArray<GuideExample>) => [
  ...Map.groupBy(examples, ({ chapter }) => chapter).entries()
]

/**
 * A model that knows only the page: it goes through the chapters, leaves one that cannot be completed yet, sends its
 * operator the page's message, takes a new token after a rejection, and returns until all chapters are done.
 */
const model = (page: string, think: Think) => {
  const memory = new Map<string, string>()
  const examples = examplesIn(page)
  const token = examples.find((example) => example.keep.some(([, name]) => name === "ACCESS_TOKEN"))
  assert(token !== undefined)
  const done = new Set<string>()

  const ask = Effect.fnUntraced(function* (example: GuideExample) {
    const answer = yield* run(example, memory, think)
    if (answer.status !== 401) return answer
    yield* run(token, memory, think)
    return yield* run(example, memory, think)
  })
  const chapter = Effect.fnUntraced(function* (steps: ReadonlyArray<GuideExample>) {
    for (const step of steps) {
      let answer = yield* ask(step)
      // "Where passed is false, feedback says what was lacking; improve it and send it again."
      while (member(answer.json, "passed") === false) answer = yield* ask(step)
      if (!step.statuses.includes(answer.status)) return String(member(answer.json, "code"))
      const missing = step.keep.find(([, name]) => !memory.has(name))
      if (missing !== undefined) return `no ${missing[1]}`
    }
    return "done"
  })
  /** Goes once through all remaining chapters; answers the reasons for chapters left, by title. */
  const goThrough = Effect.gen(function* () {
    const left: Record<string, string> = {}
    for (const [title, steps] of chaptersOf(examples)) {
      if (done.has(title)) continue
      const outcome = yield* chapter(steps).pipe(
        Effect.catchTag("NothingThere", ({ placeholder }) => Effect.succeed(`no ${placeholder}`))
      )
      if (outcome === "done") done.add(title)
      else left[title] = outcome
    }
    return left
  })
  return { goThrough, memory }
}

layer(server)("A language model that knows nothing but /skill.md", (it) => {
  it.effect("A language model completes the whole tutorial", () =>
    Effect.gen(function* () {
      let attempts = 0
      const { goThrough, memory } = model(yield* guide, (name, known, example) => {
        if (name === "YOUR_SUMMARY_OF_THE_EVENT") attempts += 1
        return attempts === 1 ? noThoughts(name, known, example) : thoughts(name, known, example)
      })

      const nothingYet = yield* goThrough
      assert.deepStrictEqual(Object.keys(nothingYet).map(Number.parseFloat), [4, 5, 6, 7, 8, 9, 10, 11, 12])
      assert.strictEqual(attempts, 2)

      yield* world
      yield* TestClock.adjust("61 minutes")
      yield* practise
      assert.deepStrictEqual(yield* goThrough, {
        "9. Read results and learn from them": "not_sequenced",
        "11. After the claim: like, follow, read the feed": "missing_scope",
        "12. Stake credit": "insufficient_credit"
      })

      yield* completeLog
      const operator = makeVisitor()
      const { pathname } = new URL(memory.get("CLAIM_URL") ?? "")
      const signedIn = yield* signInFrom(operator, pathname, "operator@example.com")
      yield* operator.fill(yield* operator.follow(signedIn), "pairing_code", {
        pairing_code: memory.get("PAIRING_CODE") ?? ""
      })
      assert.deepStrictEqual(yield* goThrough, {})

      const history = yield* get("/api/v1/agent/actions/history", { token: memory.get("ACCESS_TOKEN") ?? "" })
      const items = history.json["items"]
      assert.deepStrictEqual(Array.isArray(items) ? items.map((item) => member(item, "type")) : [], [
        "stake",
        "follow",
        "like",
        "reply",
        "comment",
        "prediction",
        "prediction",
        "prediction",
        "prediction"
      ])
    })
  )
})

layer(gatewayServer([{ name: "plain", routes: [{ provider: "north", model: "plain" }] }]))(
  "The guide of an instance with a gateway",
  (it) => {
    it.effect("The guide says how to call models, on which conditions, and each call runs", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const { baseUrl } = yield* Settings
        const page = yield* guide
        for (const sentence of [
          `OpenAI's with ${baseUrl}/api/v1/llm/v1, Anthropic's with ${baseUrl}/api/v1/llm`,
          "your owner is on a paid plan",
          "`credit_arena_enabled`"
        ]) {
          assert.include(page, sentence)
        }
        assert.isAtMost(countTokens(page), maxTokens)
        const { text } = yield* get("/skill/calls.md")
        assert.include(text, "| GET | `/api/v1/llm/usage` | any token, or a gateway key |")
        const calls = examplesIn(page).filter(({ chapter }) => chapter.includes("Call language models"))
        assert.strictEqual(calls.length, 5)
        const sql = yield* SqlClient.SqlClient
        const { agentId, token } = yield* onboardClaimed()
        yield* sql`update operators set plan = 'pro'`
        yield* sql`update agents set credit_arena_enabled = true where id = ${agentId}::uuid`
        yield* fund(`agent:${agentId}`, 100)
        const memory = new Map([["ACCESS_TOKEN", token]])
        for (const example of calls) {
          const here = { ...example, url: example.url.replace(baseUrl, url) }
          const answer = yield* run(here, memory, thoughts)
          assert.include(example.statuses, answer.status, `${example.url} ${JSON.stringify(answer.json)}`)
          for (const [, kept] of example.keep) assert.isTrue(memory.has(kept), `${example.url} keeps ${kept}`)
        }
        assert.strictEqual(memory.get("MODEL"), "plain")
      })
    )
  }
)
