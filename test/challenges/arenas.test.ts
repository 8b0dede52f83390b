/** Challenges: how they are made and frozen, and what lists and results show to whom. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { Arenas } from "../../src/services/Arenas.ts"
import type { ChallengeFilter } from "../../src/services/Arenas.ts"
import type { Challenge } from "../../src/services/domain/Challenge.ts"
import { Events } from "../../src/services/Events.ts"
import { EventId } from "../../src/services/domain/ids.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import type { Page } from "../../src/services/domain/paging.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import {
  forecast,
  freshWeek,
  importCandles,
  importQuotes,
  millisBefore,
  moveTo,
  newChallenge,
  newMacro,
  plus,
  predict,
  resultsOf,
  settleDue
} from "../support/challenges.ts"
import { allPages, firstPage, foreignCursors } from "../support/paging.ts"
import { services, testServices } from "../support/services.ts"
import { settings } from "../support/settings.ts"

const list = (filter: ChallengeFilter, page: Page = firstPage) =>
  Arenas.use((arenas) => arenas.list("directional", filter, page))
const total = (filter: ChallengeFilter) => Arenas.use((arenas) => arenas.total("directional", filter))
const active = (agentId: AgentId, page: Page = firstPage) =>
  Arenas.use((arenas) => arenas.active(agentId, page))
const cancel = (challenge: { readonly id: string }, reason: string) =>
  Scoring.use((scoring) => scoring.void("directional", challenge.id, reason))
const changeTarget = (key: string, change: Parameters<Targets["Service"]["change"]>[1]) =>
  Targets.use((targets) => targets.change(key, change))

const idsOf = (items: ReadonlyArray<{ readonly id: string }>) => items.map((each) => each.id)

/** The challenge as a reader sees it now. */
const seen = Effect.fnUntraced(function* (challenge: Challenge) {
  const found = (yield* list({ asset: challenge.asset })).items.find((each) => each.id === challenge.id)
  assert(found !== undefined)
  return found
})

/** Members that a direction leaves out, and scores that it does not have. */
const noForecast = {
  probabilities: null,
  predicted_value: null,
  predicted_std: null,
  quantiles: null,
  samples: null,
  crps: null,
  skill: null,
  stake: null,
  stake_bin: null,
  reward: null
}

