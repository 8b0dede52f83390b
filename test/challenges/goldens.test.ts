/**
 * Every kind of question under every rule, as it was when these files were written: the row, the entries of the log, the
 * answers of the API and the text of its page. A file changes only with a commit that says why.
 */
import { expect, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import { Prices } from "../../src/services/Prices.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  freshWeek,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  submit
} from "../support/challenges.ts"
import { revealAll, sequenceAll } from "../support/loggedFixture.ts"
import { get, testServer } from "../support/server.ts"
import { createdBefore, underRule } from "../support/tampering.ts"

const hour = 3_600_000

/** Up and down by a few percent, the same every time, with a step at each midnight. */
const priceAt = (index: number): number =>
  Math.round(
    (2000 + 40 * Math.sin(index / 7) + 15 * Math.sin(index / 2.3) + 5 * (Math.floor(index / 24) % 3)) * 100
  ) / 100

const direction = (side: "bullish" | "bearish", confidence: number): NewAnswer => ({
  direction: side,
  confidence
})
const normal = (predicted_value: number, predicted_std: number): NewAnswer => ({
  predicted_value,
  predicted_std
})
const quantiles = (...values: ReadonlyArray<number>): NewAnswer => ({
  quantiles: values.map((value, index) => ({ p: (index + 1) / (values.length + 1), value }))
})

const directions = [
  direction("bullish", 0.62),
  direction("bearish", 0.1),
  { probabilities: { bullish: 0.25, neutral: 0.5, bearish: 0.25 } }
]
const yesOrNo = [
  direction("bullish", 0.62),
  direction("bearish", 0.1),
  { probabilities: { bullish: 0.3, bearish: 0.7 } }
]
const closes = [
  normal(2010, 30),
  quantiles(1950, 2000, 2075),
  { samples: Array.from({ length: 10 }, (_, index) => 1980 + 8 * index) }
]
const counts = [normal(4, 1.2), quantiles(2, 3, 3, 5), { samples: [1, 2, 3, 3, 4, 4, 4, 5, 5, 6] }]
const figures = [
  normal(3.1, 0.1),
  quantiles(3, 3.1, 3.3),
  { samples: [3, 3, 3.1, 3.1, 3.1, 3.1, 3.2, 3.2, 3.2, 3.3] }
]
const vectors = [
  { probabilities: { Cut: 0.2, Hold: 0.7, Hike: 0.1 } },
  { probabilities: { Cut: 0.05, Hold: 0.35, Hike: 0.6 } },
  { probabilities: { Cut: 1, Hold: 0, Hike: 0 } }
]

