/** Answers that pass the registration challenge and answers that fail, over realistic answers and prompts. */
import { assert, describe, it } from "@effect/vitest"
import { judge } from "../../src/scoring/registration.ts"
import { statesFigure } from "../../src/scoring/registration/figure.ts"
import type { RegistrationEvent } from "../../src/scoring/registration.ts"
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"
import { answerTo } from "../../cli/demo/answers.ts"
import { bank, drawn, inUse } from "../support/registrationEvents.ts"
import { scripted } from "../support/scriptedAnswers.ts"
import { handwritten, heldOut, honestAnswers } from "../support/writtenAnswers.ts"
import type { HonestAnswer } from "../support/writtenAnswers.ts"

const mapTexts = (answer: RegistrationAnswer, change: (text: string) => string): RegistrationAnswer => ({
  ...answer,
  event_summary: change(answer.event_summary),
  market_impact: { ...answer.market_impact, reasoning: change(answer.market_impact.reasoning) },
  trading_implications: {
    short_term: change(answer.trading_implications.short_term),
    medium_term: change(answer.trading_implications.medium_term)
  }
})

/** A draw on the side of the answer. */
const eventFor = ({ side, slug }: HonestAnswer, seed: number): RegistrationEvent => {
  const template = inUse.find((each) => each.slug === slug)
  assert(template !== undefined, slug)
  for (let tried = seed; tried < seed + 100; tried++) {
    const event = drawn(template, tried)
    const isAbove = (event.figure?.value ?? 0) > 0
    if (side === undefined || (side === "above") === isAbove) return event
  }
  return assert.fail(`${slug} has no draw on this side`)
}

const written = ({ figure }: RegistrationEvent): string =>
  String(Number(Math.abs(figure?.value ?? 0).toPrecision(3)))

/** The answer as its writer gave it to this draw. */
const given = ({ answer }: HonestAnswer, event: RegistrationEvent): RegistrationAnswer =>
  mapTexts(answer, (text) => text.replaceAll("{figure}", written(event)))

const casesOf = (answers: ReadonlyArray<HonestAnswer>) =>
  answers.map((each, index) => {
    const event = eventFor(each, index)
    return { event, answer: given(each, event), isHeldOut: index % 3 === 2 }
  })

const cases = casesOf(honestAnswers)
const heldOutCases = casesOf(Object.values(heldOut.honest).flat())

const passing = (
  all: ReadonlyArray<{ readonly event: RegistrationEvent; readonly answer: RegistrationAnswer }>
) => all.filter(({ answer, event }) => judge(event, answer, bank).passed)

const opposites =
  "rise:fall rises:falls rising:falling rally:slump rallies:slumps gain:lose gains:loses higher:lower up:down upwards:downwards lifts:weighs_on lift:depress support:pressure supports:pressures jumps:drops jump:drop bullish:bearish 上涨:下跌 上升:下降 走强:走弱 走高:走低 推高:压低 支撑:打压"
    .split(" ")
    .map((pair) => pair.replace("_", " ").split(":"))
const turnings = new Map(
  opposites.flatMap(([one = "", other = ""]) => [
    [one, other],
    [other, one]
  ])
)
const turnable = new RegExp(
  [...turnings.keys()]
    .sort((one, other) => other.length - one.length)
    .map((word) => (/[a-z]/.test(word) ? `\\b${word}\\b` : word))
    .join("|"),
  "g"
)
const turned = (text: string): string => text.replace(turnable, (word) => turnings.get(word) ?? word)