layer(testServices())("A new challenge", (it) => {
  it.effect("A challenge without a given dead zone takes its target's, and gets its own question", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const made = yield* Arenas.use((arenas) =>
        arenas.create("directional", {
          asset: "DXY",
          open_price: 104,
          deadline: now,
          resolve_at: plus(now, "1 hour")
        })
      )
      assert.strictEqual(made.dead_zone_pct, 0.15)
      assert.strictEqual(made.kind, "session")
      assert.include(made.question, "US dollar index")
    })
  )

  it.effect("A challenge without a given open price opens at the latest known price", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const terms = { asset: "ES", deadline: plus(now, "1 hour"), resolve_at: plus(now, "1 hour") }
      const create = Arenas.use((arenas) => arenas.create("directional", terms))
      const unpriced = yield* Effect.flip(create)
      assert(unpriced._tag === "InvalidRequest")
      assert.deepStrictEqual(
        unpriced.errors.map((error) => error.path),
        ["open_price"]
      )
      yield* importCandles("ES", "1h", [
        [plus(now, "-2 hours"), 5000.25],
        [plus(now, "-1 hours"), 5001.5],
        // This candle is under way, and unknown before it ends.
        [now, 9999]
      ])
      assert.strictEqual((yield* create).open_price, 5001.5)
    })
  )

  it.effect("A challenge that resolves by now needs an open price: the latest may be its closing price", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importCandles("HG", "1h", [[plus(now, "-1 hours"), 4.5]])
      const arenas = yield* Arenas
      const late = { asset: "HG", deadline: now, resolve_at: now }
      const refused = yield* Effect.flip(arenas.create("directional", late))
      assert(refused._tag === "InvalidRequest")
      assert.strictEqual(refused.errors[0]?.path, "open_price")
      assert.strictEqual((yield* arenas.create("directional", { ...late, open_price: 4.4 })).open_price, 4.4)
      const ahead = { ...late, resolve_at: plus(now, "1 hour") }
      assert.strictEqual((yield* arenas.create("directional", ahead)).open_price, 4.5)
    })
  )

  it.effect("A latest price that is not above zero opens no challenge: it has no percentages", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      yield* importQuotes("CL", [[now, -37.63]])
      const refused = yield* Effect.flip(
        Arenas.use((arenas) =>
          arenas.create("directional", { asset: "CL", deadline: now, resolve_at: plus(now, "1 hour") })
        )
      )
      assert(refused._tag === "InvalidRequest")
      assert.deepStrictEqual(
        refused.errors.map((error) => error.path),
        ["open_price"]
      )
    })
  )

  it.effect("A challenge on a paused target is refused, for administrators too", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const paused = yield* Effect.flip(newChallenge({ asset: "BTC" }))
      assert.strictEqual(paused._tag, "TargetPaused")
      assert.strictEqual(paused.code, "target_paused")
      yield* changeTarget("HG", { paused: true })
      assert.strictEqual((yield* Effect.flip(newChallenge({ asset: "HG" })))._tag, "TargetPaused")
      yield* changeTarget("HG", { paused: false })
      yield* newChallenge({ asset: "HG" })
    })
  )

  it.effect("A challenge with impossible terms is refused by the name of the field", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const wrong = [
        ["asset", { asset: "XX" }],
        ["asset", { asset: "CPI" }],
        ["resolve_at", { deadline: plus(now, "2 hours"), resolve_at: plus(now, "1 hour") }],
        ["event_id", { event_id: EventId.make("no-such-event") }]
      ] as const
      for (const [path, terms] of wrong) {
        const refused = yield* Effect.flip(newChallenge(terms))
        assert(refused._tag === "InvalidRequest")
        assert.deepStrictEqual(
          refused.errors.map((error) => error.path),
          [path]
        )
      }
    })
  )

  it.effect("A later change of the target's dead zone does not change a challenge", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const { deadline, resolve_at } = {
        deadline: plus(yield* DateTime.now, "1 hour"),
        resolve_at: plus(yield* DateTime.now, "2 hours")
      }
      const create = Arenas.use((arenas) =>
        arenas.create("directional", { asset: "ZS", open_price: 1200, deadline, resolve_at })
      )
      const before = yield* create
      yield* changeTarget("ZS", { dead_zone_pct: 5 })
      const after = yield* create
      assert.strictEqual(before.dead_zone_pct, 0.5)
      assert.deepStrictEqual(yield* seen(before), before)
      assert.strictEqual(after.dead_zone_pct, 5)
      assert.include(after.resolution_criteria, "+5 %")
    })
  )

  it.effect("A later change of settings does not change a challenge", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const made = yield* newChallenge({ asset: "ZN", deadline: now })
      const changed = services.pipe(
        Layer.provide(
          settings({
            AUSPEX_CLOSE_PRICE_WITHIN: "1 hour",
            AUSPEX_DIRECTIONAL_CANCEL_AFTER: "1 day"
          })
        ),
        Layer.fresh
      )
      yield* moveTo(plus(now, "2 days"))
      yield* importQuotes("ZN", [[plus(now, "20 hours"), 101.5]])
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* seen(made), { ...made, status: "closed" })
        const other = yield* newChallenge({ asset: "ZN" })
        assert.match(other.resolution_criteria ?? "", /1 hours? after.*24 hours after/)
        yield* settleDue
        assert.strictEqual((yield* resultsOf(made)).close_price, 101.5)
      }).pipe(Effect.provide(changed))
    })
  )
})

