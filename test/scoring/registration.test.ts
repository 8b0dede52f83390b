import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { judge, passScore, rubric } from "../../src/scoring/registration.ts"
import type { RegistrationEvent, Verdict } from "../../src/scoring/registration.ts"
import { eventOfSlug } from "../../src/scoring/registration/template.ts"
import { assetKeys } from "../../src/scoring/registration/model.ts"
import { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"
import { breadth, isFull, oneIn } from "../support/breadth.ts"
import { handwritten } from "../support/writtenAnswers.ts"
import { bank, drawn, inUse } from "../support/registrationEvents.ts"
import { bestDirection, bestMagnitude, englishAnswer, lazyAnswers } from "../support/registrationAnswers.ts"

const strike: RegistrationEvent = {
  slug: "strike",
  prompt:
    "Workers at a copper mine that yields 5 % of world output walked out after a pay offer was rejected. Stocks in warehouses cover four days of use. The last strike took 120 000 tonnes off the market.",
  assets: { core: ["HG", "GC"], plausible: ["PPI"] },
  directions: { bullish: 1, mixed: 0.5 },
  magnitudes: { high: 1, medium: 0.5 },
  kinds: ["metals"],
  terms: ["strike", "mine$", "smelter", "warehouse", "tonne", "罢工", "矿", "库存"],
  related: ["metals", "growth", "labour"]
}

const good: RegistrationAnswer = {
  event_summary:
    "A walkout has shut a mine with a twentieth of the world's copper while warehouse stocks are tiny.",
  market_impact: {
    affected_assets: ["HG", "GC"],
    direction: "bullish",
    magnitude: "high",
    reasoning:
      "The strike removes supply that smelters need at once. Because stocks cover only a few days, buyers must bid up copper until someone else uses less."
  },
  trading_implications: {
    short_term: "Copper and its near spreads tighten while there is no talk of a settlement.",
    medium_term: "Once the mine reopens the price gives part of that back, but lost tonnes stay lost."
  },
  confidence: 0.75,
  related_events: ["Chinese PMI", "other mine wage talks"]
}

const withImpact = (change: Partial<RegistrationAnswer["market_impact"]>): RegistrationAnswer => ({
  ...good,
  market_impact: { ...good.market_impact, ...change }
})

const points = (answer: RegistrationAnswer, name: string, event = strike): number | undefined =>
  judge(event, answer).criteria.find((criterion) => criterion.name === name)?.points

const pointsForAssets = (...affected_assets: ReadonlyArray<string>): number | undefined =>
  points(withImpact({ affected_assets }), "affected_assets")

const pointsForReasoning = (reasoning: string): number =>
  points(withImpact({ reasoning }), "cause_and_effect") ?? -1

const eventIndex = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: bank.length - 1 }))
const eventAt = (index: number): RegistrationEvent => bank[index] ?? strike

const assertWithinBounds = (verdict: Verdict): void => {
  for (const criterion of verdict.criteria) {
    assert.isTrue(Number.isInteger(criterion.points), criterion.name)
    assert.isAtLeast(criterion.points, 0, criterion.name)
    assert.isAtMost(criterion.points, criterion.max_points, criterion.name)
  }
  assert.strictEqual(
    verdict.score,
    verdict.criteria.reduce((sum, criterion) => sum + criterion.points, 0)
  )
  assert.strictEqual(verdict.passed, verdict.score >= verdict.threshold)
}