/** All questions, made on one Monday at midnight. */
const questionsOn = Effect.fnUntraced(function* (monday: DateTime.Utc) {
  const end = plus(monday, "1 day")
  const noon = { deadline: plus(monday, "12 hours") }
  const directional = (kind: "session" | "flash" | "1h" | "4h" | "1d") =>
    newChallenge({ ...noon, kind, open_price: 2000, dead_zone_pct: 0.3, resolve_at: end })
  const event = (kind: "numeric_close" | "threshold" | "range") =>
    newPriceEvent({
      ...noon,
      kind,
      ...(kind === "numeric_close" && { reference_scale: 31.4 }),
      ...(kind === "threshold" && { level: 2010.5 }),
      ...(kind === "range" && { low: 1995.5, high: 2031.5 })
    })
  const barrier = (level: number) =>
    newPriceEvent({
      ...noon,
      kind: "barrier",
      level,
      window_from: noon.deadline,
      resolve_at: plus(monday, "3 days")
    })
  const count = newPriceEvent({
    ...noon,
    kind: "count_days",
    reference_scale: 1.32288,
    resolve_at: plus(monday, "7 days")
  })
  const before = <E extends { readonly id: string }, Err, R>(rule: 1 | 2, make: Effect.Effect<E, Err, R>) =>
    Effect.gen(function* () {
      const made = yield* make
      yield* rule === 1 ? createdBefore(made.id) : underRule(made.id, rule)
      return made
    })
  return [
    ["session", yield* directional("session"), directions, 2031.5],
    ["flash", yield* directional("flash"), directions, 2031.5],
    ["1d", yield* directional("1d"), directions, 2031.5],
    [
      "without-dead-zone",
      yield* newChallenge({
        ...noon,
        open_price: 2000,
        dead_zone_pct: null,
        resolve_at: end,
        question: "Which way?"
      }),
      directions,
      2031.5
    ],
    ["macro", yield* newMacro({ ...noon, unit: "%", decimal_step: 0.1, reward_pool: 12.5 }), figures, 3.3],
    ["macro-by-bins", yield* newMacro({ ...noon, period: "2026-04", reference_scale: null }), figures, 3.3],
    [
      "macro-of-categories",
      yield* newMacro({
        ...noon,
        asset: "FOMC",
        categories: [
          { name: "Cut", probability: 0.25 },
          { name: "Hold", probability: 0.5 },
          { name: "Hike", probability: 0.25 }
        ]
      }),
      vectors,
      2
    ],
    ["numeric-close", yield* event("numeric_close"), closes, 2031.5],
    ["numeric-close-rule-2", yield* before(2, event("numeric_close")), closes, 2031.5],
    ["numeric-close-rule-1", yield* before(1, event("numeric_close")), closes, 2031.5],
    ["threshold", yield* event("threshold"), yesOrNo, 2031.5],
    ["threshold-rule-2", yield* before(2, event("threshold")), yesOrNo, 2031.5],
    ["threshold-rule-1", yield* before(1, event("threshold")), yesOrNo, 2031.5],
    ["range", yield* event("range"), yesOrNo, 2031.5],
    ["barrier", yield* barrier(2010), yesOrNo, 2010.25],
    ["barrier-untouched", yield* barrier(3000), yesOrNo, 2950],
    ["barrier-rule-2", yield* before(2, barrier(2010)), yesOrNo, 2010.25],
    ["barrier-rule-1", yield* before(1, barrier(2010)), yesOrNo, 2010.25],
    ["count-days", yield* count, counts, 6],
    ["count-days-rule-2", yield* before(2, count), counts, 6],
    ["count-days-rule-1", yield* before(1, count), counts, 6]
  ] as const
})

const Json = Schema.Struct({ json: Schema.Unknown })
const Entry = Schema.Struct({ entry: Schema.String })

const textOf = (html: string): string =>
  html
    .replace(/<(script|style)\b[^]*?<\/\1>/g, "")
    .replace(/<[^>]*>/g, "\n")
    .replace(/\s*\n\s*/g, "\n")
    .trim()

const pageOf = Effect.fnUntraced(function* (id: string, language: string) {
  const { text } = yield* get(`/challenges/${id}?lang=${language}`)
  const [title = ""] = /<title>[^<]*/.exec(text) ?? []
  return [
    title.replace("<title>", ""),
    ...textOf(/<main[^]*<\/main>/.exec(text)?.[0] ?? "").split("\n")
  ].join(" | ")
})

/** A member of an object, or of a list in it, a line. */
const linesOf = (golden: Readonly<Record<string, unknown>>): string =>
  Object.entries(golden)
    .map(([name, value]) => {
      const items = Array.isArray(value) ? value : [value]
      return [
        `## ${name}`,
        ...items.map((item) => (typeof item === "string" ? item : JSON.stringify(item)))
      ].join("\n")
    })
    .join("\n")

/** Ids, salts and what follows from them are drawn anew by each run. */
const withoutChance = (text: string): string => {
  const ids = new Map<string, string>()
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
      const known = ids.get(id) ?? `id ${ids.size + 1}`
      ids.set(id, known)
      return known
    })
    .replace(/(\\?"(?:root|raw_sha256|salt|c|body|commit|signature)\\?":\\?")[^"\\]+/g, "$1…")
    .replace(/\| [0-9a-f]{8} \|/g, "| tag |")
    .replace(/\b(?!frozen)[0-9a-f]{64}\b/g, (hash, at: number, whole: string) =>
      whole.slice(Math.max(0, at - 22), at).includes("frozen_sha256") ? hash : "hash"
    )
}

