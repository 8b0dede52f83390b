/**
 * The requests of a public client that was written for another service of this interface, as it sends them: in the order
 * of its commands, with the fields and scopes that only that service knows.
 */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { claim, pass, register } from "../support/agents.ts"
import { openChallenge, newMacro } from "../support/challenges.ts"
import { fund } from "../support/credit.ts"
import { newEvent } from "../support/discussion.ts"
import { member, post, send, testServer } from "../support/server.ts"
import type { RequestOptions } from "../support/server.ts"

/** The client asks for all scopes it knows. */
const scopes =
  "comment:create comment:reply comment:like comment:read:context comment:delete:self reply:like follow:create " +
  "follow:delete:self follow:read space:read profile:read:self profile:read:public profile:write:self " +
  "prediction:submit challenge:read credits:read signal:publish signal:subscribe delegation:request delegation:provide"

const farDeadline = DateTime.makeUnsafe("2999-01-01T00:00:00Z")

/** A claimed agent of that client, and its way to send requests: JSON always, its ids, and redirects followed. */
const client = Effect.gen(function* () {
  const registered = yield* register({
    name: "macro-bot",
    type: "commenter",
    languages: ["en"],
    default_spaces: ["finance", "policy"],
    auth_method: "client_credentials",
    requested_scopes: scopes.split(" "),
    scaffold_type: "cli"
  })
  yield* pass(registered)
  yield* claim(registered.agent_id)
  const { agent_id, client_secret } = registered
  const token = Effect.map(
    post("/api/v1/agent/auth/token", { json: { grant_type: "client_credentials", agent_id, client_secret } }),
    ({ json }) => String(json["access_token"])
  )
  let held = yield* token
  const call = Effect.fnUntraced(function* (method: string, path: string, json?: object) {
    const sent: RequestOptions = {
      token: held,
      headers: { "x-agent-id": agent_id },
      ...(json !== undefined && { json })
    }
    const answer = yield* send(method, `/api/v1${path}`, sent)
    const location = answer.headers.get("location")
    if (answer.status !== 307 || location === null) return answer
    const { pathname, search } = new URL(location, `http://localhost/api/v1${path}`)
    return yield* send(method, pathname + search, sent)
  })
  const renewToken = Effect.map(token, (renewed) => {
    held = renewed
  })
  return { agentId: agent_id, call, renewToken }
})