describe("The rubric", () => {
  it("The rubric has 100 points, passes at 60, and names the criteria as the verdict does", () => {
    assert.strictEqual(
      rubric.reduce((sum, criterion) => sum + criterion.points, 0),
      100
    )
    assert.strictEqual(passScore, 60)
    assert.deepStrictEqual(
      judge(strike, good).criteria.map(({ max_points, name }) => [name, max_points]),
      rubric.map(({ name, points }) => [name, points])
    )
  })

  it("The rubric gives a good answer everything", () => {
    const verdict = judge(strike, good)
    assert.strictEqual(verdict.score, 100)
    assert.isTrue(verdict.criteria.every(({ feedback }) => feedback === "Nothing is lacking."))
  })

  it("The rubric lets neither the choices nor the texts pass alone", () => {
    const choices = new Set(["affected_assets", "direction", "magnitude", "confidence", "related_events"])
    const sum = rubric
      .filter(({ name }) => choices.has(name))
      .reduce((total, { points }) => total + points, 0)
    assert.isBelow(sum, passScore)
    assert.isBelow(100 - sum, passScore)
  })

  it.prop(
    "Points never leave their bounds and sum to the score",
    [RegistrationAnswer, eventIndex],
    ([answer, index]) => assertWithinBounds(judge(eventAt(index), answer))
  )

  it.prop(
    "The same answer always has the same verdict",
    [RegistrationAnswer, eventIndex],
    ([answer, index]) => assert.deepStrictEqual(judge(eventAt(index), answer), judge(eventAt(index), answer))
  )
})

describe("An answer to another event", () => {
  it("An answer to another event passes for none in use, handwritten or from the README", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
    const shown = /'\{"answer": (\{.*?\})\}'$/ms.exec(readme)?.[1] ?? "{}"
    const ofReadme = Schema.decodeSync(Schema.fromJsonString(RegistrationAnswer))(shown)
    const answers = [
      ...handwritten.map(([slug, , answer]) => ({ slug, answer })),
      { slug: "soy-yield-report", answer: ofReadme }
    ]
    const shownEvent = eventOfSlug(
      new Map(inUse.map((template) => [template.slug, template])),
      "soy-yield-report?actual=54.4&expected=52.2"
    )
    assert(shownEvent !== undefined)
    assert.strictEqual(judge(shownEvent, ofReadme, bank).score, 100)
    const events = oneIn(12, inUse).map((template) => drawn(template))
    for (const { answer, slug } of answers) {
      for (const event of events.filter((each) => !each.slug.startsWith(`${slug}?`))) {
        assert.isFalse(judge(event, answer, bank).passed, `${slug} for ${event.slug}`)
      }
    }
  })

  const told = "speaks in the words of another event"

  it("An answer to another event is told so, and keeps at least 0.3 of its points", () => {
    const about = handwritten.find(([slug]) => slug === "cpi-hot-services")
    const another = bank.find(({ slug }) => slug === "soy-drought")
    assert(about !== undefined && another !== undefined)
    const [, , answer] = about
    const alone = judge(another, answer)
    const among = judge(another, answer, bank)
    assert.include(among.criteria[0]?.feedback ?? "", told)
    assert.notInclude(JSON.stringify(alone), told)
    for (const [index, { points }] of among.criteria.entries()) {
      assert.isAtLeast(points, Math.floor((alone.criteria[index]?.points ?? 0) * 0.3))
    }
  })

  it("A merely short answer is not taken for one to another event", () => {
    const event = bank.find(({ slug }) => slug === "gas-storage-glut")
    assert(event !== undefined)
    const short: RegistrationAnswer = {
      event_summary: "Gas builds beat; LNG export plant talk aside.",
      market_impact: {
        affected_assets: ["NG"],
        direction: "bearish",
        magnitude: "medium",
        reasoning: "Too much gas at home. So gas falls."
      },
      trading_implications: { short_term: "Gas falls.", medium_term: "Winter may turn it." },
      confidence: 0.6,
      related_events: ["weather", "gas production"]
    }
    assert.notInclude(JSON.stringify(judge(event, short, bank)), told)
  })
})

