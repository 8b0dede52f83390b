/** The public pages of a challenge and of an agent, and the proofs that they link to. */
import { afterAll, assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { verify } from "../../src/scoring/verifier/verify.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { TransparencyLog } from "../../src/services/TransparencyLog.ts"
import { claimedAgent, provisionalAgent } from "../support/agents.ts"
import {
  answerPriceEvent,
  forecast,
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict
} from "../support/challenges.ts"
import { stake, staker } from "../support/credit.ts"
import { get, member, testServer, TestServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { buildGoVerifier, checkWithSigstore } from "../support/outsideVerifiers.ts"
import { completeLog } from "../support/logbook.ts"
import { openFixture, settledFixture } from "../support/settledFixture.ts"
import { textOf, unescaped } from "../support/visitor.ts"

const go = await buildGoVerifier()
afterAll(() => ("missing" in go ? undefined : go.remove()))

const linksOf = ({ text }: Answer): ReadonlyArray<string> =>
  [...text.matchAll(/ href="([^"]*)"/g)].map(([, link = ""]) => unescaped(link))

/** The fewest points of the line of a chart of prices. */
const minPoints = 30

layer(testServer())("The page of a challenge", (it) => {
  it.effect("The page of a challenge before the deadline shows terms and counts, and no prediction", () =>
    Effect.gen(function* () {
      const { ada, challenge, right, wrong } = yield* openFixture()
      const page = yield* get(`/challenges/${challenge.id}`)
      assert.strictEqual(page.status, 200)
      const shown = textOf(page)
      assert.include(shown, "Will gold rise?")
      assert.include(shown, "2: 1 up, 1 down, 0 flat")
      assert.include(shown, String(challenge.resolution_criteria))
      assert.include(shown, String(challenge.resolution_criteria_zh))
      for (const secret of [ada, right.commit, wrong.commit, "Ada", "0.875", "fall", right.prediction_id]) {
        assert.notInclude(page.text, secret)
      }
      const card = yield* get(`/agents/${ada}`)
      assert.notInclude(card.text, challenge.id)
      assert.notInclude(card.text, right.commit)
    })
  )

  it.effect("The page of a challenge shows answers from the deadline on, then scores and the result", () =>
    Effect.gen(function* () {
      const world = yield* openFixture()
      yield* world.pass
      const path = `/challenges/${world.challenge.id}`
      const closed = textOf(yield* get(path))
      assert.match(closed, /Closed entry \d+/)
      assert.match(closed, /Ada [0-9a-f]{8} ▲ Up 93\.8 %/)
      assert.notInclude(closed, "points")
      yield* world.settle
      const settled = yield* get(path)
      const shown = textOf(settled)
      assert.match(shown, /Result ▲ Up [+]/)
      assert.match(shown, /Ada [0-9a-f]{8} ▲ Up 93\.8 % Right 93\.75 points/)
      assert.match(shown, /Grace [0-9a-f]{8} ▼ Down 62\.5 % Wrong 37\.50 points/)
      assert.include(shown, "Rates <fall>.")
      assert.match(shown, /Created entry \d+ .*Closed entry \d+ .*Settled entry \d+/)
      assert.notInclude(settled.text, 'name="robots"')

      const proofs = linksOf(settled).filter((link) => link.startsWith("/api/v1/log/"))
      assert.strictEqual(proofs.length, 5)
      for (const proof of proofs) {
        const { headers, text } = yield* get(proof)
        assert.match(headers.get("content-disposition") ?? "", /\.tlog-proof"$/)
        const verification = yield* Effect.promise(() => verify({ proof: text, keys: world.keys }))
        assert.isTrue(verification.holds, JSON.stringify(verification.checks))
      }
      assert.include(linksOf(settled), `/agents/${world.ada}`)
      assert.include(linksOf(settled), `/api/v1/eval/challenges/${world.challenge.id}/results`)
      assert.include(
        linksOf(settled),
        `/verify?proof=${encodeURIComponent(`/api/v1/log/proof/${world.right.commit}`)}`
      )
    })
  )

  it.effect("The page of a cancelled challenge says so, and nowhere that it is void", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const { id } = yield* newChallenge({ asset: "ZN", deadline })
      yield* moveTo(plus(deadline, "8 days"))
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* completeLog
      const page = yield* get(`/challenges/${id}`)
      const shown = textOf(page)
      assert.match(shown, /Cancelled: nobody is scored by it\..*Ended without a result entry \d+/)
      assert.notMatch(shown, /\bvoid/i)
    })
  )

  it.effect("The page of a challenge draws weeks of prices, also of an asset with one price a day", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      yield* importCandles(
        "ZN",
        "1d",
        Array.from(
          { length: 60 },
          (_, day) => [plus(monday, `${day - 60} days`), 110 + Math.sin(day)] as const
        )
      )
      const { id } = yield* newChallenge({ asset: "ZN", open_price: 110, deadline: plus(monday, "20 hours") })
      const { text } = yield* get(`/challenges/${id}`)
      const [line = ""] = /<path class="line[^>]* d="[^"]+"/.exec(text) ?? []
      assert.isAtLeast((line.match(/[ML]/g) ?? []).length, minPoints, line)
    })
  )

  it.effect("The page of a challenge leads through many predictions page by page, each once", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      const agents = yield* Effect.forEach(
        Array.from({ length: 51 }, (_, index) => `agent ${index}`),
        (name) => claimedAgent(name),
        { concurrency: 8 }
      )
      yield* Effect.forEach(agents, (agent) => predict(agent, challenge), { concurrency: 8 })
      yield* moveTo(deadline)
      const first = yield* get(`/challenges/${challenge.id}`)
      const next = linksOf(first).find((link) => link.includes("cursor=")) ?? ""
      const second = yield* get(next)
      // In Chinese the links keep the language, too.
      const inChinese = linksOf(yield* get(`/challenges/${challenge.id}?lang=zh`))
      const third = yield* get(inChinese.find((link) => link.includes("cursor=")) ?? "")
      assert.include(third.text, '<html lang="zh-CN">')
      const shown = [first, second].flatMap(linksOf).filter((link) => link.startsWith("/agents/"))
      assert.deepStrictEqual(shown.toSorted(), agents.map((agent) => `/agents/${agent}`).toSorted())
      assert.isUndefined(linksOf(second).find((link) => link.includes("cursor=")))
    })
  )

  it.effect(
    "An unknown challenge and a wrong cursor are answered with pages that say so, and no cookie is kept",
    () =>
      Effect.gen(function* () {
        const { challenge } = yield* openFixture()
        for (const path of [
          "/challenges/nothing",
          "/challenges/0190f000-0000-7000-8000-000000000000",
          "/agents/x"
        ]) {
          const page = yield* get(path)
          assert.strictEqual(page.status, 404, path)
          assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
        }
        assert.strictEqual((yield* get(`/challenges/${challenge.id}?cursor=x`)).status, 400)
        const { headers } = yield* get(`/challenges/${challenge.id}`)
        assert.deepStrictEqual(headers.getSetCookie(), [])
        assert.include(headers.get("content-security-policy") ?? "", "script-src 'self';")
      })
  )
})

