/** A call of a provider that reports no usage, where its tokens cannot be counted either: it is settled all the same. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, vi } from "vitest"
import { encoding } from "../../../src/layers/gateway/styles/tokens.ts"
import { chat, gatewayServer, spender } from "../../support/gateway.ts"
import { countOf } from "../../support/builders.ts"
import { stateOf } from "../../support/ledger.ts"
import { get, member } from "../../support/server.ts"
import { answerText } from "../../support/upstream.ts"

const broken = vi.spyOn(encoding, "load").mockRejectedValue(new Error("The encoding cannot be loaded."))
afterAll(() => broken.mockRestore())

const model = { name: "nousage", routes: [{ provider: "north" as const, model: "nousage" }] }

layer(gatewayServer([model], {}, "usual"))("Where tokens cannot be counted", (it) => {
  it.effect("four bytes are taken for one, the row says estimated, and nothing stays reserved", () =>
    Effect.gen(function* () {
      const { agentId, key } = yield* spender()
      for (const stream of [false, true]) {
        const answer = yield* chat(key, { model: "nousage", stream })
        assert.strictEqual(answer.status, 200)
        const { json } = yield* get("/api/v1/llm/usage", { token: key })
        const item = member(json, "items", 0)
        assert.strictEqual(member(item, "estimated"), true)
        assert.isAbove(Number(member(item, "prompt_tokens")), 0)
        assert.strictEqual(member(item, "completion_tokens"), Math.ceil(Buffer.byteLength(answerText) / 4))
        assert.isAbove(Number(member(item, "cost")), 0)
      }
      assert.strictEqual((yield* stateOf(`agent:${agentId}`)).held, 0n)
      assert.strictEqual(
        yield* countOf((sql) => sql`select count(*)::int as count from gateway_reservations`),
        0
      )
    })
  )
})