describe("Affected assets", () => {
  it("Affected assets are the same in any order and case", () => {
    assert.strictEqual(pointsForAssets("gc", "Hg"), 16)
    assert.strictEqual(pointsForAssets("HG", "GC"), 16)
  })

  it.prop(
    "Assets lose nothing by disorder and lower case",
    [Schema.Array(Schema.Literals(assetKeys)), eventIndex],
    ([keys, index]) => {
      const inOrder = points(withImpact({ affected_assets: keys }), "affected_assets", eventAt(index))
      const disordered = keys.map((key) => ` ${key.toLowerCase()} `).toReversed()
      assert.strictEqual(
        points(withImpact({ affected_assets: disordered }), "affected_assets", eventAt(index)),
        inOrder
      )
    }
  )

  it.each([
    ["Copper", "gold futures"],
    ["HG=F", "XAU/USD"],
    ["COMEX copper (HG)", "Gold (GC)"],
    ["铜期货", "黄金"]
  ])("Affected assets may be named %s and %s", (copper, gold) => {
    assert.strictEqual(pointsForAssets(copper, gold), 16)
  })

  it("Affected assets count once however often they are named", () => {
    assert.strictEqual(pointsForAssets("HG", "copper", "hg", "GC"), 16)
  })

  it("Affected assets earn a share when one is missing", () => {
    assert.strictEqual(pointsForAssets("HG"), 8)
    assert.strictEqual(pointsForAssets("PPI"), 6)
    assert.strictEqual(pointsForAssets("CL"), 0)
    assert.strictEqual(pointsForAssets(), 0)
  })

  it("Affected assets lose points by unmoved others, and all by a list of everything", () => {
    assert.isBelow(pointsForAssets("HG", "GC", "NG", "ZS") ?? 16, 12)
    assert.strictEqual(pointsForAssets(...assetKeys), 0)
  })

  it("Affected assets lose nothing by one asset that this platform does not know", () => {
    assert.strictEqual(pointsForAssets("HG", "GC", "silver"), 16)
    assert.isBelow(pointsForAssets("HG", "GC", "silver", "zinc", "nickel", "lead") ?? 16, 12)
  })
})

describe("Direction and magnitude", () => {
  it("Direction and magnitude earn the points that the event gives them", () => {
    assert.strictEqual(points(withImpact({ direction: "mixed" }), "direction"), 6)
    assert.strictEqual(points(withImpact({ direction: "bearish" }), "direction"), 0)
    assert.strictEqual(points(withImpact({ magnitude: "medium" }), "magnitude"), 3)
    assert.strictEqual(points(withImpact({ magnitude: "low" }), "magnitude"), 0)
  })
})

describe("Confidence", () => {
  it.each([
    [0, 0],
    [0.05, 1],
    [0.3, 4],
    [0.5, 4],
    [0.92, 4],
    [0.98, 1],
    [1, 0],
    [Number.NaN, 0]
  ])("A confidence of %d earns %d points", (confidence, expected) => {
    assert.strictEqual(points({ ...good, confidence }, "confidence"), expected)
  })
})

describe("Cause and effect", () => {
  it("Cause and effect take two or three sentences; one or many cost points", () => {
    const [first = "", second = ""] = good.market_impact.reasoning.split(". ")
    const three = `${good.market_impact.reasoning} Mines elsewhere cannot raise output within weeks.`
    assert.strictEqual(pointsForReasoning(three), 30)
    assert.isBelow(pointsForReasoning(`${first}, and ${second}`), 30)
    assert.isBelow(
      pointsForReasoning(`${three} Rates are steady. The dollar is flat. Nobody else walks out.`),
      30
    )
  })

  it("Cause and effect are not cut into sentences by decimals and abbreviations", () => {
    assert.strictEqual(
      pointsForReasoning(
        "The strike removes approx. 5.5 % of mine supply, e.g. concentrate for U.S. smelters, at once. Because stocks cover 3.9 days, buyers must bid up copper."
      ),
      30
    )
  })

  it("Cause and effect may be written in Chinese", () => {
    assert.strictEqual(
      pointsForReasoning(
        "罢工使铜矿供应立即减少，冶炼厂面临精矿短缺。由于库存只够四天使用，买家不得不抬高价格，从而推高铜价。"
      ),
      30
    )
  })

  it("Cause and effect earn nothing as a copy of the prompt, of the summary, or of themselves", () => {
    assert.strictEqual(pointsForReasoning(strike.prompt), 0)
    assert.strictEqual(pointsForReasoning(strike.prompt.split(" ").toReversed().join(" ")), 0)
    assert.strictEqual(pointsForReasoning(good.event_summary), 0)
    assert.strictEqual(pointsForReasoning("The strike lifts copper because stocks are low. ".repeat(3)), 0)
  })

  it("A copy of the prompt with some words of one's own earns little as a reasoning", () => {
    const own = "Therefore investors everywhere react quickly, because nobody had foreseen such developments."
    assert.isBelow(pointsForReasoning(`${strike.prompt} ${own}`), 10)
  })

  it("A reasoning earns little when it says nothing of the event", () => {
    assert.isBelow(
      pointsForReasoning(
        "Because of the news, prices will go up or down. Therefore people should be careful."
      ),
      20
    )
  })
})