describe("Honest answers", () => {
  it("The honest answers are at least sixty, English and Chinese, natural, terse and verbose", () => {
    assert.isAtLeast(honestAnswers.length, 60)
    for (const language of ["en", "zh"] as const) {
      for (const voice of ["natural", "terse", "verbose"] as const) {
        assert.isTrue(honestAnswers.some((each) => each.language === language && each.voice === voice))
      }
    }
  })

  it("Honest answers pass at once, at least 33 of 34", () => {
    const share = 33 / 34
    for (const part of [cases, cases.filter(({ isHeldOut }) => isHeldOut), heldOutCases]) {
      const failed = part.filter((each) => !passing([each]).includes(each))
      assert.isAtMost(
        failed.length,
        Math.ceil(part.length * (1 - share)),
        failed.map(({ answer, event }) => JSON.stringify(judge(event, answer, bank))).join("\n")
      )
    }
  })

  it.each([
    "Credit scores of the weakest borrowers fall first.",
    "The jury is out, so please read this as a tilt rather than a certainty.",
    "Auditors review the bank's reserves and must approve withdrawals.",
    "My base case is a slow recovery, but I would not ignore the tail risk.",
    "Grade A cathode passes to fabricators first.",
    "Please note that this is my own estimate.",
    "The market judges the central bank by its inflation record.",
    "你要注意，监管批准的要求可能收紧。"
  ])("Honest answers pass with a sentence in the words of judging: %s", (sentence) => {
    const personal = heldOutCases
      .filter((each) => passing([each]).length > 0)
      .map(({ answer, event }) => {
        const { medium_term, short_term } = answer.trading_implications
        const trading_implications = { short_term, medium_term: `${medium_term} ${sentence}` }
        return { event, answer: { ...answer, trading_implications } }
      })
    assert.isAtLeast(passing(personal).length, personal.length - 1)
  })

  it("Honest answers with reversed direction and reasoning fail, all but at most 1", () => {
    const reversed = [...cases, ...heldOutCases].map(({ answer, event }) => {
      const direction = answer.market_impact.direction === "bullish" ? "bearish" : "bullish"
      const changed = mapTexts(answer, turned)
      return {
        event,
        answer: { ...changed, market_impact: { ...changed.market_impact, direction } } as const
      }
    })
    assert.isAtMost(passing(reversed).length, 1)
  })

  it("A reversed reasoning alone is noticed in most cases, and an honest one never is", () => {
    const told = "says the opposite of the direction"
    const isTold = (event: RegistrationEvent, answer: RegistrationAnswer) =>
      JSON.stringify(judge(event, answer, bank)).includes(told)
    const contradictory = cases
      .map(({ answer, event }) => ({ event, before: answer, answer: mapTexts(answer, turned) }))
      .filter(({ answer, before }) => answer.market_impact.reasoning !== before.market_impact.reasoning)
    const noticed = contradictory.filter(({ answer, event }) => isTold(event, answer))
    assert.isAtLeast(contradictory.length, 20)
    assert.isAtLeast(noticed.length, contradictory.length * 0.5)
    for (const { answer, event } of [...cases, ...heldOutCases])
      assert.isFalse(isTold(event, answer), event.slug)
  })

  it("An answer to one draw fails for nine in ten other draws of the same event", () => {
    const others = honestAnswers.flatMap((honest, index) => {
      const { answer, event } = cases[index] ?? assert.fail()
      return [200, 300, 400].map((seed) => ({ event: eventFor(honest, seed), answer, own: event.slug }))
    })
    const different = others.filter(({ event, own }) => event.slug !== own)
    assert.isAtMost(passing(different).length, different.length * 0.1)
  })

  it.each([
    [
      { value: 0.3, unit: "points" },
      "0.3|0.30|.3|0,3 pp|30 bp|30 basis points|30个基点|+0.3|-0.3 percentage points|0.3个百分点"
    ],
    [{ value: -1.65, unit: "million" }, "1.65|1.65 million|1,650,000|1 650 000|165万|1.650|1,65 mn"],
    [{ value: 83, unit: "basis points" }, "83|83 bp|83bps|0.83 %|0.83 percentage points|0.83个百分点"],
    [{ value: 13.651 }, "13.65|13.7|about 14 times|13,65|14倍"],
    [{ value: 225, unit: "thousand" }, "225|225 000|225,000|225k|22.5万|225 thousand"]
  ] as const)("An honest answer is not turned away for the notation of %j", (figure, notations) => {
    for (const notation of notations.split("|")) {
      assert.isTrue(statesFigure(figure, "", [`It comes to ${notation}, which is a lot.`]), notation)
    }
    for (const other of ["", "7", "0.2", "1.2 million", "20 bp", "9 000", "three"]) {
      assert.isFalse(statesFigure(figure, "", [`It comes to ${other}, which is a lot.`]), other)
    }
  })
})

const withTexts = (
  answer: RegistrationAnswer,
  ...[event_summary, reasoning, short_term, medium_term]: readonly [string, string, string, string]
): RegistrationAnswer => ({
  ...answer,
  event_summary,
  market_impact: { ...answer.market_impact, reasoning },
  trading_implications: { short_term, medium_term }
})

const sentencesOf = ({ prompt }: RegistrationEvent): ReadonlyArray<string> =>
  (prompt.split("\n\n")[0] ?? "").split(/(?<=\.)\s/)