/** A macro challenge that Ada and Grace have forecast, and the means to go on. */
const macroFixture = Effect.gen(function* () {
  const deadline = plus(yield* freshWeek, "1 hour")
  const macro = yield* newMacro({
    deadline,
    release_at: plus(deadline, "30 minutes"),
    question: "What will CPI be?",
    unit: "%"
  })
  const [ada, grace] = [yield* claimedAgent("Ada"), yield* claimedAgent("Grace")]
  const { answer } = yield* forecast(ada, macro, {
    predicted_value: 3.15,
    predicted_std: 0.05,
    rationale: "Rents <rise>."
  })
  yield* forecast(grace, macro, { predicted_value: 2.9, predicted_std: 0.2 })
  yield* completeLog
  const keys = yield* TransparencyLog.use((log) => log.verifierKeys)
  return { macro, deadline, ada, grace, receipt: answer.receipt, keys, path: `/challenges/${macro.id}` }
})

layer(testServer())("The page of a macro challenge", (it) => {
  it.effect("The page of a macro challenge before the deadline shows terms, bins and a count alone", () =>
    Effect.gen(function* () {
      const { ada, macro, path, receipt } = yield* macroFixture
      const page = yield* get(path)
      assert.strictEqual(page.status, 200)
      const shown = textOf(page)
      for (const sentence of [
        "Macro challenge on Consumer price index Consumer price index, March 2026",
        "What will CPI be?",
        "So far 2 forecasts.",
        "Reference scale 0.12",
        "below 3",
        "3.1 to below 3.2",
        "3.2 and above",
        String(macro.resolution_criteria),
        String(macro.resolution_criteria_zh)
      ]) {
        assert.include(shown, sentence)
      }
      assert.match(shown, /Deadline .* 01:00 UTC Release expected .* 01:30 UTC/)
      for (const secret of [ada, String(receipt?.commit), "Ada", "3.15", "0.05", "Rents"]) {
        assert.notInclude(page.text, secret)
      }
      assert.include(page.headers.get("content-security-policy") ?? "", "script-src 'self';")
    })
  )

  it.effect("The page of a macro challenge shows forecasts, then value, bin, scores and proofs", () =>
    Effect.gen(function* () {
      const { deadline, keys, macro, path, ada } = yield* macroFixture
      yield* moveTo(plus(deadline, "1 hour"))
      yield* Scoring.use((scoring) => scoring.settleDue)
      const closed = textOf(yield* get(path))
      assert.match(closed, /Ada [0-9a-f]{8} 3\.15 ± 0\.05 entry \d+ Proof file/)
      assert.notInclude(closed, "points")
      yield* Scoring.use((scoring) => scoring.resolveMacro(macro.id, 3.1))
      yield* completeLog
      const settled = yield* get(path)
      const shown = textOf(settled)
      assert.match(shown, /Published 3\.1 % in the bin 3\.1 to below 3\.2/)
      assert.match(shown, /Ada [0-9a-f]{8} 3\.15 ± 0\.05 CRPS 0\.0\d+ [6-9]\d\.\d\d points entry \d+/)
      assert.include(shown, "Rents <rise>.")
      assert.match(shown, /Created entry \d+ .*Closed entry \d+ .*Settled entry \d+/)
      const proofs = linksOf(settled).filter((link) => link.startsWith("/api/v1/log/"))
      assert.strictEqual(proofs.length, 5)
      for (const proof of proofs) {
        const { text } = yield* get(proof)
        const verification = yield* Effect.promise(() => verify({ proof: text, keys }))
        assert.isTrue(verification.holds, JSON.stringify(verification.checks))
      }
      const card = yield* get(`/agents/${ada}`)
      assert.include(linksOf(card), path)
      assert.match(textOf(card), /3\.15 ± 0\.05 3\.1 [6-9]\d\.\d /)
      const { json } = yield* get(`/api/v1/eval${path}/results`)
      assert.strictEqual(json["resolution_criteria"], macro.resolution_criteria)
      assert.strictEqual(json["resolution_criteria_zh"], macro.resolution_criteria_zh)
      assert.strictEqual(json["question"], macro.question)
    })
  )

  it.effect("The page of a macro challenge shows the last eight values of its series and unit", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const print = Effect.fnUntraced(function* (place: number, unit: string) {
        const deadline = plus(monday, { hours: place })
        const made = yield* newMacro({
          asset: "PPI",
          period: `2025-${String(place).padStart(2, "0")}`,
          deadline,
          unit
        })
        yield* moveTo(plus(deadline, "1 minute"))
        yield* Scoring.use((scoring) => scoring.resolveMacro(made.id, place / 10))
        return made
      })
      const first = yield* newMacro({ asset: "PPI", unit: "%", deadline: plus(monday, "30 minutes") })
      assert.notInclude(textOf(yield* get(`/challenges/${first.id}`)), "Published before")
      for (let place = 1; place <= 10; place++) yield* print(place, "%")
      yield* print(11, "index")
      const open = yield* newMacro({ asset: "PPI", unit: "%", deadline: plus(monday, "20 hours") })
      const page = yield* get(`/challenges/${open.id}`)
      const [, before = ""] = /Published before(.*)The credit pool/.exec(textOf(page)) ?? []
      assert.deepStrictEqual(
        [...before.matchAll(/(\w+) 2025 ([\d.]+) %/g)].map(([, month, value]) => `${month} ${value}`),
        [
          "October 1",
          "September 0.9",
          "August 0.8",
          "July 0.7",
          "June 0.6",
          "May 0.5",
          "April 0.4",
          "March 0.3"
        ]
      )
      assert.notInclude(before, "index")
    })
  )

  it.effect("The page of a macro challenge shows its stakes by bin, and then who won what", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const macro = yield* newMacro({ deadline, reward_pool: 1000, unit: "%" })
      const [winner, loser] = [yield* staker(100), yield* staker(100)]
      for (const agent of [winner, loser, yield* claimedAgent("Joan")]) yield* forecast(agent, macro)
      const path = `/challenges/${macro.id}`
      const empty = textOf(yield* get(path))
      assert.include(empty, "Reward pool 1000 credits Staked 0 credits by 0 agents The bins")
      assert.include(empty, "Every stake returns in full")

      yield* stake(winner, macro, 75, 3.15)
      yield* stake(loser, macro, 50, 2.9)
      const page = yield* get(path)
      const open = textOf(page)
      assert.include(open, "Staked 125 credits by 2 agents")
      assert.match(open, /below 3 40\.0 % 50 1 3 to below 3\.1 0\.0 % 0 0 3\.1 to below 3\.2 60\.0 % 75 1 /)
      assert.notInclude(page.text, winner)
      assert.notInclude(open, "Outcome")

      yield* moveTo(plus(deadline, "1 hour"))
      const closed = textOf(yield* get(path))
      assert.match(closed, /agent [0-9a-f]{8} 3\.1 ± 0\.1 .*Staked 75 credits on 3\.1 to below 3\.2 /)
      assert.notInclude(closed, "reward 1000 credits")

      yield* Scoring.use((scoring) => scoring.resolveMacro(macro.id, 3.1))
      const shown = textOf(yield* get(path))
      assert.match(
        shown,
        /Outcome Paid to agents on the winning bin Winning bin 3\.1 to below 3\.2 Paid 1000 credits in rewards; all stakes have returned/
      )
      assert.match(shown, /3\.1 to below 3\.2 Outcome Won the pool 60\.0 % 75 1 /)
      assert.include(shown, "Staked 75 credits on 3.1 to below 3.2; reward 1000 credits")
      assert.include(shown, "Staked 50 credits on below 3; reward 0 credits")
      assert.strictEqual(shown.split("Staked ").length, 4)
    })
  )

  it.effect("The page of a macro challenge says why nobody is paid: an empty bin, or no value", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const [missed, ended] = [yield* newMacro({ deadline }), yield* newMacro({ deadline })]
      yield* moveTo(deadline)
      yield* Scoring.use((scoring) => scoring.resolveMacro(missed.id, 3.1))
      yield* Scoring.use((scoring) => scoring.void("macro", ended.id, "the office was closed"))
      assert.include(
        textOf(yield* get(`/challenges/${missed.id}`)),
        "Outcome Void, for nobody had staked on the bin that holds the value: nobody gets a reward Paid 0 credits"
      )
      assert.include(
        textOf(yield* get(`/challenges/${ended.id}`)),
        "Outcome Void, for there is no value: nobody gets a reward Paid 0 credits"
      )
    })
  )

  it.effect("The page of an amended challenge says so, shows every version, and proves the newest", () =>
    Effect.gen(function* () {
      const { ada, deadline, keys, macro, path } = yield* macroFixture
      yield* moveTo(plus(deadline, "1 hour"))
      yield* Scoring.use((scoring) => scoring.resolveMacro(macro.id, 3.1))
      yield* completeLog
      yield* Amendments.use((amendments) =>
        amendments.amend(macro.id, { actual_value: 3.2, reason: "The office <corrected> it." })
      )
      const results = () => Effect.map(get(`/api/v1/eval${path}/results`), ({ json }) => json)
      assert.isNull(member(yield* results(), "log", "settlement_proof"))
      yield* completeLog
      const proof = String(member(yield* results(), "log", "settlement_proof"))
      assert.match(proof, new RegExp(`/api/v1/log/settlement/${macro.id}$`))

      const page = yield* get(path)
      const shown = textOf(page)
      assert.include(shown, "Amended: an administrator has corrected what it was decided by.")
      assert.include(shown, "The credit pool stays as it was settled, by version 1.")
      assert.match(shown, /Published 3\.2 % in the bin 3\.2 and above/)
      assert.match(shown, /Amended .* First settled .* UTC , by version 1/)
      assert.notMatch(shown, / Settled \d/)
      assert.match(shown, /Version 2 3\.2 .* this one counts The office <corrected> it\. Version 1 3\.1 /)
      assert.match(shown, /Settled entry \d+ .*Amended, version 2 entry \d+/)
      const proofs = linksOf(page).filter((link) => link.startsWith("/api/v1/log/"))
      assert.strictEqual(proofs.length, 6)
      assert.strictEqual(proofs.at(-1), `/api/v1/log/settlement/${macro.id}`)
      const { text } = yield* get(proofs.at(-1) ?? "none")
      const verification = yield* Effect.promise(() => verify({ proof: text, keys }))
      assert.isTrue(verification.holds, JSON.stringify(verification.checks))
      assert.deepInclude(Object.fromEntries(verification.statement?.facts ?? []), {
        "Published value": "3.2",
        Version: "2"
      })
      assert.match(textOf(yield* get(`/agents/${ada}`)), /Amended .* 3\.2 \d+\.\d /)
    })
  )

  it.effect("The page of a void macro challenge says why, and scores nobody", () =>
    Effect.gen(function* () {
      const { deadline, macro, path } = yield* macroFixture
      yield* moveTo(plus(deadline, "1 hour"))
      yield* Scoring.use((scoring) => scoring.void("macro", macro.id, "the office was closed"))
      yield* completeLog
      const shown = textOf(yield* get(path))
      assert.match(shown, /Void: nobody is scored by it\. the office was closed/)
      assert.match(shown, /Ended without a result entry \d+/)
      assert.notInclude(shown, "points")
    })
  )
})

