/** private_key_jwt: every requirement on an assertion, tested against a real server. */
import { assert, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { readAssertion } from "../../src/layers/keys/assertion.ts"
import { Tokens } from "../../src/services/Tokens.ts"
import { askForToken, onboard, register } from "../support/agents.ts"
import { oneIn } from "../support/breadth.ts"
import { countOf } from "../support/database.ts"
import {
  askByAssertion,
  assertionOf,
  assertionType,
  ecPair,
  issueByAssertion,
  onboardWithKey,
  rightClaims,
  rsaPair,
  signed
} from "../support/assertions.ts"
import type { KeyPair } from "../support/assertions.ts"
import { hostileAssertions } from "../support/hostileAssertions.ts"
import { get, post, testServer } from "../support/server.ts"
import type { Answer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const pairs: Readonly<Record<KeyPair["alg"], KeyPair>> = { RS256: rsaPair(), ES256: ecPair() }
const strangers = { RS256: rsaPair(), ES256: ecPair() }
const kinds = ["RS256", "ES256"] as const

/** Long after the epoch, so that windows reach back. */
const someDay = TestClock.adjust("20000 days")

/** The form of every refusal (RFC 6749 5.2). */
const isProperRefusal = ({ headers, json, status }: Answer): boolean =>
  (status === 400 || status === 401) &&
  json["access_token"] === undefined &&
  headers.get("cache-control") === "no-store" &&
  headers.get("content-type") === "application/json; charset=utf-8" &&
  json["error"] === (status === 401 ? "invalid_client" : json["error"]) &&
  typeof json["detail"] === "string" &&
  /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/.test(String(json["error_description"]))

const replays = (agentId: string, assertion: string, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => askByAssertion(agentId, assertion), {
    concurrency: "unbounded"
  })

layer(testServer())("An assertion", (it) => {
  it.effect.each(kinds)("An assertion of %s by the registered key gets a token, which works", (kind) =>
    Effect.gen(function* () {
      yield* someDay
      const { agentId, pair } = yield* onboardWithKey(pairs[kind])
      const { access_token } = yield* issueByAssertion(agentId, yield* assertionOf(agentId, pair))
      assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token: access_token })).status, 200)
    })
  )

  it.effect.each(kinds)("Every hostile assertion is refused, and none is a server error (%s)", (kind) =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs[kind])
      const other = yield* onboardWithKey(strangers[kind])
      const claims = yield* rightClaims(agentId)
      // The other agent's key is right for the other agent only.
      const stranger = { RS256: rsaPair(), ES256: ecPair() }
      const cases = [
        ...hostileAssertions({ agentId, otherId: other.agentId, pair, stranger, claims }),
        { name: "by another agent's key", assertion: yield* assertionOf(agentId, other.pair), parameters: {} }
      ]
      assert.isAtLeast(cases.length, 120)
      const taken = yield* Effect.filter(
        oneIn(8, cases),
        ({ assertion, parameters }) =>
          Effect.map(askByAssertion(agentId, assertion, parameters), (answer) => !isProperRefusal(answer)),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(
        taken.map(({ name }) => name),
        []
      )
      // None of them has spent the jti, which was the same in all.
      const last = signed(pair, JSON.stringify({ alg: pair.alg }), JSON.stringify(claims))
      assert.strictEqual((yield* askByAssertion(agentId, last)).status, 200)
    })
  )

  it.effect("An assertion may have nbf, kid, other claims and rfc7523bis' type, as stock clients send", () =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs.ES256)
      const { iat } = yield* rightClaims(agentId)
      for (const changes of [
        { claims: { nbf: iat } },
        { claims: { client_id: agentId, scope: "x", nested: { a: [1] } } },
        { header: { kid: "any" } },
        { header: { typ: undefined } },
        { header: { typ: "jwt" } },
        { header: { typ: "application/jwt" } },
        { header: { typ: "client-authentication+jwt" } },
        { claims: { jti: "é".repeat(128) } },
        { claims: { exp: iat + 1 } }
      ]) {
        const answer = yield* askByAssertion(agentId, yield* assertionOf(agentId, pair, changes))
        assert.strictEqual(answer.status, 200, JSON.stringify([changes, answer.json]))
      }
    })
  )

  it.effect("An assertion goes with agent_id as client_id, or names the agent where that is left out", () =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs.ES256)
      for (const named of [
        { agent_id: agentId },
        { client_id: agentId },
        { agent_id: agentId, client_id: agentId },
        {}
      ]) {
        const assertion = yield* assertionOf(agentId, pair)
        assert.strictEqual((yield* askByAssertion(undefined, assertion, named)).status, 200)
      }
    })
  )

  it.effect("The server allows clocks 30 s apart, and no more: exp, iat and nbf to the second", () =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs.ES256)
      const status = Effect.fnUntraced(function* (claims: Record<string, number>) {
        return (yield* askByAssertion(agentId, yield* assertionOf(agentId, pair, { claims }))).status
      })
      const { iat: now } = yield* rightClaims(agentId)
      const at = (iat: number, exp = iat + 60) => status({ iat: now + iat, exp: now + exp })
      assert.strictEqual(yield* at(30), 200)
      assert.strictEqual(yield* at(31), 401)
      assert.strictEqual(yield* at(31, 32), 401)
      assert.strictEqual(yield* at(-89), 200)
      assert.strictEqual(yield* at(-90), 401)
      assert.strictEqual(yield* at(-60, -29), 200)
      assert.strictEqual(yield* at(-60, -30), 401)
      assert.strictEqual(yield* at(0, 60), 200)
      assert.strictEqual(yield* at(0, 61), 401)
      assert.strictEqual(yield* status({ nbf: now + 30 }), 200)
      assert.strictEqual(yield* status({ nbf: now + 31 }), 401)
    })
  )

  it.effect("An assertion that was right is expired 90 s later", () =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs.ES256)
      const [early, late] = [yield* assertionOf(agentId, pair), yield* assertionOf(agentId, pair)]
      yield* TestClock.adjust("89 seconds")
      assert.strictEqual((yield* askByAssertion(agentId, early)).status, 200)
      yield* TestClock.adjust("1 second")
      const answer = yield* askByAssertion(agentId, late)
      assert.strictEqual(answer.status, 401)
      assert.include(answer.json["detail"], "expired")
    })
  )

  it.effect("The error names a wrong claim once the signature is right, and before that nothing", () =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs.RS256)
      const wrong = { claims: { aud: "https://elsewhere.example" } }
      const known = yield* askByAssertion(agentId, yield* assertionOf(agentId, pair, wrong))
      assert.include(
        known.json["detail"],
        "aud: Expected exactly http://127.0.0.1:8080/api/v1/agent/auth/token"
      )
      const forged = yield* askByAssertion(agentId, yield* assertionOf(agentId, strangers.RS256, wrong))
      const nobody = "0190f000-0000-7000-8000-000000000000"
      const unknown = yield* askByAssertion(nobody, yield* assertionOf(nobody, pair))
      const secret = yield* askForToken(nobody, "wrong")
      assert.deepStrictEqual(forged.json, unknown.json)
      assert.deepStrictEqual(secret.json, unknown.json)
    })
  )

  it.effect("An assertion sent 20 times at once gives exactly one token, and none later", () =>
    Effect.gen(function* () {
      for (const kind of kinds) {
        const { agentId, pair } = yield* onboardWithKey(pairs[kind])
        const assertion = yield* assertionOf(agentId, pair)
        const answers = yield* replays(agentId, assertion, 20)
        assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [
          200,
          ...Array.from({ length: 19 }, () => 401)
        ])
        const again = yield* askByAssertion(agentId, assertion)
        assert.strictEqual(again.status, 401)
        assert.include(again.json["detail"], "used before")
      }
    })
  )

  it.effect("Another ECDSA signature of the same text does not make another assertion", () =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs.ES256)
      const assertion = yield* assertionOf(agentId, pair)
      assert.strictEqual((yield* askByAssertion(agentId, assertion)).status, 200)
      const [header = "", payload = "", signature = ""] = assertion.split(".")
      const bytes = Buffer.from(signature, "base64url")
      const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
      const s = order - BigInt(`0x${bytes.subarray(32).toString("hex")}`)
      const mirrored = Buffer.concat([
        bytes.subarray(0, 32),
        Buffer.from(s.toString(16).padStart(64, "0"), "hex")
      ])
      const answer = yield* askByAssertion(agentId, `${header}.${payload}.${mirrored.toString("base64url")}`)
      assert.strictEqual(answer.status, 401)
      assert.include(answer.json["detail"], "used before")
    })
  )

  it.effect("The jti belongs to its agent, and a stranger cannot use it up", () =>
    Effect.gen(function* () {
      const ada = yield* onboardWithKey(pairs.RS256)
      const bob = yield* onboardWithKey(strangers.RS256)
      const claims = { jti: "the same" }
      const forged = yield* assertionOf(ada.agentId, bob.pair, { claims })
      assert.strictEqual((yield* askByAssertion(ada.agentId, forged)).status, 401)
      const late = yield* assertionOf(ada.agentId, ada.pair, { claims: { ...claims, aud: "elsewhere" } })
      assert.strictEqual((yield* askByAssertion(ada.agentId, late)).status, 401)
      for (const { agentId, pair } of [bob, ada]) {
        const assertion = yield* assertionOf(agentId, pair, { claims })
        assert.strictEqual((yield* askByAssertion(agentId, assertion)).status, 200)
      }
    })
  )

  it.effect("A used assertion is remembered as long as any replica could take it, and no longer", () =>
    Effect.gen(function* () {
      const tokens = yield* Tokens
      const { agentId, pair } = yield* onboardWithKey(pairs.ES256)
      yield* issueByAssertion(agentId, yield* assertionOf(agentId, pair))
      const remembered = countOf(
        (sql) => sql`select count(*)::int as count from used_assertions where agent_id = ${agentId}::uuid`
      )
      yield* TestClock.adjust("2 minutes")
      yield* tokens.trim
      assert.strictEqual(yield* remembered, 1)
      yield* TestClock.adjust("31 seconds")
      yield* tokens.trim
      assert.strictEqual(yield* remembered, 0)
    })
  )

  it.effect("An assertion is good only for an agent that registered with this method", () =>
    Effect.gen(function* () {
      const keyed = yield* onboardWithKey(pairs.ES256)
      assert.strictEqual((yield* askForToken(keyed.agentId, keyed.secret)).status, 401)
      const { agentId } = yield* onboard()
      const assertion = yield* assertionOf(agentId, pairs.ES256)
      assert.strictEqual((yield* askByAssertion(agentId, assertion)).status, 401)
    })
  )

  it.effect("An assertion before the challenge is passed is 403, and used up all the same", () =>
    Effect.gen(function* () {
      const { agent_id } = yield* register({ auth_method: "private_key_jwt", public_key: pairs.ES256.pem })
      const assertion = yield* assertionOf(agent_id, pairs.ES256)
      const pending = yield* askByAssertion(agent_id, assertion)
      assert.strictEqual(pending.status, 403)
      assert.strictEqual(pending.json["code"], "challenge_pending")
      assert.strictEqual(pending.json["error"], "unauthorized_client")
      assert.strictEqual((yield* askByAssertion(agent_id, assertion)).status, 401)
    })
  )

  it.effect("An assertion renews the claim link once, and a private_key_jwt agent's secret does, too", () =>
    Effect.gen(function* () {
      const { agentId, pair, secret } = yield* onboardWithKey(pairs.ES256)
      const refresh = (json: unknown) => post("/api/v1/agent/registry/claim-link/refresh", { json })
      assert.strictEqual((yield* refresh({ agent_id: agentId, client_secret: secret })).status, 200)
      const byAssertion = {
        agent_id: agentId,
        client_assertion_type: assertionType,
        client_assertion: yield* assertionOf(agentId, pair)
      }
      assert.strictEqual((yield* refresh(byAssertion)).status, 200)
      assert.strictEqual((yield* refresh(byAssertion)).status, 401)
      assert.strictEqual((yield* askByAssertion(agentId, byAssertion.client_assertion)).status, 401)
      assert.strictEqual((yield* refresh({ agent_id: agentId })).status, 400)
    })
  )

  it.effect("A token by assertion ends like any other: by suspension and by a new secret, within 5 s", () =>
    Effect.gen(function* () {
      const { agentId, pair } = yield* onboardWithKey(pairs.ES256)
      const { access_token } = yield* issueByAssertion(agentId, yield* assertionOf(agentId, pair))
      yield* post(`/api/v1/admin/agents/${agentId}/rotate-secret`, { token: testAdminToken })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token: access_token })).status, 401)
      yield* issueByAssertion(agentId, yield* assertionOf(agentId, pair))
    })
  )

  it.effect("A used assertion cannot be stored twice, whoever stores it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { agentId } = yield* onboardWithKey(pairs.ES256)
      const write = sql`
        insert into used_assertions (agent_id, jti, expires_at) values (${agentId}::uuid, 'x', ${"2026-01-01T00:00:00Z"}::timestamptz)`
      yield* write
      assert.strictEqual((yield* Effect.flip(write)).reason._tag, "UniqueViolation")
    })
  )
})

