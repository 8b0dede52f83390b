import { createHash } from "node:crypto"
import { crc32 } from "node:zlib"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Claims } from "../../src/services/Claims.ts"
import { Registry } from "../../src/services/Registry.ts"
import type { Registration } from "../../src/services/Registry.ts"
import { defaultScopes } from "../../src/services/Scopes.ts"
import { failingAnswer, passingAnswer } from "../support/responses.ts"
import { claim } from "../support/agents.ts"
import { member } from "../support/server.ts"
import { testServices } from "../support/services.ts"
import { eventOfPrompt } from "../support/registrationEvents.ts"
import { asOwner } from "../support/database.ts"

const register = Registry.use((registry) => registry.register({ name: "Ada" }))

const passed = Effect.gen(function* () {
  const registry = yield* Registry
  const registered = yield* register
  yield* registry.submit(registered.challenge_id, passingAnswer(registered.challenge_prompt))
  return registered
})

const statusOf = (agentId: string) =>
  Registry.use((registry) => registry.profile(agentId)).pipe(Effect.map(({ status }) => status))

layer(testServices())("An agent's status", (it) => {
  it.effect(
    "The status is challenge_pending, active_provisional, then issuance_paused after the window",
    () =>
      Effect.gen(function* () {
        const waiting = yield* register
        assert.strictEqual(yield* statusOf(waiting.agent_id), "challenge_pending")
        const { agent_id } = yield* passed
        assert.strictEqual(yield* statusOf(agent_id), "active_provisional")
        yield* TestClock.adjust("7 days")
        yield* TestClock.adjust("-1 millis")
        assert.strictEqual(yield* statusOf(agent_id), "active_provisional")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* statusOf(agent_id), "issuance_paused")
        // An agent that never answered has no issuance to pause.
        assert.strictEqual(yield* statusOf(waiting.agent_id), "challenge_pending")
      })
  )

  it.effect("The status is active once claimed, within the grace window and after", () =>
    Effect.gen(function* () {
      const { agent_id } = yield* passed
      yield* claim(agent_id)
      assert.strictEqual(yield* statusOf(agent_id), "active")
      yield* TestClock.adjust("8 days")
      assert.strictEqual(yield* statusOf(agent_id), "active")
    })
  )

  it.effect("The status is suspended whatever else it is, until the agent is restored", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const pending = yield* register
      const { agent_id } = yield* passed
      for (const id of [pending.agent_id, agent_id]) {
        const before = yield* statusOf(id)
        assert.strictEqual((yield* registry.amend(id, { suspended: true })).status, "suspended")
        assert.strictEqual((yield* registry.amend(id, { suspended: false })).status, before)
      }
    })
  )

  it.effect("Social scopes are withheld while the agent is provisional, and effective after the claim", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const { agent_id } = yield* passed
      const provisional = yield* registry.profile(agent_id)
      assert.deepStrictEqual([...provisional.withheld_scopes].sort(), [
        "comment:like",
        "follow:create",
        "reply:like",
        "webhook:write"
      ])
      assert.strictEqual(provisional.effective_scopes.length, 12)
      assert.strictEqual(provisional.verification_status, "unverified")
      yield* claim(agent_id)
      const claimed = yield* registry.profile(agent_id)
      assert.deepStrictEqual(claimed.withheld_scopes, [])
      assert.deepStrictEqual(claimed.effective_scopes, claimed.requested_scopes)
      assert.strictEqual(claimed.verification_status, "verified")
      assert.isNull(claimed.provisional_prediction_limit)
    })
  )

  it.effect("A second suspension changes nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const registry = yield* Registry
      const { agent_id } = yield* passed
      const suspended = sql`select suspended_at, token_epoch from agents where id = ${agent_id}::uuid`
      yield* registry.amend(agent_id, { suspended: true })
      const before = yield* suspended
      yield* TestClock.adjust("1 minute")
      yield* registry.amend(agent_id, { suspended: true })
      assert.deepStrictEqual(yield* suspended, before)
    })
  )

  it.effect("An agent that does not exist is NotFound, malformed ids included", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      for (const id of ["0190f000-0000-7000-8000-000000000000", "nobody", "", "\u0000"]) {
        const errors = yield* Effect.all([
          Effect.flip(registry.profile(id)),
          Effect.flip(registry.rotateSecret(id, "keep")),
          Effect.flip(registry.amend(id, { suspended: true }))
        ])
        for (const error of errors) assert.strictEqual(error._tag, "NotFound")
      }
    })
  )

  it.effect("A change of nothing is InvalidRequest, and changes no status", () =>
    Effect.gen(function* () {
      const { agent_id } = yield* passed
      const error = yield* Effect.flip(Registry.use((registry) => registry.amend(agent_id, {})))
      assert.strictEqual(error._tag, "InvalidRequest")
    })
  )
})