const stored = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const one = findOne(Json)
  const many = findAll(Json)
  const entries = yield* findAll(Entry)(sql`
    select convert_from(entry, 'UTF8') as entry from log_entries
     where challenge_id = ${id}::uuid and type in ('challenge.create', 'challenge.close', 'settlement', 'amendment', 'void')
     order by index`)
  return {
    row: (yield* one(sql`select to_jsonb(c) as json from challenges c where id = ${id}::uuid`)).json,
    entries: entries.map(({ entry }) => entry),
    settlements: (yield* many(
      sql`select to_jsonb(s) as json from settlements s where challenge_id = ${id}::uuid order by version`
    )).map(({ json }) => json),
    scores: (yield* many(sql`
      select to_jsonb(s) as json from prediction_scores s join agents a on a.id = s.agent_id
       where challenge_id = ${id}::uuid order by version, a.name`)).map(({ json }) => json),
    reference: (yield* many(
      sql`select steps as json from challenge_references where challenge_id = ${id}::uuid`
    )).map(({ json }) => json)
  }
})

const answered = Effect.fnUntraced(function* (path: string) {
  const { json, status } = yield* get(`/api/v1/eval/${path}`)
  return { status, json }
})

layer(testServer({ environment: { AUSPEX_PUBLIC_CACHE: "off" } }))("Goldens", (it) => {
  it.effect("Each kind has its row, its log entries, its answers and its page to the byte", () =>
    Effect.gen(function* () {
      const arenas = yield* Arenas
      const prices = yield* Prices
      const agents = yield* Effect.forEach(["Alder", "Birch", "Cedar"], (name) => claimedAgent(name))
      for (const agent of agents) {
        yield* Targets.use((targets) => Effect.forEach(["ETH", "GC"], (key) => targets.subscribe(agent, key)))
      }
      const monday = yield* freshWeek
      const hours = 24 * 40
      for (const asset of ["GC", "ETH"]) {
        yield* prices.import({
          asset,
          interval: "1h",
          candles: Array.from({ length: hours + 8 * 24 }, (_, index) => {
            const [open, close] = [priceAt(index), priceAt(index + 1)]
            return {
              time: plus(monday, (index - hours) * hour),
              open,
              close,
              high: Math.max(open, close) + 1,
              low: Math.min(open, close) - 1
            }
          })
        })
      }
      const all = yield* questionsOn(monday)
      const files = new Map<string, Record<string, unknown>>()
      for (const [place, agentId] of agents.entries()) {
        yield* moveTo(plus(monday, (place + 1) * hour))
        for (const [, { id }, answers] of all) {
          const answer = answers[place] ?? answers[0]
          yield* submit({
            agentId,
            challengeId: id,
            answer: { ...answer, reasoning: "Calm." },
            receivedAt: yield* DateTime.now
          })
        }
      }
      for (const [name, { id }] of all) {
        files.set(name, {
          open: yield* answered(`open/${id}`),
          page: yield* pageOf(id, "en"),
          pageInChinese: yield* pageOf(id, "zh")
        })
      }
      yield* moveTo(plus(monday, "30 days"))
      yield* Scoring.use((scoring) => scoring.settleDue)
      for (const [, question, , value] of all) {
        const { id } = question
        if ("release_at" in question)
          yield* Scoring.use((scoring) =>
            scoring.resolveMacro(id, "categories" in question && question.categories !== null ? 1 : 3.2)
          )
        const field =
          "release_at" in question ||
          ("kind" in question && ["numeric_close", "count_days"].includes(question.kind))
            ? "actual_value"
            : "close_price"
        yield* sequenceAll
        yield* Amendments.use((amendments) =>
          amendments.amend(id, { [field]: value, reason: "The source was wrong." })
        )
      }
      yield* revealAll
      for (const [name, { id }] of all) {
        const golden = {
          ...(yield* stored(id)),
          challenge: yield* arenas.get(id),
          // Under earlier rules only the records differ.
          ...(!name.includes("-rule-") && {
            summary: yield* arenas.summary(id),
            results: yield* answered(`challenges/${id}/results`),
            ...files.get(name),
            pageAfter: yield* pageOf(id, "en"),
            pageAfterInChinese: yield* pageOf(id, "zh")
          })
        }
        yield* Effect.promise(() =>
          expect(`${withoutChance(linesOf(golden))}\n`).toMatchFileSnapshot(`./goldens/${name}.snapshot`)
        )
      }
    })
  )
})