layer(testServer())("The page of a price event", (it) => {
  it.effect(
    "The page of a price event shows no answer before the deadline, and then answers, outcome and proofs",
    () =>
      Effect.gen(function* () {
        const monday = yield* freshWeek
        const [ada, grace] = [yield* claimedAgent("Ada"), yield* claimedAgent("Grace")]
        const threshold = yield* newPriceEvent({ kind: "threshold", level: 1999.5 })
        const close = yield* newPriceEvent({ kind: "numeric_close" })
        const { answer: sent } = yield* answerPriceEvent(ada, threshold, {
          confidence: 0.875,
          reasoning: "Flows <in>."
        })
        yield* answerPriceEvent(grace, threshold, { direction: "bearish" })
        yield* answerPriceEvent(ada, close, { predicted_value: 1990, predicted_std: 12.5 })
        yield* completeLog
        const keys = yield* TransparencyLog.use((log) => log.verifierKeys)
        const path = `/challenges/${threshold.id}`
        const open = yield* get(path)
        const shown = textOf(open)
        for (const sentence of [
          "Price event on Ethereum Will Ethereum close at or above 1,999.5 on 2 March?",
          "Level 1,999.5",
          "So far 2 answers.",
          String(threshold.resolution_criteria),
          String(threshold.resolution_criteria_zh)
        ]) {
          assert.include(shown, sentence)
        }
        for (const secret of [ada, String(sent.receipt?.commit), "Ada", "0.875", "Flows"]) {
          assert.notInclude(open.text, secret)
        }

        yield* moveTo(plus(monday, "1 day"))
        yield* importCandles("ETH", "1h", [[plus(monday, "23 hours"), 2000]])
        yield* Scoring.use((scoring) => scoring.settleDue)
        yield* completeLog
        const settled = yield* get(path)
        assert.match(textOf(settled), /Result ▲ Yes Close 2,000 Level 1,999\.5/)
        assert.match(textOf(settled), /Ada [0-9a-f]{8} ▲ Yes 93\.8 % Right 93\.75 points entry \d+/)
        assert.include(textOf(settled), "Flows <in>.")
        const proofs = linksOf(settled).filter((link) => link.startsWith("/api/v1/log/"))
        assert.strictEqual(proofs.length, 5)
        for (const proof of proofs) {
          const { text } = yield* get(proof)
          const verification = yield* Effect.promise(() => verify({ proof: text, keys }))
          assert.isTrue(verification.holds, JSON.stringify(verification.checks))
        }
        const numeric = textOf(yield* get(`/challenges/${close.id}`))
        assert.match(numeric, /Close 2,000 .*Reference scale 10 /)
        assert.match(numeric, /Ada [0-9a-f]{8} 1,990 ± 12\.5 CRPS \d/)
        assert.match(textOf(yield* get(`/agents/${ada}`)), /1,990 ± 12\.5 2,000 \d+\.\d /)
      })
  )

  it.effect("The page of a void price event says why, and scores nobody", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const barrier = yield* newPriceEvent({ kind: "barrier" })
      yield* answerPriceEvent(yield* claimedAgent("Ada"), barrier)
      yield* moveTo(plus(monday, "96 hours"))
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* completeLog
      const shown = textOf(yield* get(`/challenges/${barrier.id}`))
      assert.match(
        shown,
        /Void: nobody is scored by it\. The candles that decide it were not all known and undisputed by/
      )
      assert.match(shown, /Ended without a result entry \d+/)
      assert.notInclude(shown, "points")
    })
  )
})

