/** A newcomer's questions, and the links from the first page that answer them (docs/site.md). */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Skill } from "../../src/services/Skill.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { ownerVisitor } from "../support/agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { get, testServer } from "../support/server.ts"
import { textOf, unescaped } from "../support/visitor.ts"

/** An agent has a rank on pages from its first day on. */
const ranked = { AUSPEX_RANK_MIN_DAYS: "1" }

/** The address of the first link with this text. */
const linkTo = (page: { readonly text: string }, words: RegExp): string => {
  const found = [...page.text.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs)].find(([, , inner = ""]) =>
    words.test(inner.replaceAll(/<[^>]+>/g, "").trim())
  )
  assert(found !== undefined, `no link says ${words.source}`)
  return unescaped(found[1] ?? "")
}

/** Follows links from the first page, or searches, and answers the text of the last page. */
const walk = Effect.fnUntraced(function* (...steps: ReadonlyArray<RegExp | string>) {
  let page = yield* get("/")
  for (const step of steps) {
    page = yield* get(typeof step === "string" ? `/search?q=${encodeURIComponent(step)}` : linkTo(page, step))
    assert.strictEqual(page.status, 200, String(step))
  }
  return textOf(page)
})

layer(testServer({ environment: ranked }))("A newcomer", (it) => {
  it.effect("A newcomer finds the answers to nine questions within three steps of the first page", () =>
    Effect.gen(function* () {
      yield* publicFixture
      yield* newEvent({ title: "OPEC cuts its output again", assets: ["CL"] })
      yield* Skill.use((skill) => skill.countDue)
      for (const [question, steps, answer] of [
        [
          "Who is best at commodities, and is it luck?",
          [/^Full leaderboard$/, /^Commodities$/],
          /First Light .*(cannot be told from luck yet|not by luck|Nothing says)/
        ],
        ["How good is First Light?", ["First Light", /^First Light$/], /Rank by skill #\d of \d, top \d+ %/],
        [
          "What did it say about gold, and when?",
          ["First Light", /^First Light$/],
          /GC .*▲ Up [\d.]+ % .* \d+ March 2026 Proof file/
        ],
        [
          "What about CPI?",
          ["CPI", /^Consumer price index$/],
          /Period First print Published .* 2026 3\.1\d*? %/
        ],
        ["How often does gold rise?", ["gold", /^Gold$/], /▲ Up [\d.]+ % \(\d+\)/],
        ["What happened with OPEC?", ["OPEC"], /Events OPEC cuts its output again/],
        ["What is 50?", [/^Scoring$/], /Guessing earns 50\./],
        ["What is sealed?", [/^How it works$/], /each answer is sealed/],
        ["How does my agent take part?", [/^Enter your agent$/], /Read http\S+\/skill\.md and follow it\./]
      ] as const) {
        assert.match(yield* walk(...steps), answer, question)
        assert.isAtMost(steps.length, 3)
      }
    })
  )
})

layer(testServer({ environment: ranked }))("An owner", (it) => {
  it.effect("An owner sees at once whether an agent is alive, and how it does", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const evening = plus(monday, "22 hours")
      yield* moveTo(evening)
      const { agent, visitor } = yield* ownerVisitor({ name: "First Light" })
      const question = yield* newChallenge({ deadline: plus(evening, "1 hour") })
      yield* predict(AgentId.make(agent.agentId), question)
      yield* comment(AgentId.make(agent.agentId), yield* newEvent({}))
      yield* moveTo(plus(evening, "1 hour"))
      yield* importQuotes("GC", [[plus(evening, "1 hour"), 110]])
      yield* Scoring.use((scoring) => scoring.settleDue)
      const home = yield* get("/")
      const account = yield* visitor.open(linkTo(home, /^For owners$/))
      assert.match(textOf(account), /First Light Settings .* 1 right .* 2 March 2026 at 22:00 UTC/)

      yield* moveTo(plus(monday, "25 hours"))
      yield* Skill.use((skill) => skill.countDue)
      const weekBefore = DateTime.formatIsoDateUtc(plus(monday, "-7 days"))
      const sql = yield* SqlClient.SqlClient
      yield* sql`insert into skill_days (day, settlements) values (${weekBefore}::date, 1)`
      yield* sql`
        insert into agent_ranks (agent_id, day, rank) values (${agent.agentId}::uuid, ${weekBefore}::date, 3)`
      assert.match(textOf(yield* visitor.open("/account")), /First Light Settings #1 ▲ 2 in a week/)
      assert.match(
        textOf(yield* get(`/agents/${agent.agentId}`)),
        /Rank by skill #1 of 1, top 100 % ▲ 2 in a week/
      )
    })
  )
})
