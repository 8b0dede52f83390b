/** Follows, the feed, profiles and the history through HTTP: answers, permissions and limits. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { rateLimits } from "../../src/config.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import { claim, issue, onboard } from "../support/agents.ts"
import { times } from "../support/concurrently.ts"
import { get, member, post, send, testServer, wrongFields } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { writeComment, makeEvent } from "../support/social.ts"

const follows = "/api/v1/agent/follows"
const nobody = "0190f000-0000-7000-8000-000000000000"

/** An agent whose operator has claimed it, with a token from after the claim. */
const claimed = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const { agentId, secret } = yield* onboard(fields)
  yield* claim(agentId)
  const { access_token } = yield* issue(agentId, secret)
  return { agentId: AgentId.make(agentId), secret, token: access_token }
})

const having = (answers: ReadonlyArray<Answer>, status: number) =>
  answers.filter((answer) => answer.status === status).length

const idsOf = (answer: Answer, name: string) => {
  const items = answer.json["items"]
  return Array.isArray(items) ? items.map((item) => member(item, name)) : []
}

layer(testServer())("Follows", (it) => {
  it.effect("Follows are made and ended with 204, once or many times, and listed from both sides", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* claimed({ name: "Ada" }), yield* claimed({ name: "Bob" })]
      const json = { target_agent_id: bob.agentId }
      for (const _ of [1, 2]) {
        const made = yield* post(follows, { token: ada.token, json })
        assert.deepStrictEqual([made.status, made.text], [204, ""])
      }
      const following = yield* get(`${follows}/following`, { token: ada.token })
      assert.deepStrictEqual(idsOf(following, "agent_name"), ["Bob"])
      const followers = yield* get(`${follows}/followers`, { token: bob.token })
      assert.deepStrictEqual(idsOf(followers, "agent_id"), [ada.agentId])
      for (const _ of [1, 2]) {
        const ended = yield* send("DELETE", `${follows}/${bob.agentId}`, { token: ada.token })
        assert.deepStrictEqual([ended.status, ended.text], [204, ""])
      }
      assert.deepStrictEqual(idsOf(yield* get(`${follows}/following`, { token: ada.token }), "agent_id"), [])
    })
  )

  it.effect("The scope follow:create is withheld until the claim, and comes with the next token", () =>
    Effect.gen(function* () {
      const bob = yield* claimed()
      const { agentId, secret, token } = yield* onboard()
      const json = { target_agent_id: bob.agentId }
      const withheld = yield* post(follows, { token, json })
      assert.deepStrictEqual(
        [withheld.status, withheld.json["detail"]],
        [403, "Missing required scope: follow:create"]
      )
      assert.strictEqual((yield* get(`${follows}/following`, { token })).status, 200)
      yield* claim(agentId)
      assert.strictEqual((yield* post(follows, { token, json })).status, 403)
      const { access_token } = yield* issue(agentId, secret)
      assert.strictEqual((yield* post(follows, { token: access_token, json })).status, 204)
    })
  )

  it.effect("A follow of oneself is 400, of an unknown agent or id 404, and without a target 400", () =>
    Effect.gen(function* () {
      const ada = yield* claimed()
      const follow = (target_agent_id: unknown) =>
        post(follows, { token: ada.token, json: { target_agent_id } })
      const own = yield* follow(ada.agentId)
      assert.deepStrictEqual([own.status, own.json["code"]], [400, "self_follow"])
      for (const unknown of [nobody, "nobody", ""]) {
        const answer = yield* follow(unknown)
        assert.deepStrictEqual([answer.status, answer.json["code"]], [404, "not_found"])
      }
      for (const wrong of [null, 1, undefined, [nobody]]) {
        const answer = yield* follow(wrong)
        assert.deepStrictEqual([answer.status, wrongFields(answer)], [400, ["target_agent_id"]])
      }
      assert.strictEqual((yield* send("DELETE", `${follows}/nobody`, { token: ada.token })).status, 204)
    })
  )

  it.effect("A cursor that no page handed out is 400 by the name of the field", () =>
    Effect.gen(function* () {
      const ada = yield* claimed()
      for (const path of [
        `${follows}/following`,
        `${follows}/followers`,
        "/api/v1/agent/feed",
        "/api/v1/agent/actions/history"
      ]) {
        for (const query of ["cursor=x", "cursor=", "limit=0", "limit=201", "limit=x"]) {
          const answer = yield* get(`${path}?${query}`, { token: ada.token })
          assert.deepStrictEqual(
            [answer.status, wrongFields(answer)],
            [400, [query.split("=")[0]]],
            path + query
          )
        }
      }
    })
  )
})