layer(testServer())("A log with a fault", (it) => {
  it.effect("Pages say that the log stands still, and not that it is about to go on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* newChallenge({ deadline: plus(yield* freshWeek, "1 hour") })
      assert.include(textOf(yield* get(`/challenges/${id}`)), "about to be entered")
      yield* sql`update log_state set fault = 'found'`
      const shown = textOf(yield* get(`/challenges/${id}`))
      assert.include(shown, "The public log stands still at the moment")
      assert.notInclude(shown, "about to be entered")
      yield* sql`update log_state set fault = null`
    })
  )
})

layer(testServer())("The page of an agent", (it) => {
  it.effect("The page of an agent shows statistics, and settled predictions with links to proofs", () =>
    Effect.gen(function* () {
      const { ada, challenge, right } = yield* settledFixture(["<b>Ada</b>", "Grace"])
      const page = yield* get(`/agents/${ada}`)
      const shown = textOf(page)
      assert.include(shown, "<b>Ada</b>")
      assert.notInclude(page.text, "<b>Ada</b>")
      assert.include(shown, "Verified owner")
      assert.match(shown, /Average score 93\.75 of 100/)
      assert.match(shown, /Right 1 of 1, 100\.0 %/)
      assert.match(shown, /▲ Up 93\.8 % ▲ Up 93\.8 /)
      assert.include(linksOf(page), `/challenges/${challenge.id}`)
      assert.include(linksOf(page), `/api/v1/log/proof/${right.commit}`)
      assert.notInclude(page.text, 'name="robots"')
    })
  )

  it.effect("The page of a suspended agent says so, and not that somebody answers for it", () =>
    Effect.gen(function* () {
      const agent = yield* claimedAgent("Nightjar")
      yield* Registry.use((registry) =>
        registry.amend(agent, { suspended: true, reason: "It copied others." })
      )
      const shown = textOf(yield* get(`/agents/${agent}`))
      assert.include(shown, "Suspended By the administrators of this service. It is on no board")
      assert.notInclude(shown, "Verified owner")
      assert.notInclude(shown, "It copied others.")
    })
  )

  it.effect("The page of an agent has further pages of predictions, which repeat nothing of it", () =>
    Effect.gen(function* () {
      const { ada } = yield* settledFixture()
      const now = yield* DateTime.now
      const deadline = plus(now, "1 hour")
      yield* predict(ada, yield* newChallenge({ deadline }))
      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      const { json } = yield* get(`/api/v1/eval/agents/${ada}/scorecard?limit=1`)
      const cursor = String(json["next_cursor"])
      const path = `/agents/${ada}/predictions`
      assert.match(textOf(yield* get(path)), /Settled predictions 2 predictions, the last settled first/)
      const shown = textOf(yield* get(`${path}?${new URLSearchParams({ cursor }).toString()}`))
      assert.match(shown, /Challenge Said Came Points Predicted Proof/)
      for (const repeated of ["Average score", "Its record", "About it"]) assert.notInclude(shown, repeated)
    })
  )

  it.effect("The page of an agent that nobody claimed and nothing settled says so", () =>
    Effect.gen(function* () {
      const shown = textOf(yield* get(`/agents/${yield* provisionalAgent("New")}`))
      assert.include(shown, "Unclaimed Not ranked yet.")
      assert.include(shown, "None of its predictions is settled yet.")
    })
  )
})

