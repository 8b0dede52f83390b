/** The reference agents: how they answer, how their answers are sealed like all others, and where they are listed. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Random, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../src/services/Audit.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Charts } from "../../src/services/Charts.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { ReferenceAgents } from "../../src/services/ReferenceAgents.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Skill } from "../../src/services/Skill.ts"
import { agentOf, agentsApart, anotherOperator } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importCandles,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict,
  resultsOf,
  submit
} from "../support/challenges.ts"
import { rowsOf } from "../support/database.ts"
import { completeLog } from "../support/logbook.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"
import { withoutTriggers } from "../support/tampering.ts"

const predictDue = ReferenceAgents.use((agents) => agents.predictDue)

const Said = Schema.Struct({
  method: Schema.String,
  direction: Schema.NullOr(Schema.String),
  confidence: Schema.NullOr(Schema.Finite),
  value: Schema.NullOr(Schema.Finite),
  std: Schema.NullOr(Schema.Finite),
  vector: Schema.NullOr(Schema.Record(Schema.String, Schema.Finite))
})

const answersTo = ({ id }: { readonly id: string }) =>
  Effect.map(
    rowsOf(
      Said,
      (sql) => sql`
        select a.reference as method, p.direction, p.confidence::float8 as confidence, p.predicted_value::float8 as value,
               p.predicted_std::float8 as std,
               case when p.form is not null then convert_from(p.body, 'UTF8')::jsonb -> 'values' -> 'probabilities' end as vector
          from predictions p join agents a on a.id = p.agent_id
         where p.challenge_id = ${id}::uuid and a.reference is not null order by 1`
    ),
    (rows) => new Map(rows.map((row) => [row.method, row]))
  )

/** Hourly closes of ETH until now: a walk, whose last day goes up. */
const priced = Effect.fnUntraced(function* (now: DateTime.Utc) {
  let price = 100
  const candles: Array<readonly [DateTime.Utc, number]> = []
  for (let hour = -800; hour < 0; hour++) {
    const step = hour < -30 ? (yield* Random.nextIntBetween(-100, 100)) / 10_000 : 0.001
    price = Number((price * (1 + step)).toFixed(4))
    candles.push([plus(now, { hours: hour }), price])
  }
  yield* importCandles("ETH", "1h", candles)
  return price
}, Random.withSeed("references"))