layer(testServices())("The list of challenges", (it) => {
  it.effect("The list of challenges filters by status, event and asset, each with its total", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const event_id = EventId.make("evt-1")
      yield* Events.use((events) => events.importAll([{ event_id, title: "A storm" }]))
      const oil = yield* newChallenge({ asset: "CL", event_id })
      const gas = yield* newChallenge({ asset: "NG", event_id })
      const closedGas = yield* newChallenge({ asset: "NG", deadline: now })
      const found = Effect.fnUntraced(function* (filter: ChallengeFilter) {
        return [idsOf((yield* list(filter)).items), yield* total(filter)]
      })
      assert.deepStrictEqual(yield* found({ eventId: event_id }), [[gas.id, oil.id], 2])
      assert.deepStrictEqual(yield* found({ asset: "NG" }), [[closedGas.id, gas.id], 2])
      assert.deepStrictEqual(yield* found({ asset: "NG", status: "open" }), [[gas.id], 1])
      assert.deepStrictEqual(yield* found({ asset: "NG", status: "closed", eventId: event_id }), [[], 0])
      const none = yield* Effect.flip(list({ eventId: EventId.make("unknown") }))
      assert.strictEqual(none.detail, "event_id: There is no event unknown.")
    })
  )

  it.effect("Pages of challenges, newest first, never repeat or skip one while new ones arrive", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const made = yield* Effect.replicateEffect(newChallenge({ asset: "DXY" }), 11)
      const pages = yield* allPages(3, (page) =>
        Effect.gen(function* () {
          const read = yield* list({ asset: "DXY" }, page)
          yield* newChallenge({ asset: "DXY" })
          return read
        })
      )
      assert.deepStrictEqual(
        pages.map((page) => page.length),
        [3, 3, 3, 2]
      )
      assert.deepStrictEqual(idsOf(pages.flat()), idsOf(made).toReversed())
      assert.strictEqual(yield* total({ asset: "DXY" }), 15)
    })
  )

  it.effect("A cursor of another list is refused by the name of the parameter", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenge = yield* newChallenge()
      yield* Targets.use((targets) => targets.subscribe(agent, "GC"))
      for (const cursor of foreignCursors(["challenges"], "01890000-0000-7000-8000-00000000000", challenge)) {
        const page = { limit: 10, cursor }
        const refusals = [
          yield* Effect.flip(list({}, page)),
          yield* Effect.flip(active(agent, page)),
          yield* Effect.flip(resultsOf(challenge, page)),
          yield* Effect.flip(Arenas.use((arenas) => arenas.ownPredictions(agent, page))),
          yield* Effect.flip(Arenas.use((arenas) => arenas.paperSignals(agent, challenge.id, page)))
        ]
        for (const refused of refusals) {
          assert(refused._tag === "InvalidRequest")
          assert.deepStrictEqual(
            refused.errors.map((error) => error.path),
            ["cursor"]
          )
        }
      }
    })
  )
})

layer(testServices())("Active challenges", (it) => {
  it.effect("An agent without scopes gets no active challenges, and a hint on how to subscribe", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* newChallenge()
      const { hint, ...rest } = yield* active(yield* claimedAgent())
      assert.deepStrictEqual(rest, { items: [], total: 0, next_cursor: null })
      assert.include(hint, "POST /api/v1/agent/prediction-scope/")
    })
  )

  it.effect("Active challenges are the open ones of the agent's scopes only, newest first, in pages", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const targets = yield* Targets
      const agent = yield* claimedAgent()
      const gold = yield* newChallenge({ asset: "GC" })
      yield* newChallenge({ asset: "CL" })
      yield* newChallenge({ asset: "GC", deadline: now })
      const euro = yield* newChallenge({ asset: "ETH" })
      const cancelled = yield* newChallenge({ asset: "ETH" })
      yield* cancel(cancelled, "why")
      yield* Effect.forEach(["GC", "ETH"], (key) => targets.subscribe(agent, key))
      const all = yield* active(agent)
      assert.deepStrictEqual(idsOf(all.items), [euro.id, gold.id])
      assert.strictEqual(all.total, 2)
      assert.notProperty(all, "hint")
      const pages = yield* allPages(1, (page) => active(agent, page))
      assert.deepStrictEqual(idsOf(pages.flat()), [euro.id, gold.id])
      yield* targets.unsubscribe(agent, "ETH")
      assert.deepStrictEqual(idsOf((yield* active(agent)).items), [gold.id])
      yield* moveTo(plus(now, "1 hour"))
      assert.deepStrictEqual((yield* active(agent)).items, [])
    })
  )
})

