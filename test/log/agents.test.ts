/** Agents in the public log: each registration, each claim and each new key is recorded with its entry, or neither is. */
import { createHash, generateKeyPairSync } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { canonicalJson } from "../../src/layers/crypto/canonicalJson.ts"
import { findOne } from "../../src/layers/postgres/sql.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Operators } from "../../src/services/Operators.ts"
import { Registry } from "../../src/services/Registry.ts"
import { claimedAgent, provisionalAgent, someOperator } from "../support/agents.ts"
import { freshWeek, moveTo, plus } from "../support/challenges.ts"
import { asOwner } from "../support/database.ts"
import { completeLog, entries, logState } from "../support/logbook.ts"
import { testServices } from "../support/services.ts"

const hash = (...parts: ReadonlyArray<string>) => createHash("sha256").update(parts.join("\0")).digest("hex")
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** All entries of an agent, in the log's order. */
const logOf = (agentId: string) =>
  Effect.map(Effect.andThen(completeLog, entries), (all) =>
    all.filter(({ json }) => json["agent_id"] === agentId).map(({ entry, json }) => ({ entry, json }))
  )

const secretOf = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  const { secret } = yield* findOne(Schema.Struct({ secret: Schema.String }))(sql`
    select encode(secret_hash, 'hex') as secret from agents where id = ${agentId}::uuid`)
  return secret
})

layer(testServices())("An agent in the log", (it) => {
  it.effect("An agent registers, is claimed, and gets another secret: an entry each, of hashes alone", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      const monday = yield* freshWeek
      const { agent_id, client_secret } = yield* registry.register({ name: 'Ada "the first" Ω' })
      const owner = yield* someOperator
      const claimed = plus(monday, "1 hour")
      yield* moveTo(claimed)
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        update agents set claimed_at = ${DateTime.toDateUtc(claimed)}, owner_id = ${owner}::uuid, prediction_limit = null
         where id = ${agent_id}::uuid`
      const rotations = [
        registry.rotateSecret(agent_id, "keep"),
        Operators.use((operators) =>
          operators.rotateSecret({ operatorId: owner, agentId: agent_id, gatewayKeys: "keep" })
        )
      ]
      const keys: Array<object> = []
      for (const [turn, rotation] of rotations.entries()) {
        const at = plus(claimed, `${turn + 1} hours`)
        yield* moveTo(at)
        const { client_secret } = yield* rotation
        keys.push({
          agent_id,
          at: DateTime.formatIso(at),
          key_sha256: hash(
            "auspex/agent-key/v1",
            agent_id,
            "client_credentials",
            sha256(client_secret),
            "",
            ""
          ),
          type: "agent.key"
        })
      }
      const found = yield* logOf(agent_id)
      assert.deepStrictEqual(
        found.map(({ json }) => json),
        [
          {
            agent_id,
            auth_method: "client_credentials",
            key_sha256: hash(
              "auspex/agent-key/v1",
              agent_id,
              "client_credentials",
              sha256(client_secret),
              "",
              ""
            ),
            name_sha256: hash("auspex/agent-name/v1", 'Ada "the first" Ω'),
            registered_at: DateTime.formatIso(monday),
            type: "agent.register"
          },
          {
            agent_id,
            claimed_at: DateTime.formatIso(claimed),
            owner_sha256: hash("auspex/agent-owner/v1", agent_id, owner),
            type: "agent.claim"
          },
          ...keys
        ]
      )
      for (const { entry, json } of found)
        assert.strictEqual(Buffer.from(entry).toString("utf8"), canonicalJson(json))
    })
  )

  it.effect(
    "An agent's hash has its public key or its keys' address, and the secret that renews its link",
    () =>
      Effect.gen(function* () {
        const registry = yield* Registry
        yield* freshWeek
        const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
        const pem = publicKey.export({ type: "spki", format: "pem" }).toString()
        const url = "https://keys.example/agent"
        const signing = yield* registry.register({
          name: "a",
          auth_method: "private_key_jwt",
          public_key: pem
        })
        const publishing = yield* registry.register({
          name: "b",
          auth_method: "private_key_jwt",
          jwks_url: url
        })
        for (const [{ agent_id, client_secret }, key] of [
          [signing, [pem, ""]],
          [publishing, ["", url]]
        ] as const) {
          const [registered] = yield* logOf(agent_id)
          assert.strictEqual(
            registered?.json["key_sha256"],
            hash("auspex/agent-key/v1", agent_id, "private_key_jwt", sha256(client_secret), ...key)
          )
        }
      })
  )

  it.effect("A new key is recorded when the first secret is sent again, and not when it is refused", () =>
    Effect.gen(function* () {
      const registry = yield* Registry
      yield* freshWeek
      const { agent_id, challenge_id } = yield* registry.register({ name: "agent" })
      const resend = registry.resendSecret({
        agentId: agent_id,
        challengeId: challenge_id,
        address: "192.0.2.1"
      })
      yield* resend
      const types = Effect.map(logOf(agent_id), (found) => found.map(({ json }) => json["type"]))
      assert.deepStrictEqual(yield* types, ["agent.register", "agent.key"])
      const sql = yield* SqlClient.SqlClient
      const stranger = yield* someOperator
      yield* sql`update agents set first_token_at = created_at where id = ${agent_id}::uuid`
      yield* Effect.flip(resend)
      yield* Effect.flip(
        Operators.use((operators) =>
          operators.rotateSecret({ operatorId: stranger, agentId: agent_id, gatewayKeys: "keep" })
        )
      )
      assert.deepStrictEqual(yield* types, ["agent.register", "agent.key"])
    })
  )

  it.effect("An agent has nothing recorded of a rollback, nor of a change beside name, owner and key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const agentId = yield* claimedAgent()
      yield* completeLog
      yield* Effect.flip(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* provisionalAgent()
            yield* Registry.use((registry) => registry.rotateSecret(agentId, "keep"))
            return yield* Effect.fail("no")
          })
        )
      )
      yield* Registry.use((registry) => registry.amend(agentId, { suspended: true }))
      yield* asOwner(sql`
        update agents set bio = 'Reads the tape.', secret_hash = secret_hash, claimed_at = claimed_at, name = name
         where id = ${agentId}::uuid`)
      assert.strictEqual((yield* logState).pending, 0)
    })
  )

  it.effect("An agent has another key recorded by whatever statement changes it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const agentId = yield* claimedAgent()
      yield* sql`
        update agents set secret_hash = sha256('another'), token_epoch = token_epoch + 1 where id = ${agentId}::uuid`
      const found = yield* logOf(agentId)
      assert.deepStrictEqual(found.at(-1)?.json, {
        agent_id: agentId,
        at: null,
        key_sha256: hash(
          "auspex/agent-key/v1",
          agentId,
          "client_credentials",
          yield* secretOf(agentId),
          "",
          ""
        ),
        type: "agent.key"
      })
      assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
    })
  )
})
