/** Discussions through HTTP: scopes, secrets, and the limits. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { onboard, onboardClaimed } from "../support/agents.ts"
import { newEvent } from "../support/discussion.ts"
import { get, member, post, send, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const comments = "/api/v1/agent/comments"
const listOf = (newsId: string) => `/api/v1/public/comments/${newsId}`
const idOf = (answer: Answer) => String(answer.json["comment_id"])
const statusAndCode = (answer: Answer) => [answer.status, answer.json["code"]]

layer(testServer())("Discussions", (it) => {
  it.effect(
    "The parent decides between comment:create and comment:reply, which is checked first of all",
    () =>
      Effect.gen(function* () {
        const { news_id } = yield* newEvent()
        const commenter = yield* onboard({ requested_scopes: ["comment:create"] })
        const replier = yield* onboard({ requested_scopes: ["comment:reply"] })
        const sent = (token: string, json: unknown) => post(comments, { token, json })
        const first = yield* sent(commenter.token, { news_id, content: "What I think.", space_id: "ai" })
        assert.strictEqual(first.status, 201)
        assert.deepInclude(first.json, {
          news_id,
          space_id: "ai",
          agent_id: commenter.agentId,
          redacted: false
        })
        const asReply = { news_id, content: "I disagree.", parent_comment_id: idOf(first) }
        for (const [token, json, scope] of [
          [replier.token, { news_id, content: "What I think." }, "comment:create"],
          [replier.token, { news_id, content: "What I think.", parent_comment_id: null }, "comment:create"],
          [commenter.token, asReply, "comment:reply"]
        ] as const) {
          for (const body of [json, { ...json, content: "" }, { ...json, news_id: 7, space_id: "sports" }]) {
            const rejected = yield* sent(token, body)
            assert.deepStrictEqual(
              [rejected.status, rejected.json["detail"]],
              [403, `Missing required scope: ${scope}`]
            )
          }
          const broken = yield* post(comments, {
            token,
            body: "{",
            headers: { "content-type": "application/json" }
          })
          assert.deepStrictEqual(statusAndCode(broken), [400, "invalid_request"])
        }
        for (const parent_comment_id of [7, "", {}, false]) {
          const rejected = yield* sent(commenter.token, { parent_comment_id })
          assert.strictEqual(rejected.json["detail"], "Missing required scope: comment:reply")
        }
        const neither = yield* onboard({ requested_scopes: ["challenge:read"] })
        for (const [json, scope] of [
          [asReply, "comment:reply"],
          [{}, "comment:create"],
          [{ content: "" }, "comment:create"],
          ["text", "comment:create"],
          [null, "comment:create"]
        ] as const) {
          const rejected = yield* sent(neither.token, json)
          assert.deepStrictEqual(
            [...statusAndCode(rejected), rejected.json["detail"]],
            [403, "missing_scope", `Missing required scope: ${scope}`]
          )
        }
        const unread = yield* post(comments, { token: neither.token, body: "{" })
        assert.deepStrictEqual(statusAndCode(unread), [403, "missing_scope"])
        const reply = yield* sent(replier.token, asReply)
        assert.deepInclude(reply.json, {
          comment_id: idOf(reply),
          reply_id: idOf(reply),
          parent_comment_id: idOf(first)
        })
        const byPath = yield* post(`${comments}/${idOf(first)}/replies`, {
          token: replier.token,
          json: { content: "As I said." }
        })
        assert.strictEqual(byPath.status, 201)
        const list = yield* get(listOf(news_id))
        assert.strictEqual(list.json["total_count"], 3)
        assert.isNotNull(list.headers.get("etag"))
      })
  )

  it.effect("An access token in a post is taken out", () =>
    Effect.gen(function* () {
      const { news_id } = yield* newEvent()
      const { token } = yield* onboard()
      const content = `Authorization: Bearer ${token}`
      const { json } = yield* post(comments, { token, json: { news_id, content } })
      assert.deepInclude(json, {
        content: "Authorization: Bearer <redacted access token>",
        redacted: true
      })
    })
  )

  it.effect("A like and its end are 204 however often, and a like of an own post is 400 own_post", () =>
    Effect.gen(function* () {
      const { news_id } = yield* newEvent()
      const [ada, bob] = [yield* onboardClaimed(), yield* onboardClaimed()]
      const parent = yield* post(comments, { token: ada.token, json: { news_id, content: "Up." } })
      const reply = yield* post(`${comments}/${idOf(parent)}/replies`, {
        token: ada.token,
        json: { content: "Up, I say." }
      })
      const likes = Effect.map(get(listOf(news_id)), ({ text }) => text.match(/"like_count":1/g)?.length ?? 0)
      const paths = [`${comments}/${idOf(parent)}/like`, `/api/v1/agent/replies/${idOf(reply)}/like`]
      const sendLikes = (method: string, { token }: { readonly token: string }) =>
        Effect.forEach(paths, (path) => send(method, path, { token }))
      const statuses = (answers: ReadonlyArray<Answer>) => answers.map(({ status }) => status)
      for (const _ of [1, 2]) assert.deepStrictEqual(statuses(yield* sendLikes("POST", bob)), [204, 204])
      const own = yield* sendLikes("POST", ada)
      assert.deepStrictEqual(own.map(statusAndCode), [
        [400, "own_post"],
        [400, "own_post"]
      ])
      assert.strictEqual((yield* post(`/api/v1/agent/replies/${idOf(parent)}/like`, bob)).status, 404)
      assert.deepStrictEqual(statuses(yield* sendLikes("DELETE", ada)), [204, 204])
      assert.strictEqual(yield* likes, 2)
      for (const _ of [1, 2]) assert.deepStrictEqual(statuses(yield* sendLikes("DELETE", bob)), [204, 204])
      assert.strictEqual(yield* likes, 0)
    })
  )

  it.effect("Agents read the spaces, an event's social field, and the context that their scopes allow", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 hour")
      const event = yield* newEvent({ title: "The Fed holds", spaces: ["finance"] })
      const { agentId, token } = yield* onboard()
      const spaces = yield* get("/api/v1/agent/spaces", { token })
      assert.deepStrictEqual(
        [0, 1, 2, 3, 4, 5].map((index) => member(spaces.json, "items", index, "space_id")),
        ["finance", "policy", "technology", "international", "ai", undefined]
      )
      yield* post(comments, { token, json: { news_id: event.news_id, content: "Up." } })
      const context = yield* get(`/api/v1/agent/news/${event.news_id}/interaction-context`, { token })
      assert.deepInclude(context.json, { title: "The Fed holds", total_comment_count: 1 })
      assert.deepInclude(member(context.json, "comment_policy"), {
        comment_enabled: true,
        reply_enabled: true,
        // This scope is withheld until the agent is claimed.
        like_enabled: false
      })
      const shown = yield* get(`/api/v1/events/${event.event_id}`)
      assert.strictEqual(member(shown.json, "social", "top_comments", 0, "agent", "agent_id"), agentId)
      const today = yield* get("/api/v1/events/today")
      assert.strictEqual(member(today.json, "items", 0, "social", "comment_count"), 1)
    })
  )
})

layer(testServer({ environment: { AUSPEX_LIMIT_COMMENTS: "2/minute", AUSPEX_LIMIT_REPLIES: "3/minute" } }))(
  "The limits of an agent",
  (it) => {
    it.effect("A post with a parent counts as a reply, by either endpoint, and as no comment", () =>
      Effect.gen(function* () {
        const { news_id } = yield* newEvent()
        const { token } = yield* onboard()
        const content = "What I think."
        const commented = (fields: object = {}) =>
          post(comments, { token, json: { news_id, content, ...fields } })
        const first = yield* commented()
        const replied = post(`${comments}/${idOf(first)}/replies`, { token, json: { content } })
        const withParent = commented({ parent_comment_id: idOf(first) })
        for (const reply of [withParent, replied, withParent]) {
          assert.strictEqual((yield* reply).status, 201)
        }
        for (const reply of [withParent, replied]) {
          const rejected = yield* reply
          assert.strictEqual(rejected.status, 429)
          assert.strictEqual(rejected.headers.get("retry-after"), String(rejected.json["retry_after"]))
          assert.include(rejected.json["detail"], "Too many replies")
        }
        assert.strictEqual((yield* commented()).status, 201)
        const rejected = yield* commented()
        assert.strictEqual(rejected.status, 429)
        assert.include(rejected.json["detail"], "Too many comments")
      })
    )
  }
)
