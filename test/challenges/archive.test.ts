/** Tournaments that are over: administrators import them once, everybody reads them, and nobody changes them. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { concurrently, times } from "../support/concurrently.ts"
import { onboard } from "../support/agents.ts"
import { freshWeek } from "../support/challenges.ts"
import { countOf } from "../support/database.ts"
import { foreignCursors } from "../support/paging.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { match, tournament } from "../support/tournaments.ts"

const admin = { token: testAdminToken }
const archive = "/api/v1/public/archive"

const imported = (json: unknown) => post("/api/v1/admin/archive", { ...admin, json })

const slugs = (json: unknown): ReadonlyArray<unknown> => {
  const items = member(json, "items")
  return Array.isArray(items) ? items.map((item) => member(item, "slug")) : []
}

const stored = (slug: string) =>
  countOf((sql) => sql`select count(*)::int as count from archived_challenges where tournament = ${slug}`)

layer(testServer())("The archive", (it) => {
  it.effect("A tournament is shown as it was imported", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const cancelled = {
        question: "Who wins the friendly?",
        deadline: "2026-02-02T12:00:00+01:00",
        void_reason: "It was not played."
      }
      const sent = tournament({ slug: "shown", challenges: [match(0), cancelled] })
      const made = yield* imported(sent)
      assert.strictEqual(made.status, 201)
      const heading = {
        slug: "shown",
        title: "World Cup",
        summary: "Every match of it.",
        ended_at: "2026-02-28T20:00:00.000Z",
        archived_at: made.json["archived_at"] ?? "none",
        challenge_count: 2
      }
      assert.deepStrictEqual(made.json, heading)
      const shown = yield* get(`${archive}/shown`)
      assert.deepStrictEqual(shown.json, {
        ...heading,
        challenges: [
          {
            position: 1,
            stage: "Group A",
            question: "Who wins match 1?",
            resolution_criteria: "After 90 minutes.",
            opened_at: "2026-01-20T00:00:00.000Z",
            deadline: "2026-02-01T12:00:00.000Z",
            resolved_at: "2026-02-01T14:00:00.000Z",
            status: "resolved",
            result: "draw",
            void_reason: null,
            outcomes: [
              { outcome: "home", prediction_count: 12 },
              { outcome: "draw", prediction_count: 3 },
              { outcome: "away", prediction_count: 0 }
            ]
          },
          {
            position: 2,
            stage: null,
            question: "Who wins the friendly?",
            resolution_criteria: null,
            opened_at: null,
            deadline: "2026-02-02T11:00:00.000Z",
            resolved_at: null,
            status: "void",
            result: null,
            void_reason: "It was not played.",
            outcomes: []
          }
        ],
        next_cursor: null
      })
    })
  )

  it.effect("The same import again changes nothing, also ten times at once", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const answers = yield* Effect.forEach(
        times(10, () => tournament({ slug: "twice", matches: 30 })),
        imported,
        { concurrency: "unbounded" }
      )
      const again = yield* imported(tournament({ slug: "twice", matches: 30 }))
      assert.deepStrictEqual(
        new Set([...answers, again].map(({ status, text }) => `${status} ${text}`)).size,
        1
      )
      assert.strictEqual(again.status, 201)
      assert.strictEqual(yield* stored("twice"), 30)
    })
  )

  it.effect("Another import under a taken slug is refused, and the archive keeps the first", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* imported(tournament({ slug: "taken" }))
      const before = yield* get(`${archive}/taken`)
      for (const other of [
        { title: "Another" },
        { challenges: [match(0), { ...match(1), result: "home" }] },
        { matches: 3 },
        { matches: 1 }
      ]) {
        const refused = yield* imported(tournament({ slug: "taken", ...other }))
        assert.strictEqual(refused.status, 409)
        assert.strictEqual(refused.json["code"], "already_archived")
      }
      assert.strictEqual((yield* get(`${archive}/taken`)).text, before.text)
    })
  )

  it.effect("Of several different imports of a slug at once exactly one is stored, and all of it", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const answers = yield* concurrently(
        times(8, (index) => imported(tournament({ slug: "raced", title: `${index}`, matches: index + 1 })))
      )
      const won = answers.flatMap((each) =>
        each._tag === "Success" && each.success.status === 201 ? [each.success.json] : []
      )
      assert.lengthOf(won, 1)
      assert.strictEqual(yield* stored("raced"), won[0]?.["challenge_count"])
    })
  )

  it.effect("An import with wrong fields names each of them, and stores nothing", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const wrong = yield* imported({
        slug: "Not A Slug",
        title: "",
        ended_at: "yesterday",
        challenges: [{ question: 1 }, { ...match(0), outcomes: [{ outcome: "x", prediction_count: -1 }] }]
      })
      assert.strictEqual(wrong.status, 400)
      assert.deepStrictEqual(wrongFields(wrong), [
        "challenges.0.deadline",
        "challenges.0.question",
        "challenges.1.outcomes.0.prediction_count",
        "ended_at",
        "slug",
        "title"
      ])
      const inconsistent = yield* imported(
        tournament({
          slug: "wrong",
          challenges: [
            { ...match(0), opened_at: "2026-02-01T12:00:00Z" },
            { ...match(1), resolved_at: "2026-02-01T12:59:59Z" },
            { ...match(2), result: "nobody" },
            { ...match(3), void_reason: "and void" },
            { question: "?", deadline: "2026-02-01T12:00:00Z" },
            {
              ...match(5),
              outcomes: times(2, () => ({ outcome: "draw", prediction_count: 1 }))
            }
          ]
        })
      )
      assert.deepStrictEqual(wrongFields(inconsistent), [
        "challenges.0.opened_at",
        "challenges.1.resolved_at",
        "challenges.2.result",
        "challenges.3.result",
        "challenges.4.result",
        "challenges.5.outcomes"
      ])
      const after = yield* imported(
        tournament({
          slug: "wrong",
          challenges: [
            match(0),
            { ...match(1), deadline: "2026-03-01T00:00:00Z", resolved_at: "2026-03-01T00:00:00Z" }
          ]
        })
      )
      assert.deepStrictEqual(wrongFields(after), ["challenges.1.deadline"])
      for (const challenges of [[], times(5001, () => match(0))]) {
        assert.deepStrictEqual(wrongFields(yield* imported(tournament({ slug: "wrong", challenges }))), [
          "challenges"
        ])
      }
      assert.strictEqual((yield* get(`${archive}/wrong`)).status, 404)
    })
  )

  it.effect("Only a tournament that is over can be imported", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const later = "2999-01-01T00:00:00Z"
      const early = yield* imported(
        tournament({ slug: "early", ended_at: later, challenges: [{ ...match(0), resolved_at: later }] })
      )
      assert.deepStrictEqual(wrongFields(early), ["challenges.0.resolved_at", "ended_at"])
      assert.strictEqual((yield* get(`${archive}/early`)).status, 404)
    })
  )

  it.effect("Tournaments are listed page by page, the last to end first, and equal ends by slug", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const ends = ["2019", "2021", "2020", "2020", "2020"]
      for (const [index, year] of ends.entries()) {
        const ended_at = `${year}-07-01T00:00:00Z`
        const challenges = [{ question: "?", deadline: ended_at, void_reason: "lost" }]
        yield* imported(tournament({ slug: `cup-${index}`, ended_at, challenges }))
      }
      const found: Array<unknown> = []
      let cursor: unknown = ""
      while (cursor !== null) {
        const query = cursor === "" ? "" : `&cursor=${encodeURIComponent(String(cursor))}`
        const { json } = yield* get(`${archive}?limit=2${query}`)
        found.push(...slugs(json))
        cursor = json["next_cursor"]
      }
      assert.deepStrictEqual(
        found.filter((slug) => String(slug).startsWith("cup-")),
        ["cup-1", "cup-4", "cup-3", "cup-2", "cup-0"]
      )
      assert.deepStrictEqual(found, slugs((yield* get(`${archive}?limit=200`)).json))
    })
  )

  it.effect("The challenges of a tournament are listed in their order, page by page", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* imported(tournament({ slug: "long", matches: 7 }))
      const first = yield* get(`${archive}/long?limit=4`)
      const second = yield* get(
        `${archive}/long?limit=4&cursor=${encodeURIComponent(String(first.json["next_cursor"]))}`
      )
      assert.isNull(second.json["next_cursor"])
      assert.deepStrictEqual(
        [first, second].flatMap(({ json }) => {
          const challenges = json["challenges"]
          return Array.isArray(challenges) ? challenges.map((each) => member(each, "position")) : []
        }),
        [1, 2, 3, 4, 5, 6, 7]
      )
    })
  )

  it.effect("An unknown slug is 404, and a cursor of another list is 400", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* imported(tournament({ slug: "here" }))
      for (const slug of ["nothing", "HERE", "a%20b", "%00", "x".repeat(200)]) {
        assert.strictEqual((yield* get(`${archive}/${slug}`)).status, 404, slug)
      }
      for (const cursor of foreignCursors(
        ["tournament", "here"],
        { position: 0 },
        { position: 1.5 },
        { position: 1e9 },
        { ended_at: "x", slug: "here" }
      )) {
        if (cursor === "") continue
        for (const path of [archive, `${archive}/here`]) {
          const answer = yield* get(`${path}?cursor=${encodeURIComponent(cursor)}`)
          assert.deepStrictEqual(wrongFields(answer), ["cursor"], `${path} ${cursor}`)
        }
      }
    })
  )

  it.effect("The archive has ETags like other public reads, and 304 for a client that is current", () =>
    Effect.gen(function* () {
      yield* freshWeek
      yield* imported(tournament({ slug: "tagged" }))
      for (const path of [archive, `${archive}/tagged`]) {
        const etag = (yield* get(path)).headers.get("etag") ?? ""
        assert.match(etag, /^"[\w-]{22}"$/)
        assert.strictEqual((yield* get(path, { headers: { "if-none-match": etag } })).status, 304)
      }
    })
  )

  it.effect("An imported tournament adds no scope, target or challenge, and cannot be subscribed to", () =>
    Effect.gen(function* () {
      const before = yield* Effect.forEach(
        ["public/prediction-scopes", "public/target-catalog", "eval/challenges", "events"],
        (path) => get(`/api/v1/${path}`)
      )
      yield* freshWeek
      yield* imported(tournament({ slug: "scopeless" }))
      const after = yield* Effect.forEach(
        ["public/prediction-scopes", "public/target-catalog", "eval/challenges", "events"],
        (path) => get(`/api/v1/${path}`)
      )
      assert.deepStrictEqual(
        after.map(({ text }) => text),
        before.map(({ text }) => text)
      )
      const { token } = yield* onboard()
      const refused = yield* post("/api/v1/agent/prediction-scope/scopeless", { token })
      assert.strictEqual(refused.status, 404)
      const own = yield* get("/api/v1/agent/prediction-scope", { token })
      assert.deepStrictEqual(own.json, { scopes: [] })
    })
  )

  it.effect("Only administrators write to the archive", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard()
      const json = tournament({ slug: "foreign" })
      assert.strictEqual((yield* post("/api/v1/admin/archive", { json })).status, 401)
      assert.strictEqual((yield* post("/api/v1/admin/archive", { json, token })).status, 401)
      for (const method of ["PUT", "PATCH", "DELETE", "POST"]) {
        assert.strictEqual((yield* send(method, `${archive}/foreign`, admin)).status, 405, method)
      }
      assert.strictEqual((yield* get(`${archive}/foreign`)).status, 404)
    })
  )

  it.effect("A tournament of five thousand challenges can be imported", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const challenges = times(5000, () => match(0))
      const made = yield* imported(tournament({ slug: "largest", challenges }))
      assert.strictEqual(made.status, 201, made.text.slice(0, 200))
      assert.strictEqual(yield* stored("largest"), 5000)
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql`select max(position) from archived_challenges where tournament = 'largest'`
        .values
      assert.strictEqual(row?.[0], 5000)
    })
  )
})
