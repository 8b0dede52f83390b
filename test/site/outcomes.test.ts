/** Outcomes, questions and predictions as pages show them. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { creditNumber, forecastOf, formatOutcome, number, roughly } from "../../src/http/site/views/format.ts"
import { allMessages } from "../../src/http/site/messages/messages.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  submit
} from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { stake, staker } from "../support/credit.ts"
import { completeLog } from "../support/logbook.ts"
import { get, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { textOf } from "../support/visitor.ts"

const meeting = [
  { name: "Cut by 50 or more", probability: 0.1 },
  { name: "Cut by 25", probability: 0.2 },
  { name: "Hold", probability: 0.5 },
  { name: "Raise", probability: 0.2 }
]

const answer = Effect.fnUntraced(function* (
  agentId: AgentId,
  { id }: { readonly id: string },
  sent: NewAnswer
) {
  yield* submit({ agentId, challengeId: id, answer: sent, receivedAt: yield* DateTime.now })
})

/** The index of "Hold", which no page may show instead of the name. */
const held = 2

const owned = {
  en: "What will the Fed do at its September meeting?",
  zh: "美联储九月会议会如何决定？"
}

layer(testServer())("A question on categories", (it) => {
  it.effect(
    "A question on categories comes out under the category's name on every page and in both languages, not its index",
    () =>
      Effect.gen(function* () {
        const monday = yield* freshWeek
        const agent = yield* claimedAgent("Rate Watcher")
        const terms = { asset: "FOMC", period: "2026-09", deadline: plus(monday, "1 hour") }
        const summary = {
          ...terms,
          categories: meeting,
          bin_edges: undefined,
          reference_scale: undefined
        }
        const made = yield* Effect.forEach(
          [summary, { ...summary, question: owned.en }, { ...summary, question: owned.zh }],
          (each) => {
            const { bin_edges: _edges, reference_scale: _scale, ...rest } = each
            return Arenas.use((arenas) => arenas.create("macro", { ...rest, reward_pool: 0 }))
          }
        )
        const onNumber = yield* newMacro({ ...terms, unit: "% a year", bin_edges: [3, 4] })
        for (const { id } of made) {
          yield* answer(
            agent,
            { id },
            {
              probabilities: {
                "Cut by 50 or more": 0.0432178123,
                "Cut by 25": 0.1405592161,
                Hold: 0.8136361812,
                Raise: 0.0025867904
              }
            }
          )
        }
        yield* moveTo(plus(monday, "2 hours"))
        for (const { id } of made) yield* Scoring.use((scoring) => scoring.resolveMacro(id, held))
        yield* Scoring.use((scoring) => scoring.resolveMacro(onNumber.id, 3.25))
        const [standard] = made
        assert(standard !== undefined)
        yield* Amendments.use(({ amend }) => amend(standard.id, { actual_value: 1, reason: "Misread." }))
        yield* Amendments.use(({ amend }) =>
          amend(standard.id, { actual_value: held, reason: "Read again." })
        )
        yield* completeLog

        for (const path of [
          "/",
          "/challenges?status=resolved&type=macro",
          "/assets/FOMC",
          `/agents/${agent}`,
          `/agents/${agent}/predictions`,
          ...made.flatMap(({ id }) => [`/challenges/${id}`, `/embed/challenges/${id}`])
        ]) {
          for (const lang of ["en", "zh"]) {
            const page = `${path}${path.includes("?") ? "&" : "?"}lang=${lang}`
            const { status, text } = yield* get(page)
            assert.strictEqual(status, 200, page)
            assert.include(text, "Hold", page)
            assert.notMatch(text, />\s*2(\.0+)?\s*</, page)
          }
        }
        for (const path of ["/feeds/settlements/atom", `/feeds/agents/${agent}/atom`]) {
          const { status, text } = yield* get(path)
          assert.strictEqual(status, 200, path)
          assert.include(text, "Hold", path)
          assert.notMatch(text, /came out as 2|FOMC: 2|decided\? \d/, path)
        }
        const { json } = yield* get("/api/v1/public/releases?asset=FOMC")
        assert.include(JSON.stringify(json), '"outcome_name":"Hold"')
        const versions = textOf(yield* get(`/challenges/${standard.id}`))
        assert.match(versions, /Version 2 Cut by 25/)
      })
  )

  it.effect("A question on categories has a title of its own, and so has each with own words", () =>
    Effect.gen(function* () {
      const { items } = yield* Arenas.use((arenas) =>
        arenas.listSummaries({ status: "resolved", asset: "FOMC" }, { limit: 10, cursor: undefined })
      )
      const titles = ({ text }: Answer) =>
        [...text.matchAll(/dir="auto"\s*>([^<]*)<\/a/g)].map(([, title = ""]) => title).join("\n")
      const inEnglish = titles(yield* get("/challenges?status=resolved&asset=FOMC"))
      const inChinese = titles(yield* get("/challenges?status=resolved&asset=FOMC&lang=zh"))
      assert.strictEqual(items.length, 4)
      for (const title of [
        owned.en,
        owned.zh,
        "Federal funds target rate, September 2026: what will be decided?",
        "Federal funds target rate, September 2026 (% a year)"
      ]) {
        assert.strictEqual(inEnglish.split(title).length, 2, title)
      }
      for (const title of [owned.en, owned.zh, "会是哪一种结果？", "（% a year）"]) {
        assert.strictEqual(inChinese.split(title).length, 2, title)
      }
    })
  )
})