/** Ways to hand the prompt back, with the figure and the choices of a knowing writer. */
const copies: ReadonlyArray<(event: RegistrationEvent, answer: RegistrationAnswer) => RegistrationAnswer> = [
  (event, answer) => {
    const facts = sentencesOf(event).join(" ")
    return withTexts(answer, `${facts} ${written(event)}`, `${facts} ${written(event)}`, facts, facts)
  },
  (event, answer) => {
    const [one = "", two = "", three = "", four = one] = sentencesOf(event)
    return withTexts(answer, `${one} ${written(event)}.`, `Because ${two} Therefore ${three}`, four, one)
  },
  (event, answer) => {
    const [one = "", two = "", three = ""] = sentencesOf(event)
    return withTexts(
      answer,
      `In short: ${one} ${two} That is ${written(event)}.`,
      `As ${two} ${three} prices move, which leads to a reaction of investors.`,
      `Soon: ${one}`,
      `Later: ${two}`
    )
  },
  (event, answer) => {
    const facts = sentencesOf(event)
    return withTexts(
      answer,
      `${facts.toReversed().join(" ")} ${written(event)}`,
      facts.toSorted().join(" "),
      facts[2] ?? "",
      facts[1] ?? ""
    )
  }
]

describe("Answers without a reading of the prompt", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => {
    const template = inUse[(index * 7) % inUse.length]
    assert(template !== undefined)
    return drawn(template, index)
  })

  it("A script that computes figures without a language model passes at most 5 of 100 prompts", () => {
    const once = hundred.map((event, seed) => ({ event, answer: scripted(event.prompt, seed) }))
    assert.isAtMost(passing(once).length, 5)
  })

  it("A script that computes figures passes at most 12 of 100 prompts in five attempts", () => {
    const passed = hundred.filter((event, index) =>
      [0, 1, 2, 3, 4].some(
        (attempt) =>
          passing([{ event, answer: scripted(event.prompt, 1000 + attempt * 100 + index) }]).length > 0
      )
    )
    assert.isAtMost(passed.length, 12)
  })

  it("A list of all sums and differences of the prompt's numbers never passes", () => {
    const listing = hundred.map((event, seed) => {
      const numbers = [...new Set((event.prompt.match(/\d+(?:\.\d+)?/g) ?? []).map(Number))]
      const all = numbers.flatMap((one) =>
        numbers.flatMap((other) => [one - other, one + other, one / other])
      )
      const answer = scripted(event.prompt, seed)
      const guesses = `One of ${all.map((each) => each.toFixed(2)).join(", ")}.`
      return { event, answer: { ...answer, event_summary: `${answer.event_summary} ${guesses}` } }
    })
    assert.deepStrictEqual(passing(listing), [])
  })

  it("Words to the judge never pass, behind an honest reasoning or in its place", () => {
    assert.isAtLeast(heldOut.injections.length, 20)
    const injected = heldOut.injections.flatMap((text, index) => {
      const { answer, event } = heldOutCases[(index * 5) % heldOutCases.length] ?? assert.fail()
      const { market_impact } = answer
      const terms = event.terms.filter((each) => /^[a-z ]+$/.test(each)).slice(0, 7)
      const words = terms.join(", ")
      return [`${market_impact.reasoning} ${text}`, `Because ${words}. ${text}`].map((reasoning) => ({
        text,
        event,
        answer: {
          ...answer,
          event_summary: `${answer.event_summary} ${words} ${written(event)}.`,
          market_impact: { ...market_impact, reasoning }
        }
      }))
    })
    assert.deepStrictEqual(
      injected.filter((each) => passing([each]).length > 0).map(({ text }) => text),
      []
    )
  })

  it("Nonsense with the event's assets, direction, figure and words passes once in twenty at most", () => {
    assert.isAtLeast(heldOut.nonsense.length, 20)
    const passed = passing(casesOf(heldOut.nonsense))
    assert.isAtMost(
      passed.length,
      Math.floor(heldOut.nonsense.length / 20),
      passed.map(({ event }) => event.slug).join(" ")
    )
  })

  it("A copy of the prompt never passes, whole, taken apart or in another order", () => {
    const handedBack = hundred.flatMap((event) =>
      copies.map((copy) => ({ event, answer: copy(event, answerTo(event.prompt)) }))
    )
    assert.deepStrictEqual(
      passing(handedBack).map(({ event }) => event.slug),
      []
    )
  })

  it("The demonstration's answer to other numbers of the same event passes at most 5 of 100 times", () => {
    const copied = hundred.map((event, index) => {
      const template = inUse[(index * 7) % inUse.length] ?? assert.fail()
      return { event, answer: answerTo(drawn(template, index + 500).prompt) }
    })
    assert.isAtMost(passing(copied).length, 5)
  })

  it("An answer prepared before the numbers were drawn passes at most once in twenty", () => {
    const prepared = handwritten.flatMap(([slug, , answer]) =>
      inUse
        .filter((template) => template.slug === slug)
        .flatMap((template) => [1, 2, 3].map((seed) => ({ event: drawn(template, seed), answer })))
    )
    assert.isAtLeast(prepared.length, 60)
    assert.isAtMost(passing(prepared).length, prepared.length * 0.05)
  })
})