describe("Horizons", () => {
  const { medium_term, short_term } = good.trading_implications
  const horizons = (short: string, medium: string): number =>
    points({ ...good, trading_implications: { short_term: short, medium_term: medium } }, "horizons") ?? -1

  it("Both horizons are needed, and differ from each other and from the reasoning", () => {
    assert.strictEqual(horizons(short_term, medium_term), 16)
    assert.isBelow(horizons(short_term, ""), 8)
    assert.isBelow(horizons(short_term, short_term), 12)
    assert.isBelow(horizons(good.market_impact.reasoning, medium_term), 8)
  })

  it("Horizons are one or two sentences each", () => {
    assert.strictEqual(horizons(`${short_term} Smelters run down their stocks.`, medium_term), 16)
    assert.isBelow(horizons(`${short_term} One more here. Two more here. Three more here.`, medium_term), 16)
  })
})

describe("Related events", () => {
  const related = (...related_events: ReadonlyArray<string>): number =>
    points({ ...good, related_events }, "related_events") ?? -1

  it("Related events are at least two of plausible kinds, each once", () => {
    assert.strictEqual(related("GDP release", "wage_talks"), 5)
    assert.isBelow(related("GDP release"), 5)
    assert.isBelow(related("GDP release", "gdp release", "GDP-release", ""), 3)
    assert.strictEqual(related("football"), 0)
    assert.strictEqual(related(), 0)
  })
})

/** Details that a better answer has and a worse one lacks. */
const details = [
  "summary",
  "core",
  "plausible",
  "direction",
  "magnitude",
  "second sentence",
  "short term",
  "medium term",
  "confidence",
  "one related",
  "more related"
] as const

const withDetails = (event: RegistrationEvent, present: ReadonlySet<string>): RegistrationAnswer => {
  const full = englishAnswer(event)
  const when = <Value>(detail: (typeof details)[number], yes: Value, no: Value): Value =>
    present.has(detail) ? yes : no
  const firstSentence = full.market_impact.reasoning.split(". ")[0] ?? ""
  return {
    event_summary: when("summary", full.event_summary, ""),
    market_impact: {
      affected_assets: [
        ...when("core", event.assets.core, event.assets.core.slice(0, 1)),
        ...when("plausible", event.assets.plausible, [])
      ],
      direction: when("direction", bestDirection(event), event.directions.mixed === 1 ? "bullish" : "mixed"),
      magnitude: when("magnitude", bestMagnitude(event), event.magnitudes.high === 1 ? "low" : "high"),
      reasoning: when("second sentence", full.market_impact.reasoning, `${firstSentence}.`)
    },
    trading_implications: {
      short_term: when("short term", full.trading_implications.short_term, ""),
      medium_term: when("medium term", full.trading_implications.medium_term, "")
    },
    confidence: when("confidence", 0.7, 1),
    related_events: [
      ...when("one related", full.related_events.slice(0, 1), []),
      ...when("more related", full.related_events.slice(1), [])
    ]
  }
}

describe("A better answer", () => {
  it.prop(
    "An answer never has a lower score for one more correct detail",
    [eventIndex, Schema.Array(Schema.Literals(details)), Schema.Literals(details)],
    ([index, some, more]) => {
      const event = eventAt(index)
      const before = judge(event, withDetails(event, new Set(some))).score
      const after = judge(event, withDetails(event, new Set([...some, more]))).score
      assert.isAtLeast(after, before, `${event.slug}: ${more}`)
    },
    { arbitrary: { runs: breadth(100, 500) } }
  )
})