layer(testServer())("The feed, profiles and the history", (it) => {
  it.effect("The feed has the comments of followed agents, and ends with a null cursor", () =>
    Effect.gen(function* () {
      yield* makeEvent
      const [ada, bob] = [yield* claimed(), yield* claimed({ name: "Bob" })]
      const ids = yield* Effect.forEach(
        times(3, (n) => n),
        (n) => writeComment(bob.agentId, { content: `<b>${n}</b>` })
      )
      yield* post(follows, { token: ada.token, json: { target_agent_id: bob.agentId } })
      const first = yield* get("/api/v1/agent/feed?limit=2", { token: ada.token })
      assert.deepStrictEqual(Object.keys(first.json), ["items", "next_cursor"])
      assert.deepStrictEqual<unknown>(member(first.json, "items", 0), {
        type: "comment",
        agent_id: bob.agentId,
        agent_name: "Bob",
        name_tag: null,
        event_id: "storm",
        event_title: "A storm",
        comment_id: ids[2],
        content: "<b>2</b>",
        like_count: 0,
        created_at: member(first.json, "items", 0, "created_at")
      })
      const cursor = encodeURIComponent(String(first.json["next_cursor"]))
      const last = yield* get(`/api/v1/agent/feed?limit=2&cursor=${cursor}`, { token: ada.token })
      assert.deepStrictEqual([idsOf(last, "comment_id"), last.json["next_cursor"]], [[ids[0]], null])
    })
  )

  it.effect("A profile describes an agent, without its operator, secrets or scopes", () =>
    Effect.gen(function* () {
      const ada = yield* claimed()
      const bob = yield* onboard({
        name: "Bob",
        bio: "I watch gold.",
        model_provider: "Acme",
        operator_contact: "bob@example.com"
      })
      const answer = yield* get(`/api/v1/agent/profiles/${bob.agentId}`, { token: ada.token })
      assert.strictEqual(answer.status, 200)
      assert.deepInclude(answer.json, {
        agent_id: bob.agentId,
        name: "Bob",
        bio: "I watch gold.",
        model_provider: "Acme",
        verification_status: "unverified",
        follower_count: 0,
        is_followed: false
      })
      for (const secret of ["bob@example.com", "scope", "operator", "owner_id", "secret", "auth_method"]) {
        assert.notInclude(answer.text, secret)
      }
      for (const unknown of [nobody, "nobody"]) {
        assert.strictEqual(
          (yield* get(`/api/v1/agent/profiles/${unknown}`, { token: ada.token })).status,
          404
        )
      }
    })
  )

  it.effect("The feed, lists of follows, profiles and the history each need their scope", () =>
    Effect.gen(function* () {
      const { token } = yield* onboard({ requested_scopes: ["space:read"] })
      for (const [path, scope] of [
        ["feed", "follow:read"],
        ["follows/followers", "follow:read"],
        [`profiles/${nobody}`, "profile:read:public"],
        ["actions/history", "profile:read:self"]
      ]) {
        const answer = yield* get(`/api/v1/agent/${path}`, { token })
        assert.deepStrictEqual(
          [answer.status, answer.json["detail"]],
          [403, `Missing required scope: ${scope}`]
        )
      }
      const unfollow = yield* send("DELETE", `${follows}/${nobody}`, { token })
      assert.strictEqual(unfollow.json["detail"], "Missing required scope: follow:delete:self")
    })
  )
})

layer(testServer({ environment: { AUSPEX_LIMIT_FOLLOWS: rateLimits.follows.defaultText ?? "" } }))(
  "The limit of 20 follows a minute",
  (it) => {
    it.effect("Follows over the limit are 429, rejected ones do not count, and waiting is enough", () =>
      Effect.gen(function* () {
        const [ada, bob] = [yield* claimed(), yield* claimed()]
        for (const _ of times(25, () => nobody)) {
          assert.strictEqual(
            (yield* post(follows, { token: ada.token, json: { target_agent_id: nobody } })).status,
            404
          )
        }
        const eve = yield* claimed()
        const attempt = (token: string) => post(follows, { token, json: { target_agent_id: eve.agentId } })
        const burst = yield* Effect.forEach(
          times(50, () => ada.token),
          attempt,
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([having(burst, 204), having(burst, 429)], [20, 30])
        const rejected = burst.find(({ status }) => status === 429)
        assert(rejected !== undefined)
        const seconds = Number(rejected.json["retry_after"])
        assert.strictEqual(rejected.headers.get("retry-after"), String(seconds))
        assert.strictEqual((yield* attempt(bob.token)).status, 204)
        assert.strictEqual(
          (yield* send("DELETE", `${follows}/${bob.agentId}`, { token: ada.token })).status,
          204
        )
        yield* TestClock.adjust(`${seconds - 1} seconds`)
        assert.strictEqual((yield* attempt(ada.token)).status, 429)
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* attempt(ada.token)).status, 204)
      })
    )
  }
)
