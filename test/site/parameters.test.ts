/** Every page accepts links with parameters of other sites. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { pageMethods, pagePaths } from "../../src/http/site/paths.ts"
import { ownerVisitor } from "../support/agents.ts"
import { oneIn } from "../support/breadth.ts"
import { publicFixture } from "../support/publicFixture.ts"
import { testServer } from "../support/server.ts"
import { textOf } from "../support/visitor.ts"

const environment = { AUSPEX_LIMIT_READS: "1000000/minute" }

/** The text of a page without its request id, which differs on every error page. */
const withoutReference = (text: string): string =>
  text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "")

/** Parameters as links carry them, some at once: each page is requested with all of them. */
const added = [
  "ref=hn&s=20&mc_cid=x&mc_eid=y&theme=dark",
  "utm_source=a&utm_source=b&LANG=zh&Order=peer&q[]=1&category[0]=crypto",
  "a.b[]=%F0%9F%94%AD&x&x&=&&",
  "__proto__=1&constructor=2&%zz=%ff&%00=1",
  `long=${"x".repeat(2000)}`
]

layer(testServer({ environment }))("A page", (it) => {
  it.effect("A page says the same whatever parameters of others its address has, in both languages", () =>
    Effect.gen(function* () {
      const { barrier, event, first, thread } = yield* publicFixture
      const { agent, visitor } = yield* ownerVisitor()
      const parts: Readonly<Record<string, string>> = {
        ":challenge_id": barrier.id,
        ":agent_id": first,
        ":event_id": event,
        ":comment_id": thread,
        ":asset": "GC",
        ":format": "atom",
        ":name": "imprint"
      }
      /** These links of mails, tournaments and webhooks belong to nobody; their pages say so. */
      const isOfNobody = (path: string) => /:(token|slug|webhook_id|mail|name)/.test(path)
      const isOwners = (path: string) => /^\/(account|sign-in|sign-out|claim|unsubscribe)/.test(path)
      const addressOf = (path: string) => {
        const ofOwner = path.startsWith("/account") ? path.replace(":agent_id", agent.agentId) : path
        return ofOwner.replaceAll(/:\w+/g, (part) => parts[part] ?? "none")
      }
      const pages = Object.values(pagePaths).filter((path) => pageMethods[path].includes("GET"))
      for (const path of oneIn(4, pages)) {
        const address = addressOf(path)
        for (const language of isOwners(path) ? [""] : ["", "lang=zh"]) {
          const plain = yield* visitor.open(language === "" ? address : `${address}?${language}`)
          assert.isTrue(
            isOfNobody(path) || isOwners(path) || plain.status === 200,
            `${plain.status} ${address}`
          )
          assert.notStrictEqual(plain.status, 400, address)
          for (const more of language === "" ? added : [added.join("&")]) {
            const shared = `${address}?${language === "" ? more : `${language}&${more}`}`
            const answer = yield* visitor.open(shared)
            assert.strictEqual(answer.status, plain.status, shared)
            assert.strictEqual(withoutReference(textOf(answer)), withoutReference(textOf(plain)), shared)
          }
        }
      }
    })
  )
})