describe("Feedback", () => {
  const givesAway =
    /\b(GC|ES|CL|ZN|HG|NG|BTC|ZS|DXY|ETH|CPI|CORE_CPI|PPI|NFP|UNRATE|PCE|GDP|FOMC)\b|\b(bullish|bearish|mixed|up|down|rise|fall|higher|lower)\b|gold|equit|crude|oil|treasur|copper|gas\b|bitcoin|soy|dollar|ether/i

  it("Feedback never names the expected answer, whatever the answer is", () => {
    for (const event of oneIn(12, bank)) {
      for (const [, answer] of lazyAnswers(event)) {
        for (const { feedback } of judge(event, answer).criteria) assert.notMatch(feedback, givesAway)
      }
      for (const direction of ["bullish", "bearish", "mixed"] as const) {
        for (const { feedback } of judge(event, englishAnswer(event, direction)).criteria) {
          assert.notMatch(feedback, givesAway)
        }
      }
    }
  })

  it.prop(
    "Feedback never names the expected answer, nor repeats the given one",
    [RegistrationAnswer, eventIndex],
    ([answer, index]) => {
      const marked = { ...answer, event_summary: `zqx ${answer.event_summary}`, related_events: ["zqx"] }
      for (const { feedback } of judge(eventAt(index), marked).criteria) {
        assert.notMatch(feedback, givesAway)
        assert.notInclude(feedback, "zqx")
      }
    }
  )
})

/** Milliseconds of processor time of the cheapest of nine runs. */
const costOf = (run: () => unknown): number =>
  Math.min(
    ...Array.from({ length: 9 }, () => {
      const before = process.cpuUsage()
      run()
      const { system, user } = process.cpuUsage(before)
      return (system + user) / 1000
    })
  )

describe("Hostile texts", () => {
  const length = 4000
  const filled = (piece: string): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
  const pieces = [
    ..."a .-_($0é中，。因İßﷺ\n\\\u0301\ud800\udc00\u0000\u200b\u202e\ufeff".split(""),
    ..."🚀|a.|a. |. |!?|\n\n|\t a|U.S. |e.g|because |so so |'s |中。|因为|👩‍👩‍👧‍👦|0.1|1,000 |<b>|{}|copper gold |the of and ".split(
      "|"
    )
  ]

  it.each(oneIn(10, pieces).map((piece) => [JSON.stringify(piece), piece] as const))(
    "Texts of %s, ten times as long, keep the score within its bounds and do not pass",
    (_, piece) => {
      const text = filled(piece)
      const entries = Array.from({ length: 50 }, () => text.slice(0, 100))
      const inTexts: RegistrationAnswer = {
        ...good,
        event_summary: text,
        market_impact: { ...good.market_impact, reasoning: text },
        trading_implications: { short_term: text, medium_term: text }
      }
      const inEntries: RegistrationAnswer = {
        ...withImpact({ affected_assets: entries }),
        related_events: entries
      }
      for (const answer of [inTexts, inEntries]) {
        assertWithinBounds(judge(strike, answer))
        if (!isFull) continue
        // They cost at most sixty times an ordinary answer.
        assert.isBelow(
          costOf(() => judge(strike, answer)),
          60 * costOf(() => judge(strike, good))
        )
      }
      assert.isFalse(judge(strike, inTexts).passed)
    }
  )

  it.runIf(isFull)("Texts cost in proportion to their length", () => {
    const judged = (piece: string, length: number) => {
      const reasoning = piece.repeat(length).slice(0, length)
      return () => judge(strike, withImpact({ reasoning }))
    }
    for (const piece of ["a", ".", "a.", "中", "because "]) {
      assert.isBelow(costOf(judged(piece, 40_000)), 20 * costOf(judged(piece, 4000)) + 5, piece)
    }
  })
})