layer(testServices())("The results of a challenge", (it) => {
  it.effect(
    "Results show the latest predictions from the deadline on, without scores before the settlement",
    () =>
      Effect.gen(function* () {
        const deadline = plus(yield* freshWeek, "1 hour")
        const challenge = yield* newChallenge({ deadline })
        const [right, wrong] = [yield* claimedAgent("right"), yield* claimedAgent("wrong")]
        yield* predict(right, challenge, { direction: "bearish", confidence: 0.9 })
        const revised = yield* predict(right, challenge, {
          confidence: 0.8,
          reasoning: "Up.",
          is_revision: true
        })
        const neutral = yield* predict(wrong, challenge, { direction: "neutral", confidence: 0.1 })
        const placeOf = ({ answer }: typeof revised) => ({
          commit: answer.receipt?.commit ?? "none",
          leaf_index: null
        })

        yield* moveTo(millisBefore(deadline, 1))
        const before = yield* resultsOf(challenge)
        assert.deepStrictEqual(before.predictions, [])
        assert.strictEqual(before.prediction_count, 2)

        yield* moveTo(deadline)
        const closed = yield* resultsOf(challenge)
        const shown = [
          {
            agent_id: right,
            agent_name: "right",
            name_tag: null,
            reference: null,
            direction: "bullish" as const,
            confidence: 0.8,
            reasoning: "Up.",
            ...placeOf(revised)
          },
          {
            agent_id: wrong,
            agent_name: "wrong",
            name_tag: null,
            reference: null,
            direction: "neutral" as const,
            confidence: 0.1,
            reasoning: null,
            ...placeOf(neutral)
          }
        ].sort((a, b) => (a.agent_id < b.agent_id ? -1 : 1))
        assert.deepStrictEqual(
          closed.predictions,
          shown.map((each) => ({ ...each, ...noForecast, is_correct: null, score: null }))
        )
        assert.deepStrictEqual(
          [closed.status, closed.result, closed.close_price, closed.resolved_at, closed.settlement],
          ["closed", null, null, null, null]
        )
      })
  )

  it.effect("Pages of results never repeat or skip an agent", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      const agents = yield* claimedAgents(10)
      for (const agent of agents) yield* predict(agent, challenge)
      for (const agent of agents.slice(3, 7)) yield* predict(agent, challenge, { is_revision: true })
      yield* moveTo(deadline)
      const pages = yield* allPages(4, (page) =>
        Effect.map(resultsOf(challenge, page), ({ predictions, next_cursor }) => ({
          items: predictions.map((each) => each.agent_id),
          next_cursor
        }))
      )
      assert.deepStrictEqual(
        pages.map((page) => page.length),
        [4, 4, 2]
      )
      assert.deepStrictEqual(pages.flat(), agents.toSorted())
    })
  )
})