layer(testServer())("A question that an administrator has worded", (it) => {
  it.effect("A question that an administrator has worded has these words as its title", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const before = { deadline: plus(monday, "1 hour"), resolve_at: plus(monday, "2 hours") }
      const tomorrow = { deadline: plus(monday, "1 hour"), resolve_at: plus(monday, "1 day") }
      const directional = yield* newChallenge({ ...before, question: "Will gold rise on the minutes?" })
      const again = yield* newChallenge({ ...before, question: "Will gold rise on the auction?" })
      const barrier = yield* newPriceEvent({
        kind: "barrier",
        level: 120,
        question: "Will ether touch 120 before the upgrade?",
        ...tomorrow
      })
      const plain = yield* newChallenge(before)
      for (const [{ id, question }, isOwn] of [
        [directional, true],
        [again, true],
        [barrier, true],
        [plain, false]
      ] as const) {
        for (const path of [`/challenges/${id}`, `/challenges/${id}?lang=zh`, `/embed/challenges/${id}`]) {
          const [, title = ""] = /<title>([^<]*)</.exec((yield* get(path)).text) ?? []
          assert.strictEqual(title.includes(question), isOwn, `${path} ${title}`)
        }
      }
    })
  )
})

const machineDecimal = /\d\.\d{5}/

layer(testServer())("An answer", (it) => {
  it.effect("An answer of any form, and an amount of credits, is shown without machine decimals", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* importQuotes("GC", [[monday, 2400.1235]])
      const agent = yield* claimedAgent("Exact <One>")
      yield* Targets.use((targets) => targets.subscribe(agent, "ETH"))
      const direction = yield* newChallenge({
        open_price: 2400.1235,
        deadline: plus(monday, "1 hour"),
        resolve_at: plus(monday, "2 hours")
      })
      yield* answer(agent, direction, {
        probabilities: { bullish: 0.387095123, neutral: 0.226137123, bearish: 0.386767754 }
      })
      const yesOrNo = yield* newPriceEvent({ kind: "threshold" })
      yield* answer(agent, yesOrNo, {
        probabilities: { bullish: 1 / 3, bearish: 2 / 3 }
      })
      const close = yield* newPriceEvent({ kind: "numeric_close" })
      yield* answer(agent, close, {
        samples: times(40, (index) => 95.123456789 + index / 7)
      })
      const figure = yield* newMacro({ unit: "%", reward_pool: 100, bin_edges: [2.9, 3.1, 3.3] })
      yield* answer(agent, figure, {
        quantiles: [
          { p: 0.05, value: 2.652174123 },
          { p: 1 / 3, value: 2.9065123456 },
          { p: 0.95, value: 3.3333333333 }
        ]
      })
      const other = yield* staker(1880)
      yield* forecast(other, figure, { predicted_value: 3.123456789, predicted_std: 0.0953123456 })
      yield* stake(other, figure, 75, 3.123456789)
      yield* moveTo(plus(monday, "3 hours"))
      yield* Scoring.use((scoring) => scoring.resolveMacro(figure.id, 3.15))
      yield* completeLog
      for (const { id } of [direction, yesOrNo, close, figure]) {
        for (const lang of ["en", "zh"]) {
          const text = textOf(yield* get(`/challenges/${id}?lang=${lang}`))
          // The frozen criteria stay as they were frozen.
          const [shown = ""] = text.split(/Settles on|按.{1,20}结算/)
          assert.notMatch(shown, machineDecimal, `${id} ${lang}`)
        }
      }
      assert.include(textOf(yield* get(`/challenges/${figure.id}`)), "75 credits")
      assert.include(textOf(yield* get(`/challenges/${direction.id}`)), "Up 38.7 %")
    })
  )

  it("Value, forecast, scale, credits and outcome are formatted by one function each", () => {
    for (const [value, shown] of [
      [2.906476725, "2.9065"],
      [63_412.537123, "63,412.5"],
      [2_613_080.2638, "2,613,080"],
      [0.0953123456, "0.0953"],
      [-0.000012345678, "−0.0000123"],
      [0, "0"]
    ] as const) {
      assert.strictEqual(forecastOf(value), shown)
    }
    for (const [value, shown] of [
      [4508.2, "4,508.2"],
      [0.1 + 0.2, "0.3"],
      [1.23456789, "1.234568"],
      [-3.25, "−3.25"],
      [0.0123456789, "0.012346"],
      [0.0000123, "0.0000123"],
      [0.0000124, "0.0000124"],
      [4e-7, "0.0000004"],
      [-1.23456789e-9, "−0.00000000123457"],
      [0, "0"]
    ] as const) {
      assert.strictEqual(number(value), shown)
    }
    assert.strictEqual(roughly(2613.0802638035816), "2,613")
    for (const [micro, shown] of [
      [1_039_030_930n, "1039.03"],
      [1_880_299_999n, "1880.29"],
      [1_000_000_000n, "1000"],
      [123n, "0.000123"],
      [-39_030_931n, "−39.03"],
      [0n, "0"]
    ] as const) {
      assert.strictEqual(creditNumber(micro), shown)
    }
    const base = { actual_value: null, outcome_name: null, result: null, type: "macro" } as const
    for (const [outcome, english, chinese] of [
      [{ ...base, actual_value: 2, outcome_name: "Hold" }, "Hold", "Hold"],
      [{ ...base, actual_value: 2, unit: "%" }, "2 %", "2 %"],
      [{ ...base, type: "price_event", result: "bullish" }, "▲ Yes", "▲ 是"],
      [{ ...base, type: "directional", result: "bearish" }, "▼ Down", "▼ 下跌"],
      [base, null, null]
    ] as const) {
      assert.strictEqual(formatOutcome(outcome), english)
      assert.strictEqual(formatOutcome(outcome, allMessages.zh), chinese)
    }
  })
})