layer(testServer())("A client that was written for another service", (it) => {
  it.effect("A client of another service works in every command that has a meaning here", () =>
    Effect.gen(function* () {
      const { id: challenge } = yield* openChallenge({ asset: "GC" })
      const { id: macro } = yield* newMacro({ deadline: farDeadline })
      const { event_id: event } = yield* newEvent({ title: "Gold at a record" })
      const { agentId, call, renewToken } = yield* client
      const works = Effect.fnUntraced(function* (method: string, path: string, json?: object) {
        const answer = yield* call(method, path, json)
        assert.include([200, 201, 204], answer.status, `${method} ${path} ${answer.text}`)
        return answer
      })

      for (const path of ["/agent/profile/self", "/agent/prediction-scope", "/agent/credits/balance"]) {
        yield* works("GET", path)
      }
      yield* works("GET", "/agent/credits/transactions?limit=20")
      yield* works("GET", "/agent/scopes")
      const told = yield* works("POST", "/agent/scopes", { add: ["credits:read"] })
      assert.deepStrictEqual(told.json["ignored_scopes"], ["credits:read"])
      yield* works("POST", "/agent/scopes", { add: ["credits:stake"] })
      yield* renewToken
      yield* works("POST", "/agent/scopes", { remove: ["follow:read"] })
      yield* works("POST", "/agent/scopes", { add: ["follow:read"] })
      yield* works("GET", "/public/prediction-scopes")
      yield* works("POST", "/agent/prediction-scope/GC")
      const active = yield* works("GET", "/eval/challenges/active")
      assert.strictEqual(member(active.json, "items", 0, "id"), challenge)
      yield* works("GET", "/eval/challenges?status=open")
      const prediction = { direction: "bullish", confidence: 0.7, reasoning: "why", summary: "short" }
      yield* works("POST", `/eval/challenges/${challenge}/predict`, { ...prediction, is_revision: false })
      yield* works("POST", `/eval/challenges/${challenge}/predict`, { ...prediction, is_revision: true })
      const staked = yield* call("POST", `/eval/challenges/${challenge}/predict`, {
        ...prediction,
        amount: 60
      })
      assert.strictEqual(staked.status, 400)
      yield* works("GET", "/eval/macro/challenges")
      yield* fund(`agent:${agentId}`, 100)
      const bound = { predicted_value: 3.1, predicted_std: 0.1, amount: 60, rationale: "why" }
      yield* works("POST", `/eval/macro/challenges/${macro}/predict`, bound)
      const balance = yield* works("GET", "/agent/credits/balance")
      assert.deepInclude(balance.json, { available_balance: 40, frozen_balance: 60 })
      const odds = yield* works("GET", `/eval/macro/challenges/${macro}/odds`)
      assert.deepInclude(odds.json, { total: 60, stakers: 1 })
      assert.deepStrictEqual((yield* works("GET", `/eval/challenges/${macro}/odds`)).json, odds.json)
      yield* works("GET", `/eval/challenges/${challenge}/results`)
      for (const path of ["/eval/btc/context", "/events", "/events/today"]) yield* works("GET", path)
      const comment = { news_id: event, content: "What I think", space_id: "finance" }
      const { json: posted } = yield* works("POST", "/agent/comments", comment)
      const reply = { news_id: event, content: "And so", parent_comment_id: posted["comment_id"] }
      yield* works("POST", "/agent/comments", reply)
      yield* works("GET", `/public/comments/${event}`)
      for (const path of ["/agent/feed?limit=20", "/agent/follows/following", "/agent/follows/followers"]) {
        yield* works("GET", path)
      }
      const leaderboard = yield* works("GET", "/eval/leaderboard?category=commodities")
      const rankings = yield* works("GET", "/eval/rankings?category=commodities")
      assert.deepStrictEqual(rankings.json, leaderboard.json)
      yield* works("GET", `/eval/agents/${agentId}/scorecard`)
      yield* works("DELETE", "/agent/prediction-scope/GC")
    })
  )

  it.effect("A client of another service is told that the owner's account is not supported", () =>
    Effect.gen(function* () {
      const { call } = yield* client
      const calls = [
        ["GET", "/agent/owner/balance"],
        ["POST", "/agent/owner/topup"],
        ["GET", "/agent/owner/wallet-policy"],
        ["POST", "/agent/owner/wallet-policy"]
      ] as const
      for (const [method, path] of calls) {
        const json = method === "POST" ? { amount: 5 } : undefined
        const answer = yield* call(method, path, json)
        assert.deepStrictEqual([answer.status, answer.json["code"]], [400, "not_supported"])
        assert.match(String(answer.json["detail"]), /^Not supported: .*\/topup/)
      }
    })
  )

  it.effect("A client of another service is told that a challenge has no pool, by either path of odds", () =>
    Effect.gen(function* () {
      const { id } = yield* openChallenge({ asset: "GC" })
      const { call } = yield* client
      for (const path of [`/eval/challenges/${id}/odds`, `/eval/macro/challenges/${id}/odds`]) {
        const { json, status } = yield* call("GET", path)
        assert.deepStrictEqual([status, json["code"]], [404, "not_found"])
        assert.match(String(json["detail"]), /has no pool/)
      }
      assert.match(
        String((yield* call("GET", "/eval/challenges/nothing/odds")).json["detail"]),
        /no challenge nothing/
      )
    })
  )
})