layer(testServices())("An agent's own predictions", (it) => {
  it.effect("An agent's predictions have open ones too, each by its latest revision, and no one else's", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      const settled = yield* newChallenge({ deadline: plus(now, "1 hour") })
      const open = yield* newChallenge({ asset: "ES", deadline: plus(now, "1 day") })
      yield* predict(agent, open, { direction: "bearish", reasoning: "first" })
      yield* predict(agent, settled, { confidence: 0.3 })
      yield* predict(agent, open, { direction: "neutral", reasoning: "second", is_revision: true })
      yield* predict(other, open)
      yield* moveTo(plus(now, "1 hour"))
      yield* importQuotes("GC", [[plus(now, "1 hour"), 90]])
      yield* settleDue
      const { items } = yield* Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage))
      assert.deepStrictEqual(
        items.map((each) => [
          each.challenge_id,
          each.asset,
          each.challenge_status,
          each.direction,
          each.reasoning,
          each.revision_count,
          each.is_correct,
          each.score
        ]),
        [
          [open.id, "ES", "open", "neutral", "second", 1, null, null],
          [settled.id, "GC", "resolved", "bullish", null, 0, false, 35]
        ]
      )
    })
  )

  it.effect("An agent's predictions can be filtered by challenge, type and status", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const agent = yield* claimedAgent()
      const over = yield* newChallenge({ asset: "GC", deadline: plus(now, "1 hour") })
      const open = yield* newChallenge({ asset: "ES", deadline: plus(now, "9 hours") })
      const figure = yield* newMacro({ deadline: plus(now, "9 hours") })
      for (const challenge of [over, open]) yield* predict(agent, challenge)
      yield* predict(agent, over, { is_revision: true })
      yield* forecast(agent, figure)
      yield* cancel(open, "why")
      const unanswered = yield* newMacro({ period: "2026-04", deadline: plus(now, "9 hours") })
      yield* moveTo(plus(now, "2 hours"))
      for (const [filter, expected] of [
        [{}, [figure, over, open]],
        [{ challengeId: over.id.toUpperCase() }, [over]],
        [{ challengeId: unanswered.id }, []],
        [{ type: "macro" }, [figure]],
        [{ type: "directional" }, [over, open]],
        [{ type: "price_event" }, []],
        [{ status: "open" }, [figure]],
        [{ status: "closed" }, [over]],
        [{ status: "cancelled" }, [open]],
        [{ status: "void" }, []],
        [{ type: "directional", status: "closed", challengeId: over.id }, [over]]
      ] as const) {
        const { items, next_cursor } = yield* Arenas.use((arenas) =>
          arenas.ownPredictions(agent, firstPage, filter)
        )
        assert.deepStrictEqual(
          [items.map(({ challenge_id }) => challenge_id), next_cursor],
          [expected.map(({ id }) => id), null],
          JSON.stringify(filter)
        )
      }
      for (const challengeId of ["nothing", agent]) {
        const none = yield* Effect.flip(
          Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage, { challengeId }))
        )
        assert.strictEqual(none.detail, `challenge_id: There is no challenge ${challengeId}.`)
      }
    })
  )

  it.effect("Predictions of a rare type are found by following the cursor, also from an empty page", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const figure = yield* newMacro()
      yield* forecast(agent, figure)
      for (const challenge of yield* Effect.replicateEffect(newChallenge(), 12))
        yield* predict(agent, challenge)
      const found: Array<ReadonlyArray<string>> = []
      let cursor: string | undefined
      do {
        const page = yield* Arenas.use((arenas) =>
          arenas.ownPredictions(agent, { limit: 1, cursor }, { type: "macro" })
        )
        found.push(page.items.map(({ challenge_id }) => challenge_id))
        cursor = page.next_cursor ?? undefined
      } while (cursor !== undefined)
      // A page of one item looks at five predictions.
      assert.deepStrictEqual(found, [[], [], [figure.id]])
    })
  )

  it.effect("An agent's predictions come in pages", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      const challenges = yield* Effect.replicateEffect(newChallenge(), 7)
      for (const challenge of challenges) yield* predict(agent, challenge)
      const pages = yield* allPages(3, (page) => Arenas.use((arenas) => arenas.ownPredictions(agent, page)))
      assert.deepStrictEqual(
        pages.map((page) => page.length),
        [3, 3, 1]
      )
      assert.deepStrictEqual(
        pages.flat().map((each) => each.challenge_id),
        challenges.map((each) => each.id).toReversed()
      )
    })
  )
})