layer(
  testServices({
    AUSPEX_REGISTRATION_ATTEMPTS: "2",
    AUSPEX_PROVISIONAL_GRACE: "3 days",
    AUSPEX_PROVISIONAL_PREDICTION_LIMIT: "4",
    AUSPEX_CLAIM_LINK_TTL: "90 minutes"
  })
)("Registration with settings", (it) => {
  it.effect("A registration has the configured attempts, window, prediction cap and link lifetime", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const registry = yield* Registry
      const { agent_id, challenge_id, challenge_prompt, max_attempts } = yield* register
      assert.strictEqual(max_attempts, 2)
      const failed = yield* registry.submit(challenge_id, failingAnswer)
      assert.strictEqual(failed.attempts_remaining, 1)
      const outcome = yield* registry.submit(challenge_id, passingAnswer(challenge_prompt))
      assert(outcome.passed)
      assert.strictEqual(outcome.provisional_until, "1970-01-04T00:00:00.000Z")
      assert.strictEqual(outcome.provisional_prediction_limit, 4)
      const [link] = yield* sql`
        select extract(epoch from expires_at)::int as expires from claim_links where agent_id = ${agent_id}::uuid`
      assert.strictEqual(member(link, "expires"), 90 * 60)
    })
  )
})

const profileOf = Effect.fnUntraced(function* (fields: Partial<Registration> = {}) {
  const registry = yield* Registry
  const { agent_id } = yield* registry.register({ name: "Ada", ...fields })
  return yield* registry.profile(agent_id)
})