const unnamed = Buffer.from(
  JSON.stringify({ iss: "a", sub: "a", aud: "a", iat: 1, exp: 2, jti: "1" })
).toString("base64url")
const withHeader = (members: object) =>
  readAssertion(
    `${Buffer.from(JSON.stringify({ alg: "ES256", ...members })).toString("base64url")}.${unnamed}.AAAA`
  )

// Names of IANA's registry "JSON Web Signature and Encryption Header Parameters", and those that clients and gateways add.
it.each([
  ["x5t", "abc"],
  ["x5t#S256", "abc"],
  ["url", "https://elsewhere.example/"],
  ["nonce", "1"],
  ["iss", "somebody else"],
  ["sub", "somebody else"],
  ["aud", ["elsewhere"]],
  ["exp", 0],
  ["iat", "now"],
  ["jti", null],
  ["svt", ["x"]],
  ["ppt", "shaken"],
  ["iheSSId", "urn:1"],
  ["trust_chain", ["x.y.z"]],
  ["peer_trust_chain", []],
  ["client_id", "x"],
  ["epk", { kty: "EC" }],
  ["apu", ""],
  ["apv", ""],
  ["iv", "AA"],
  ["tag", "AA"],
  ["p2s", "AA"],
  ["p2c", 1_000_000_000],
  ["ALG", "none"],
  ["Crit", ["exp"]],
  ["KID", "x"],
  ["JWK", {}],
  ["b64 ", false],
  ["x5t#S512", 5],
  ["x5ts", [{ alg: -16 }]],
  ["http://example.com/is_root", true],
  ["", 1],
  ["constructor", {}],
  ["toString", 1],
  ["ключ", "значение"],
  ["$schema", { a: [{ b: null }] }],
  ["ver", 1.5]
] as const)("The header of an assertion may have the member %j, which is ignored", (name, value) => {
  assert.strictEqual(withHeader({ [name]: value })._tag, "Success")
})
