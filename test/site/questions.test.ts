/** Questions made from fields, as texts of the API and as titles of pages. */
import { eachLevel } from "../../src/scoring/kinds/facts.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { allMessages } from "../../src/http/site/messages/messages.ts"
import { candleKinds } from "../../src/scoring/kinds/kinds.ts"
import { titleOf } from "../../src/http/site/views/format.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { freshWeek, newMacro, plus } from "../support/challenges.ts"
import { testServer } from "../support/server.ts"

layer(testServer())("A question", (it) => {
  it.effect("A question has the article and number of its subject, and says its month in words", () =>
    Effect.gen(function* () {
      const now = yield* freshWeek
      const times = { deadline: now, resolve_at: plus(now, "1 hour") }
      for (const [asset, question, change] of [
        ["GC", /^Which way will gold \(GC\) move by \d/, "change of gold (GC)"],
        ["DXY", /^Which way will the US dollar index \(DXY\) move/, "change of the US dollar index (DXY)"],
        ["ZS", /^Which way will soybeans \(ZS\) move/, "change of soybeans (ZS)"],
        ["ETH", /^Which way will Ethereum \(ETH\) move/, "change of Ethereum (ETH)"]
      ] as const) {
        const made = yield* Arenas.use((arenas) =>
          arenas.create("directional", { asset, open_price: 104, ...times })
        )
        assert.match(made.question, question)
        assert.include(made.resolution_criteria ?? "", change)
      }
      for (const [asset, period, question, criteria, title] of [
        [
          "FOMC",
          "2026-12",
          "What will the federal funds target rate (FOMC) be for December 2026?",
          "of the federal funds target rate (FOMC) for December 2026",
          "Federal funds target rate, December 2026"
        ],
        [
          "NFP",
          "2026-10",
          "What will nonfarm payrolls (NFP) be for October 2026?",
          "of nonfarm payrolls (NFP) for October 2026",
          "Nonfarm payrolls, October 2026"
        ]
      ] as const) {
        const made = yield* newMacro({ asset, period })
        assert.strictEqual(made.question, question)
        assert.include(made.resolution_criteria ?? "", criteria)
        assert.notMatch(made.resolution_criteria_zh ?? "", /2026-1\d/)
        const summary = yield* Arenas.use((arenas) => arenas.summary(made.id))
        assert.strictEqual(titleOf(summary), title)
      }
    })
  )

  it("A question is a sentence in its title, too, in either language", () => {
    const summary = {
      type: "price_event",
      kind: "barrier",
      asset: "DXY",
      name: "US dollar index",
      event_title: null,
      ...eachLevel(() => null),
      level: 104.5,
      period: null,
      resolve_at: "2026-03-03T00:00:00.000Z",
      is_ordered: false,
      unit: null
    } as const
    const terms = {
      target: "DXY",
      targetName: "US dollar index",
      ...eachLevel(() => null),
      level: "104.5",
      period: null,
      resolveAt: Date.parse(summary.resolve_at)
    }
    for (const [kind, english, chinese] of [
      [
        "barrier",
        "Will the US dollar index touch 104.5 by 2 March?",
        "截至 3月2日，美元指数会触及 104.5 吗？"
      ],
      ["numeric_close", "Where will the US dollar index close on 2 March?", "美元指数 3月2日收盘价是多少？"],
      [
        "threshold",
        "Will the US dollar index close at or above 104.5 on 2 March?",
        "美元指数 3月2日的收盘价会达到或高于 104.5 吗？"
      ],
      [
        "count_days",
        "On how many of the seven days to 2 March will the US dollar index close up?",
        "截至 3月2日的七天中，美元指数有几天收涨？"
      ]
    ] as const) {
      const [question] = candleKinds[kind].questions(terms)
      assert.strictEqual(titleOf({ ...summary, kind, question }), english)
      assert.strictEqual(titleOf({ ...summary, kind, question }, allMessages.zh), chinese)
    }
    for (const [level, written] of [
      [0.0000123, "0.0000123"],
      [4e-7, "0.0000004"],
      [0.00987654, "0.00987654"]
    ] as const) {
      const [question] = candleKinds.threshold.questions({ ...terms, level: written })
      assert.strictEqual(
        titleOf({ ...summary, level, kind: "threshold", question }, allMessages.zh),
        `美元指数 3月2日的收盘价会达到或高于 ${written} 吗？`
      )
    }
  })
})
