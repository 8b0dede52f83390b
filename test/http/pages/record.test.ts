/** The public pages of a challenge and of an agent, and the proofs that they link to. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { verify } from "../../../src/scoring/trackRecord/verify.ts"
import {
  claimedAgent,
  freshWeek,
  moveTo,
  newChallenge,
  plus,
  predict,
  provisionalAgent
} from "../../support/builders.ts"
import { get, testServer, TestServer } from "../../support/server.ts"
import type { Answer } from "../../support/server.ts"
import { buildGoVerifier, checkWithSigstore } from "../../support/outsideVerifiers.ts"
import { keepLog } from "../../support/log/keeping.ts"
import { openWorld, settledWorld } from "../../support/settledWorld.ts"
import { textOf, unescaped } from "../../support/visitor.ts"

const linksOf = ({ text }: Answer): ReadonlyArray<string> =>
  [...text.matchAll(/ href="([^"]*)"/g)].map(([, link = ""]) => unescaped(link))

layer(testServer())("The page of a challenge", (it) => {
  it.effect("before the deadline shows terms and counts, and nothing of a prediction", () =>
    Effect.gen(function* () {
      const { ada, challenge, right, wrong } = yield* openWorld()
      const page = yield* get(`/challenges/${challenge.id}`)
      assert.strictEqual(page.status, 200)
      const shown = textOf(page)
      assert.include(shown, "Will gold rise?")
      assert.include(shown, "2: 1 bullish, 1 bearish, 0 neutral")
      assert.include(shown, String(challenge.resolution_criteria))
      assert.include(shown, String(challenge.resolution_criteria_zh))
      for (const secret of [ada, right.commit, wrong.commit, "Ada", "0.875", "fall", right.prediction_id]) {
        assert.notInclude(page.text, secret)
      }
      const card = yield* get(`/agents/${ada}`)
      assert.notInclude(card.text, challenge.id)
      assert.notInclude(card.text, right.commit)
    })
  )

  it.effect("from the deadline on shows who said what, after settlement with score, proofs and result", () =>
    Effect.gen(function* () {
      const world = yield* openWorld()
      yield* world.pass
      const path = `/challenges/${world.challenge.id}`
      const closed = textOf(yield* get(path))
      assert.match(closed, /Closed entry \d+/)
      assert.include(closed, "Ada bullish at 0.875")
      assert.notInclude(closed, "points")
      yield* world.settle
      const settled = yield* get(path)
      const shown = textOf(settled)
      assert.match(shown, /Result bullish/)
      assert.match(shown, /Ada bullish at 0\.875 Right 93\.75 points/)
      assert.match(shown, /Grace bearish at 0\.25 Wrong 37\.50 points/)
      assert.include(shown, "Rates <fall>.")
      assert.match(shown, /Made entry \d+ .*Closed entry \d+ .*Settled entry \d+/)
      assert.notInclude(settled.text, 'name="robots"')

      const proofs = linksOf(settled).filter((link) => link.startsWith("/api/v1/log/"))
      assert.strictEqual(proofs.length, 5)
      for (const proof of proofs) {
        const { headers, text } = yield* get(proof)
        assert.match(headers.get("content-disposition") ?? "", /\.tlog-proof"$/)
        const verification = yield* Effect.promise(() => verify({ proof: text, keys: world.keys }))
        assert.isTrue(verification.holds, JSON.stringify(verification.checks))
      }
      assert.include(linksOf(settled), `/agents/${world.ada}`)
      assert.include(linksOf(settled), `/api/v1/eval/challenges/${world.challenge.id}/results`)
      assert.include(
        linksOf(settled),
        `/verify?proof=${encodeURIComponent(`/api/v1/log/proof/${world.right.commit}`)}`
      )
    })
  )

  it.effect("leads through many predictions page by page, each once", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      const agents = yield* Effect.forEach(
        Array.from({ length: 51 }, (_, index) => `agent ${index}`),
        (name) => claimedAgent(name),
        { concurrency: 8 }
      )
      yield* Effect.forEach(agents, (agent) => predict(agent, challenge), { concurrency: 8 })
      yield* moveTo(deadline)
      const first = yield* get(`/challenges/${challenge.id}`)
      const next = linksOf(first).find((link) => link.includes("cursor=")) ?? ""
      const second = yield* get(next)
      const shown = [first, second].flatMap(linksOf).filter((link) => link.startsWith("/agents/"))
      assert.deepStrictEqual(shown.toSorted(), agents.map((agent) => `/agents/${agent}`).toSorted())
      assert.isUndefined(linksOf(second).find((link) => link.includes("cursor=")))
    })
  )

  it.effect(
    "says so when there is no such challenge, or the cursor is none of ours, and keeps no cookie",
    () =>
      Effect.gen(function* () {
        const { challenge } = yield* openWorld()
        for (const path of [
          "/challenges/nothing",
          "/challenges/0190f000-0000-7000-8000-000000000000",
          "/agents/x"
        ]) {
          const page = yield* get(path)
          assert.strictEqual(page.status, 404, path)
          assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
        }
        assert.strictEqual((yield* get(`/challenges/${challenge.id}?cursor=x`)).status, 400)
        const { headers } = yield* get(`/challenges/${challenge.id}`)
        assert.deepStrictEqual(headers.getSetCookie(), [])
        assert.notInclude(headers.get("content-security-policy") ?? "", "script-src")
      })
  )
})

layer(testServer())("The page of an agent", (it) => {
  it.effect("shows figures, and settled predictions with links to challenge and proof", () =>
    Effect.gen(function* () {
      const { ada, challenge, right } = yield* settledWorld(["<b>Ada</b>", "Grace"])
      const page = yield* get(`/agents/${ada}`)
      const shown = textOf(page)
      assert.include(shown, "<b>Ada</b>")
      assert.notInclude(page.text, "<b>Ada</b>")
      assert.include(shown, "Verified An operator answers for it.")
      assert.match(shown, /Average score 93\.75 of 100/)
      assert.match(shown, /Right 1 of 1, 100\.0 %/)
      assert.match(shown, /bullish at 0\.875; it was bullish Right 93\.75 points/)
      assert.include(linksOf(page), `/challenges/${challenge.id}`)
      assert.include(linksOf(page), `/api/v1/log/proof/${right.commit}`)
      assert.notInclude(page.text, 'name="robots"')
    })
  )

  it.effect("of one that nobody claimed and nothing settled says so", () =>
    Effect.gen(function* () {
      const shown = textOf(yield* get(`/agents/${yield* provisionalAgent("New")}`))
      assert.include(shown, "Unverified")
      assert.include(shown, "None of its predictions is settled yet.")
    })
  )
})

layer(testServer())("What the server gives out", (it) => {
  it.effect(
    "satisfies verifiers that others wrote: every proof, and the whole log with its tiles",
    ({ skip }) =>
      Effect.gen(function* () {
        const { challenge, keys, right, wrong } = yield* settledWorld()
        const { url } = yield* TestServer
        const [key = ""] = keys
        const go = yield* Effect.promise(buildGoVerifier)
        for (const path of [
          `/api/v1/log/proof/${right.commit}`,
          `/api/v1/log/proof/${wrong.commit}`,
          `/api/v1/log/settlement/${challenge.id}`,
          "/api/v1/log/proof/entry/0"
        ]) {
          const { text } = yield* get(path)
          assert.doesNotThrow(() => checkWithSigstore(key, text))
          if ("proof" in go) assert.include(yield* Effect.promise(() => go.proof(key, text)), "entry")
        }
        if ("missing" in go) return skip(`skipped for Go: ${go.missing}`)
        assert.match(yield* Effect.promise(() => go.log(key, url)), /^\d+ entries, root /)
        go.remove()
      })
  )

  it.effect("an entry that is not there has no proof", () =>
    Effect.gen(function* () {
      yield* keepLog
      for (const place of ["1000000", "-1", "00", "x", "9".repeat(30)]) {
        assert.strictEqual((yield* get(`/api/v1/log/proof/entry/${place}`)).status, 404, place)
      }
    })
  )
})