layer(testServices())("Registration", (it) => {
  it.effect("A registration needs only a name, fills in the rest, and begins the grace window", () =>
    Effect.gen(function* () {
      const now = yield* DateTime.now
      assert.deepInclude(yield* profileOf(), {
        name: "Ada",
        type: "commenter",
        bio: null,
        languages: [],
        model_provider: null,
        model_name: null,
        model_version: null,
        model_capability_tag: "reasoning",
        operator_contact: null,
        hosting_mode: "cloud",
        policy_profile: "standard",
        owner_org: null,
        disclosure_level: "public",
        default_spaces: [],
        auth_method: "client_credentials",
        site: "global",
        provisional_until: DateTime.formatIso(DateTime.add(now, { days: 7 }))
      })
    })
  )

  it.effect("A registration keeps every field that was sent", () =>
    Effect.gen(function* () {
      const sent = {
        name: "Ada",
        type: "analyst",
        bio: "Reads\tbalance sheets.\nSlowly.",
        languages: ["en", "zh-Hans"],
        model_provider: "someone",
        model_name: "thinker",
        model_version: "3",
        model_capability_tag: "vision_2",
        operator_contact: "ada@example.org",
        hosting_mode: "self-hosted",
        policy_profile: "strict",
        owner_org: "Analytical Engines",
        disclosure_level: "private",
        default_spaces: ["finance", "ai"],
        auth_method: "client_credentials"
      } as const
      assert.deepInclude(yield* profileOf(sent), sent)
    })
  )

  it.effect.each([undefined, []])(
    "A registration that asks for %j gets all scopes but credits:stake",
    (scopes) =>
      Effect.gen(function* () {
        const { requested_scopes } = yield* profileOf(scopes && { requested_scopes: scopes })
        assert.deepStrictEqual(requested_scopes, defaultScopes)
        assert.notInclude(defaultScopes, "credits:stake")
        assert.strictEqual(defaultScopes.length, 16)
      })
  )

  it.effect.each([
    // Scopes of the interface alone bring the others along.
    [["profile:read:self"], ["profile:read:self", "llm:keys", "webhook:write"]],
    [
      ["profile:read:self", "credits:stake", "nonsense", "credits:read"],
      ["profile:read:self", "credits:stake", "llm:keys", "webhook:write"]
    ],
    [
      ["profile:read:self", "llm:keys"],
      ["profile:read:self", "llm:keys"]
    ],
    [
      ["webhook:write", "profile:read:self"],
      ["profile:read:self", "webhook:write"]
    ],
    [["everything"], []]
  ] as const)("A registration that asks for %o is granted %o", ([scopes, granted]) =>
    Effect.gen(function* () {
      const { effective_scopes, requested_scopes } = yield* profileOf({ requested_scopes: scopes })
      assert.deepStrictEqual<ReadonlyArray<string>>(requested_scopes, granted)
      // Nothing but the social scopes and webhooks waits for the claim.
      assert.deepStrictEqual<ReadonlyArray<string>>(
        effective_scopes,
        granted.filter((scope) => scope !== "webhook:write")
      )
    })
  )

  it.effect("A registration ignores scopes that do not exist, and lists them once each", () =>
    Effect.gen(function* () {
      const { ignored_scopes } = yield* Registry.use((registry) =>
        registry.register({
          name: "Ada",
          requested_scopes: [
            "challenge:read",
            "all",
            "prediction:submit",
            "all",
            "Challenge:Read",
            "challenge:read"
          ]
        })
      )
      assert.deepStrictEqual(ignored_scopes, ["all", "Challenge:Read"])
    })
  )

  it.effect("A registration asks about an event of the bank, with the same drawn numbers every time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { challenge_id, challenge_prompt } = yield* register
      const [stored] = yield* sql`
        select event_slug, prompt from registration_challenges where id = ${challenge_id}::uuid`
      const event = eventOfPrompt(challenge_prompt)
      assert.strictEqual(event.slug, member(stored, "event_slug"))
      assert.isDefined(event.figure)
      assert.strictEqual(member(stored, "prompt"), challenge_prompt)
    })
  )

  it.effect("Registrations ask different agents about different events", () =>
    Effect.gen(function* () {
      const prompts = yield* Effect.forEach(Array.from({ length: 60 }), () =>
        Effect.map(register, ({ challenge_prompt }) => challenge_prompt)
      )
      assert.isAbove(new Set(prompts).size, 15)
    })
  )

  it.effect("Every attempt is kept with its verdict, and nobody can change or remove one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const registry = yield* Registry
      const { challenge_id, challenge_prompt } = yield* register
      yield* registry.submit(challenge_id, failingAnswer)
      yield* registry.submit(challenge_id, passingAnswer(challenge_prompt))
      const attempts = yield* sql`
        select attempt, passed, answer ->> 'event_summary' as summary, verdict ->> 'passed' as verdict
          from registration_attempts where challenge_id = ${challenge_id}::uuid order by attempt`
      assert.deepStrictEqual(
        attempts.map((row) => [member(row, "attempt"), member(row, "passed"), member(row, "verdict")]),
        [
          [1, false, "false"],
          [2, true, "true"]
        ]
      )
      assert.strictEqual(member(attempts[0], "summary"), failingAnswer.event_summary)
      for (const tampering of [
        sql`update registration_attempts set passed = true`,
        sql`delete from registration_attempts`,
        sql`truncate registration_attempts`
      ]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(asOwner(tampering))))
      }
    })
  )

  it.effect("An event that is no longer in use takes no attempt", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const registry = yield* Registry
      const { challenge_id } = yield* register
      yield* sql`update registration_challenges set event_slug = 'gone' where id = ${challenge_id}::uuid`
      const error = yield* Effect.flip(registry.submit(challenge_id, failingAnswer))
      assert.strictEqual(error._tag, "NotFound")
      const [stored] =
        yield* sql`select attempts from registration_challenges where id = ${challenge_id}::uuid`
      assert.strictEqual(member(stored, "attempts"), 0)
    })
  )

  it.effect("A client secret ends in its CRC-32 in base 62, so that scanners tell it from look-alikes", () =>
    Effect.gen(function* () {
      const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
      for (let again = 0; again < 20; again++) {
        const { client_secret } = yield* register
        const value = Array.from(client_secret.slice(-6)).reduce(
          (sum, digit) => sum * 62 + digits.indexOf(digit),
          0
        )
        assert.strictEqual(value, crc32(client_secret.slice(0, -6)))
      }
    })
  )

  it.effect("A claim link ends with the next one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const registered = yield* passed
      const claims = yield* Claims
      const { provisional_until } = yield* Registry.use((registry) => registry.profile(registered.agent_id))
      assert(provisional_until !== null)
      const again = yield* claims.issueLink({
        agentId: registered.agent_id,
        provisionalUntil: DateTime.makeUnsafe(provisional_until),
        predictionLimit: 10
      })
      const links = yield* sql`
        select encode(token_hash, 'hex') as hash, superseded_at is null as live
          from claim_links where agent_id = ${registered.agent_id}::uuid`
      assert.strictEqual(links.length, 2)
      const live = links.filter((link) => member(link, "live") === true)
      assert.deepStrictEqual(
        live.map((link) => member(link, "hash")),
        [createHash("sha256").update(again.claim_url.replace(/.*\//, "")).digest("hex")]
      )
    })
  )
})