/** The keys and proofs of a world in which everything is settled. */
const provenFixture = Effect.gen(function* () {
  const { challenge, keys, right, wrong } = yield* settledFixture()
  const proofs = yield* Effect.forEach(
    [
      `/api/v1/log/proof/${right.commit}`,
      `/api/v1/log/proof/${wrong.commit}`,
      `/api/v1/log/settlement/${challenge.id}`,
      "/api/v1/log/proof/entry/0"
    ],
    (path) => Effect.map(get(path), ({ text }) => text)
  )
  return { key: keys[0] ?? "", proofs }
})

layer(testServer())("Proofs that the server gives out", (it) => {
  it.effect("Every proof satisfies a verifier that others wrote", () =>
    Effect.gen(function* () {
      const { key, proofs } = yield* provenFixture
      for (const proof of proofs) assert.doesNotThrow(() => checkWithSigstore(key, proof))
    })
  )

  it.effect.skipIf("missing" in go)(
    `Every proof, and the whole log by its tiles, satisfies Go's verifier${"missing" in go ? ` (skipped: ${go.missing})` : ""}`,
    () =>
      Effect.gen(function* () {
        assert("proof" in go)
        const { url } = yield* TestServer
        const { key, proofs } = yield* provenFixture
        for (const proof of proofs) {
          assert.include(yield* Effect.promise(() => go.proof(key, proof)), "entry")
        }
        assert.match(yield* Effect.promise(() => go.log(key, url)), /^\d+ entries, root /)
      })
  )

  it.effect("An entry that is not in the log has no proof", () =>
    Effect.gen(function* () {
      yield* completeLog
      for (const place of ["1000000", "-1", "00", "x", "9".repeat(30)]) {
        assert.strictEqual((yield* get(`/api/v1/log/proof/entry/${place}`)).status, 404, place)
      }
    })
  )
})