layer(testServices())("The reference agents", (it) => {
  it.effect("Each reference method that has an answer answers every question once, in time, in the log", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const price = yield* priced(now)
      const direction = yield* newChallenge({
        asset: "ETH",
        open_price: price,
        dead_zone_pct: 0.5,
        resolve_at: plus(now, "4 hours")
      })
      const close = yield* newPriceEvent({ kind: "numeric_close", reference_scale: 2 })
      const days = yield* newPriceEvent({ kind: "count_days" })
      const first = yield* newMacro({ period: "2026-01" })
      const sent = yield* predictDue
      assert.strictEqual(yield* predictDue, 0)
      const answers = yield* answersTo(direction)
      assert.sameMembers(
        [...answers.keys()],
        ["always neutral", "climatology", "contrarian", "momentum", "random walk"]
      )
      const walk = answers.get("random walk")?.vector ?? {}
      const reference = yield* Skill.use((skill) => skill.referenceOf(direction.id))
      assert.closeTo(walk["bullish"] ?? 0, reference.steps[0]?.odds?.[0] ?? 1, 1e-6)
      assert.strictEqual(answers.get("momentum")?.direction, "bullish")
      assert.strictEqual(answers.get("contrarian")?.direction, "bearish")
      assert.strictEqual(answers.get("always neutral")?.direction, "neutral")
      assert.closeTo(answers.get("climatology")?.vector?.["neutral"] ?? 0, 1 / 3, 1e-5)
      const closes = yield* answersTo(close)
      assert.closeTo(closes.get("random walk")?.value ?? 0, price, 1e-6)
      assert.isAbove(closes.get("momentum")?.value ?? 0, price)
      assert.isBelow(closes.get("contrarian")?.value ?? Infinity, price)
      assert.closeTo((yield* answersTo(days)).get("random walk")?.value ?? 0, 3.5, 1e-9)
      // A series has no known value before its first print.
      assert.strictEqual((yield* answersTo(first)).size, 0)
      assert.isAbove(sent, 10)
      yield* completeLog
      const logged = yield* rowsOf(
        Schema.Struct({ count: Schema.Int }),
        (sql) => sql`
          select count(*)::int as count from predictions p join agents a on a.id = p.agent_id
           where a.reference is not null
             and exists (select from log_entries e where e.type = 'prediction.commit' and e.commit = p.commit)`
      )
      assert.deepStrictEqual(logged, [{ count: sent }])

      yield* moveTo(plus(now, "2 hours"))
      yield* Scoring.use((scoring) => scoring.resolveMacro(first.id, 3.15))
      const second = yield* newMacro({ period: "2026-02" })
      yield* predictDue
      assert.deepInclude((yield* answersTo(second)).get("last print"), { value: 3.15, std: 0.12 })
    })
  )

  it.effect("The reference agents have no rank, verdict or count, and the walk has no skill", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const price = yield* priced(now)
      const owner = yield* anotherOperator
      const [one, two] = [yield* agentOf(owner), yield* agentOf(owner)]
      const [other] = (yield* agentsApart(1)) as [AgentId]
      const question = yield* newChallenge({
        asset: "ETH",
        open_price: price,
        dead_zone_pct: 0.5,
        resolve_at: plus(now, "4 hours")
      })
      yield* predictDue
      yield* predict(one, question, { direction: "bullish", confidence: 0.6 })
      yield* predict(two, question, { direction: "bullish", confidence: 0.2 })
      yield* predict(other, question, { direction: "bearish", confidence: 0 })
      yield* moveTo(plus(now, { hours: 4, minutes: 5 }))
      yield* importCandles("ETH", "1h", [[plus(now, "3 hours"), price * 1.02]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* ReferenceAgents.use((agents) => agents.poolDue)
      const { consensus } = yield* resultsOf(question)
      assert.strictEqual(consensus?.owners, 2)
      // (0.8 + 0.6) / 2 of the one owner, and 0.25 of the other.
      assert.closeTo(consensus?.odds?.[0] ?? 0, (0.7 + 0.25) / 2, 1e-12)
      assert.closeTo(consensus?.odds?.[2] ?? 0, (0.15 + 0.5) / 2, 1e-12)
      yield* moveTo(plus(now, { days: 1, hours: 1 }))
      yield* Skill.use((skill) => skill.countDue)
      const { items } = yield* Scoring.use((scoring) =>
        scoring.leaderboard({ order: "skill", category: "crypto" }, firstPage)
      )
      const references = items.filter(({ status }) => status === "reference")
      assert.includeMembers(
        references.map(({ agent_name }) => agent_name),
        ["Reference: consensus", "Reference: random walk", "Reference: momentum"]
      )
      for (const each of references) assert.isNull(each.rank)
      const walk = references.find(({ agent_name }) => agent_name === "Reference: random walk")
      assert.closeTo(walk?.skill ?? 1, 0, 1e-5)
      assert.isAbove(
        references.find(({ agent_name }) => agent_name === "Reference: consensus")?.skill ?? -1,
        0
      )
      assert.deepStrictEqual(
        items.filter(({ rank }) => rank !== null).map(({ rank }) => rank),
        [1, 2, 3]
      )
      assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])

      // They get no verdict, and do not count as agents.
      const board = yield* Scoring.use((scoring) => scoring.leaderboard({ order: "skill" }, firstPage))
      assert.strictEqual(board.agents, 3)
      assert.strictEqual(board.total, 3 + references.length)
      for (const { agent_id } of references) {
        const { by_day, overall } = yield* Skill.use((skill) => skill.profile(agent_id))
        const { score = 9, sequence: [low, high] = [9, 9], told } = overall?.evidence ?? {}
        assert.isFalse(told)
        assert.isNull(overall?.needed)
        assert.isAtMost(low, score)
        assert.isAtLeast(high, score)
        for (const { sequence } of by_day) assert.isAtMost(sequence[0], sequence[1])
      }
      const [walkId, momentumId] = ["Reference: random walk", "Reference: momentum"].map(
        (name) => references.find(({ agent_name }) => agent_name === name)?.agent_id ?? ""
      ) as [string, string]
      const ofReferences = yield* Skill.use((skill) => skill.compare(walkId, momentumId))
      assert.isNull(ofReferences.told)
      // Beside the walk an agent's evidence is that of its own page.
      const { evidence, skill } = (yield* Skill.use((skills) => skills.profile(one))).overall ?? {}
      const beside = yield* Skill.use((skills) => skills.compare(one, walkId))
      assert.deepInclude(beside, {
        questions: 1,
        difference: skill ?? null,
        sequence: evidence?.sequence ?? null,
        e_value: evidence?.e_value ?? null,
        told_from: 40,
        told: null
      })
      const other_ = yield* Skill.use((skills) => skills.compare(walkId, one))
      assert.strictEqual(other_.difference, -(skill ?? 0))
      assert.deepStrictEqual([other_.a, other_.b], [beside.b, beside.a])

      const results = yield* resultsOf(question)
      const isReference = ({ reference }: (typeof results.predictions)[number]) => reference !== null
      assert.strictEqual(results.prediction_count, 3)
      assert.strictEqual(results.predictions.filter(isReference).length, 5)
      const terms = yield* Arenas.use((arenas) => arenas.getOf("directional", question.id))
      assert.deepInclude(terms, {
        prediction_count: 3,
        bullish_count: 2,
        bearish_count: 1,
        neutral_count: 0
      })
      const summary = yield* Arenas.use((arenas) => arenas.summary(question.id))
      assert.deepInclude(summary, {
        prediction_count: 3,
        split: { bullish: 2, bearish: 1, neutral: 0 }
      })
      const drawn = yield* Charts.use((charts) => charts.answers(question.id))
      assert.lengthOf(drawn.values, 3)
    })
  )

  it.effect("The overall calibration covers agents alone, not the reference agents", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const scoring = yield* Scoring
      const before = yield* scoring.calibration
      const earlier = yield* newMacro({ period: "2027-01" })
      yield* moveTo(plus(now, "2 hours"))
      yield* scoring.resolveMacro(earlier.id, 3.1)
      const question = yield* newMacro({ period: "2027-02" })
      const [agent] = (yield* agentsApart(1)) as [AgentId]
      yield* predictDue
      yield* forecast(agent, question, { predicted_value: 3.1, predicted_std: 0.1 })
      assert.isAbove((yield* answersTo(question)).size, 0)
      yield* moveTo(plus(now, "4 hours"))
      yield* scoring.resolveMacro(question.id, 3.2)
      yield* Amendments.use((amendments) =>
        amendments.amend(question.id, { actual_value: 3.15, reason: "a misprint" })
      )
      const own = yield* scoring.calibrationOf(agent)
      const all = yield* scoring.calibration
      assert.strictEqual(own.count, 1)
      assert.strictEqual(all.count, before.count + 1)
      for (const [bucket, { count }] of all.pit.buckets.entries()) {
        const added = count - (before.pit.buckets[bucket]?.count ?? 0)
        assert.closeTo(added, own.pit.buckets[bucket]?.count ?? -1, 1e-9)
      }
      const { differences } = yield* Audit.use(({ verifyStats }) => verifyStats)
      assert.deepStrictEqual(
        differences.filter((difference) => difference.startsWith("calibration")),
        []
      )
    })
  )

  it.effect("A failing question stops no other's consensus, and reads of skill parse no answer", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const price = yield* priced(now)
      const [agent, other] = (yield* agentsApart(2)) as [AgentId, AgentId]
      const terms = {
        asset: "ETH",
        open_price: price,
        dead_zone_pct: 0.5,
        resolve_at: plus(now, "4 hours")
      }
      const [broken, sound] = [yield* newChallenge(terms), yield* newChallenge(terms)]
      const vector = { probabilities: { bullish: 0.4, neutral: 0.35, bearish: 0.25 } }
      for (const question of [broken, sound]) {
        yield* submit({
          agentId: agent,
          challengeId: question.id,
          type: "directional",
          answer: vector,
          receivedAt: now
        })
        yield* predict(other, question)
      }
      yield* moveTo(plus(now, { hours: 4, minutes: 5 }))
      yield* importCandles("ETH", "1h", [[plus(now, "3 hours"), price * 1.02]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      yield* withoutTriggers(
        ["predictions"],
        SqlClient.SqlClient.use(
          (sql) => sql`
              update predictions
                 set body = convert_to('no JSON', 'UTF8'),
                     commit = sha256('auspex/commit/v1'::bytea || '\\x00'::bytea || salt || convert_to('no JSON', 'UTF8'))
               where challenge_id = ${broken.id}::uuid`
        )
      )
      yield* ReferenceAgents.use((agents) => agents.poolDue)
      const consensusOf = (id: string) =>
        rowsOf(
          Schema.Struct({ owners: Schema.Int }),
          (sql) => sql`select owners from challenge_consensus where challenge_id = ${id}::uuid`
        )
      assert.deepStrictEqual(yield* consensusOf(broken.id), [])
      assert.deepStrictEqual(yield* consensusOf(sound.id), [{ owners: 2 }])
      yield* moveTo(plus(now, { days: 1, hours: 1 }))
      yield* Skill.use((skill) => skill.countDue)
      const { directions, overall } = yield* Skill.use((skill) => skill.profile(agent))
      assert.strictEqual(overall?.answers, 2)
      assert.deepStrictEqual(
        directions.map(({ answers, low, stated }) => [low, answers, stated]),
        [[0.4, 2, 0.4]]
      )
      assert.strictEqual((yield* Skill.use((skill) => skill.compare(agent, other))).questions, 2)
      assert.strictEqual((yield* Charts.use((charts) => charts.trackRecord(agent))).days.length, 1)
    })
  )
})
