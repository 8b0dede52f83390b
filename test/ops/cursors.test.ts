/** A cursor is of the list that handed it out, and of no other. */
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option, Redacted, Schema } from "effect"
import { cursorCodecs } from "../../src/layers/crypto/Cursors.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Credits } from "../../src/services/Credits.ts"
import { Discussion } from "../../src/services/Discussion.ts"
import type { InvalidRequest, NotFound } from "../../src/services/domain/errors.ts"
import { OperatorId } from "../../src/services/domain/ids.ts"
import type { Page } from "../../src/services/domain/paging.ts"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, newChallenge, newMacro } from "../support/challenges.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { testServices } from "../support/services.ts"

const secret = (text: string) => Redacted.make(text)
const codecOf = cursorCodecs({ tokenSecret: secret("new"), tokenSecretPrevious: Option.some(secret("old")) })
const earlierCodecOf = cursorCodecs({ tokenSecret: secret("old"), tokenSecretPrevious: Option.none() })

const Guid = Schema.String.check(Schema.isGUID())
const id = "01890000-0000-7000-8000-000000000000"

const ListName = Schema.Union([
  Schema.Literals(["comments", "replies", "commentsstorm", "comments\u0000storm", 'comments","storm']),
  Schema.String
])
const Which = Schema.Union([Schema.Undefined, Schema.Literals(["storm", "calm", ""]), Schema.String])

describe("A cursor", () => {
  it("A cursor is taken by its list, also after a change of the token secret", () => {
    for (const made of [codecOf, earlierCodecOf]) {
      const cursor = made("comments", Guid).encode(id, "storm")
      assert.deepStrictEqual(codecOf("comments", Guid).decode(cursor, "storm"), Option.some(id))
    }
  })

  it.prop(
    "A cursor is taken by no other list, of whatever name",
    [Schema.Tuple([ListName, Which]), Schema.Tuple([ListName, Which])],
    ([[list, which], [other, ofWhat]]) => {
      const cursor = codecOf(list, Guid).encode(id, which)
      const expected = list === other && (which ?? "") === (ofWhat ?? "") ? Option.some(id) : Option.none()
      assert.deepStrictEqual(codecOf(other, Guid).decode(cursor, ofWhat), expected)
    },
    { arbitrary: { runs: 1000 } }
  )

  const NoKey = Schema.Union([Schema.Json, Schema.Literals(["1", `${id}0`, ` ${id}`])])
  it.prop("A cursor is not taken where its content is no key of the list", [NoKey], ([key]) => {
    const cursor = codecOf("comments", Schema.Unknown).encode(key)
    assert.deepStrictEqual(codecOf("comments", Guid).decode(cursor), Option.none())
  })
})

layer(testServices())("A cursor of one list", (it) => {
  it.effect("A cursor of one list is refused by another, naming the parameter", () =>
    Effect.gen(function* () {
      yield* freshWeek
      const agent = yield* claimedAgent()
      yield* Effect.replicateEffect(newChallenge(), 2)
      yield* Effect.replicateEffect(newMacro(), 2)
      const events = [yield* newEvent(), yield* newEvent()] as const
      for (const event of events) yield* Effect.replicateEffect(comment(agent, event), 2)

      const arenas = yield* Arenas
      const discussion = yield* Discussion
      const credits = yield* Credits
      const lists: ReadonlyArray<
        (page: Page) => Effect.Effect<{ readonly next_cursor: string | null }, InvalidRequest | NotFound>
      > = [
        (page: Page) => arenas.list("directional", {}, page),
        (page: Page) => arenas.ownPredictions(agent, page),
        (page: Page) => arenas.ownPredictions(agent, page, { type: "directional" }),
        (page: Page) => arenas.ownPredictions(agent, page, { status: "open" }),
        (page: Page) => arenas.list("macro", {}, page),
        (page: Page) => arenas.listSummaries({ status: "open" }, page),
        (page: Page) => arenas.listSummaries({ status: "closed" }, page),
        (page: Page) => discussion.comments(events[0].event_id, page),
        (page: Page) => discussion.comments(events[1].event_id, page),
        (page: Page) => credits.transactions(agent, page),
        (page: Page) => credits.movements(OperatorId.make(id), page)
      ]
      let handedOut = 0
      for (const list of lists) {
        const { next_cursor } = yield* list({ limit: 1, cursor: undefined })
        if (next_cursor === null) continue
        handedOut += 1
        const page = { limit: 1, cursor: next_cursor }
        yield* list(page)
        for (const other of lists.filter((each) => each !== list)) {
          const refused = yield* Effect.flip(other(page))
          assert(refused._tag === "InvalidRequest")
          assert.deepStrictEqual(
            refused.errors.map(({ path }) => path),
            ["cursor"]
          )
        }
      }
      assert.isAtLeast(handedOut, 5)
    })
  )
})
