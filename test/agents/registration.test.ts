/** Registration: the fields of its request, the bank of events, and the judge of answers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Result, Schema } from "effect"
import { invalidRequest } from "../../src/http/fieldProblems.ts"
import { publicBank } from "../../src/layers/registration/bank.ts"
import { layer } from "../../src/layers/registration/RubricJudge.ts"
import { judge, rubric } from "../../src/scoring/registration.ts"
import { statesFigure } from "../../src/scoring/registration/figure.ts"
import { eventOfSlug } from "../../src/scoring/registration/template.ts"
import type { RegistrationEvent } from "../../src/scoring/registration.ts"
import { assetKeys } from "../../src/scoring/registration/model.ts"
import { Registration } from "../../src/services/Registry.ts"
import { RegistrationAnswer, RegistrationJudge } from "../../src/services/RegistrationJudge.ts"
import { oneIn } from "../support/breadth.ts"
import {
  allDirections,
  allMagnitudes,
  chineseAnswer,
  englishAnswer,
  lazyAnswers,
  ownWords
} from "../support/registrationAnswers.ts"
import { bank, drawn, inUse, templates } from "../support/registrationEvents.ts"
import { handwritten } from "../support/writtenAnswers.ts"

const clearly = 75

const explain = (event: RegistrationEvent, answer: RegistrationAnswer): string => {
  const { criteria, score } = judge(event, answer, bank)
  const lost = criteria.filter(({ max_points, points }) => points < max_points)
  return `${event.slug} ${score}: ${lost.map(({ feedback, name, points }) => `${name} ${points}: ${feedback}`).join(" | ")}`
}

describe("The bank", () => {
  it("The bank has at least 28 events, each with a slug of its own", () => {
    assert.isAtLeast(bank.length, 28)
    assert.strictEqual(new Set(bank.map(({ slug }) => slug)).size, bank.length)
    for (const { slug } of bank) assert.match(slug, /^[a-z][a-z-]{0,63}$/)
  })

  it("The bank makes each of the ten assets the core of at least one event", () => {
    const core = new Set(bank.flatMap(({ assets }) => assets.core))
    for (const key of assetKeys.slice(0, 10)) assert.isTrue(core.has(key), key)
  })

  it("An event has 3 to 6 undated sentences with numbers, and then says what is asked for", () => {
    for (const { prompt, slug } of bank) {
      const [facts = "", task = "", ...rest] = prompt.split("\n\n")
      const sentences = facts.split(/[.?!]"? (?=[A-Z])/)
      assert.isAtLeast(sentences.length, 3, slug)
      assert.isAtMost(sentences.length, 6, slug)
      assert.isAtLeast(facts.match(/\d+/g)?.length ?? 0, 3, slug)
      assert.notMatch(facts, /\b(19|20)\d\d\b/, slug)
      assert.match(task, /^Analyse this event: /)
      assert.strictEqual(rest.length, 0)
    }
  })

  it("An event expects known assets, each once, and too few for a list of everything to earn much", () => {
    for (const { assets, slug } of bank) {
      const all = [...assets.core, ...assets.plausible]
      assert.isAtLeast(assets.core.length, 1, slug)
      assert.strictEqual(new Set(all).size, all.length, slug)
      assert.isAtMost(all.length, assetKeys.length / 2, slug)
      for (const key of all) assert.include(assetKeys, key)
    }
  })

  it("An event gives some direction and some magnitude full points, and not every one", () => {
    for (const { directions, magnitudes, slug } of bank) {
      const weights = [
        allDirections.map((name) => directions[name] ?? 0),
        allMagnitudes.map((name) => magnitudes[name] ?? 0)
      ]
      for (const each of weights) {
        assert.strictEqual(Math.max(...each), 1, slug)
        assert.isBelow(Math.min(...each), 1, slug)
        assert.isAtLeast(Math.min(...each), 0, slug)
      }
    }
  })

  it("An event has expected words that its own prompt has", () => {
    for (const event of bank) assert.isAtLeast(ownWords(event).length, 3, event.slug)
  })

  it("The bank is spread over directions: no guess is right for most events", () => {
    const events = inUse.flatMap((template) => Array.from({ length: 8 }, (_, seed) => drawn(template, seed)))
    for (const direction of allDirections) {
      const right = events.filter(({ directions }) => directions[direction] === 1)
      assert.isBelow(right.length, events.length * 0.55, direction)
    }
  })
})

describe("A drawn event", () => {
  const draws = inUse.flatMap((template) => Array.from({ length: 20 }, (_, seed) => drawn(template, seed)))

  it("An event has at least 25 draws, and its figure varies", () => {
    for (const { numbers = {}, slug } of inUse) {
      const possible = Object.values(numbers).reduce(
        (product, [, min, max, step]) => product * (Math.round((max - min) / step) + 1),
        1
      )
      assert.isAtLeast(possible, 25, slug)
      const figures = new Set(
        draws.filter((event) => event.slug.startsWith(`${slug}?`)).map((each) => each.figure?.value)
      )
      assert.isAtLeast(figures.size, 8, slug)
    }
  })

  it("A drawn event asks for a figure that its prompt lacks, with every number filled in", () => {
    for (const { figure, prompt, slug } of draws) {
      assert(figure !== undefined, slug)
      assert.isFalse(statesFigure(figure, "", [prompt.split("\n\n")[0] ?? ""]), slug)
      assert.match(prompt, / State in digits [^{}]+\.$/, slug)
      assert.notMatch(prompt, /[{}]|NaN|undefined/, slug)
    }
  })

  it("A slug always gives the same event, and no event where it lacks one of the numbers", () => {
    const bySlug = new Map(templates.map((template) => [template.slug, template]))
    for (const event of draws) {
      assert.deepStrictEqual(eventOfSlug(bySlug, event.slug), event)
      assert.isUndefined(eventOfSlug(bySlug, event.slug.replace(/\w+=/, "x=")))
    }
  })

  it("A report that may go either way expects the direction of its numbers", () => {
    const reports = draws.filter(({ slug }) => slug.includes("-report?"))
    const above = reports.filter(({ figure }) => (figure?.value ?? 0) > 0)
    assert.isAbove(above.length, reports.length * 0.3)
    assert.isBelow(above.length, reports.length * 0.7)
    for (const { directions, figure, slug } of reports) {
      const isGood = slug.startsWith("gold-") === (figure?.value ?? 0) > 0
      assert.strictEqual(isGood ? directions.bullish : directions.bearish, 1, slug)
      assert.isUndefined(isGood ? directions.bearish : directions.bullish, slug)
    }
  })
})

describe("Competent answers", () => {
  it.each(bank.map((event) => [event.slug, event] as const))(
    "Competent answers to %s pass clearly, in English and in Chinese",
    (_, event) => {
      for (const answer of [englishAnswer(event), chineseAnswer(event)]) {
        assert.isAtLeast(judge(event, answer).score, clearly, explain(event, answer))
      }
    }
  )

  it("Competent answers pass with every allowed direction, and have at most 59 points with another", () => {
    for (const event of oneIn(3, [...bank, ...inUse.map((template) => drawn(template))])) {
      for (const direction of allDirections) {
        const answer = englishAnswer(event, direction)
        const { score } = judge(event, answer)
        if ((event.directions[direction] ?? 0) >= 0.5)
          assert.isAtLeast(score, clearly, explain(event, answer))
        else assert.isAtMost(score, 59, explain(event, answer))
      }
    }
  })

  it.each(handwritten)("An answer written by hand to %s by %s passes clearly", (slug, _, answer) => {
    const event = bank.find((candidate) => candidate.slug === slug)
    assert(event !== undefined, slug)
    assert.isAtLeast(judge(event, answer).score, clearly, explain(event, answer))
  })

  it("Competent answers to an event of another matter fail", () => {
    const strangers = bank.flatMap((event) =>
      bank
        .filter(({ slug }) => !slug.endsWith("-report"))
        .filter((other) => !other.kinds.some((kind) => event.kinds.includes(kind)))
        .filter(
          ({ assets }) =>
            !event.assets.core.some((key) => [...assets.core, ...assets.plausible].includes(key))
        )
        .map((other) => [event, other] as const)
    )
    assert.isAtLeast(strangers.length, 500)
    for (const [event, other] of oneIn(16, strangers)) {
      assert.isFalse(
        judge(other, englishAnswer(event), bank).passed,
        `${event.slug} for ${explain(other, englishAnswer(event))}`
      )
    }
  })
})

describe("Lazy answers", () => {
  it("Lazy answers come in at least 15 kinds", () => {
    assert.isAtLeast(
      new Set(
        bank
          .slice(0, 1)
          .flatMap(lazyAnswers)
          .map(([kind]) => kind)
      ).size,
      2 * 15
    )
  })

  it.each(bank.map((event) => [event.slug, event] as const))(
    "Lazy answers to %s fail, even with lucky choices",
    (_, event) => {
      for (const [kind, answer] of oneIn(12, lazyAnswers(event))) {
        assert.isFalse(judge(event, answer).passed, `${kind}: ${explain(event, answer)}`)
      }
    }
  )
})

describe("The shape of an answer", () => {
  const decode = Schema.decodeUnknownExit(RegistrationAnswer)
  const [, , answer] = handwritten[0] ?? []
  const changed = (change: object): boolean => Exit.isSuccess(decode({ ...answer, ...change }))

  it("A registration answer has every field, with texts of any content", () => {
    assert.isTrue(changed({}))
    assert.isTrue(changed({ event_summary: "" }))
    assert.isFalse(changed({ event_summary: undefined }))
    assert.isFalse(changed({ market_impact: { ...answer?.market_impact, direction: "sideways" } }))
  })

  it("A registration answer has texts of at most 4 000 characters", () => {
    assert.isTrue(changed({ event_summary: "字".repeat(4000) }))
    assert.isFalse(changed({ event_summary: "字".repeat(4001) }))
  })

  it("A registration answer has at most 50 entries of at most 100 characters", () => {
    assert.isTrue(changed({ related_events: Array.from({ length: 50 }, () => "x".repeat(100)) }))
    assert.isFalse(changed({ related_events: Array.from({ length: 51 }, () => "x") }))
    assert.isFalse(changed({ related_events: ["x".repeat(101)] }))
  })

  it("A registration answer has a confidence from 0 to 1", () => {
    for (const confidence of [0, 0.5, 1]) assert.isTrue(changed({ confidence }))
    for (const confidence of [-0.01, 1.01, Number.NaN, "0.5", null]) assert.isFalse(changed({ confidence }))
  })
})

const textFields: ReadonlyArray<readonly [field: string, longest: number]> = [
  ["name", 80],
  ["bio", 2000],
  ["model_provider", 200],
  ["model_name", 200],
  ["model_version", 200],
  ["operator_contact", 200],
  ["owner_org", 200]
]
const slugs = ["type", "model_capability_tag", "hosting_mode", "policy_profile", "disclosure_level"]

describe("The fields of a registration", () => {
  const decode = Schema.decodeUnknownResult(Registration, { errors: "all" })

  const problemsOf = (fields: Readonly<Record<string, unknown>>) => {
    const sent = { name: "Ada", ...fields }
    return Result.match(decode(sent), {
      onSuccess: () => [],
      onFailure: ({ issue }) => invalidRequest(issue, sent).errors
    })
  }

  /** The paths that an error names, each once. */
  const wrong = (fields: Readonly<Record<string, unknown>>) =>
    [...new Set(problemsOf(fields).map(({ path }) => path))].sort()

  it.each(textFields)("The field %s takes %d characters and no more", (field, longest) => {
    // A character is a code point: one that takes two UTF-16 units counts once.
    for (const character of ["x", "\u{1f4c8}"]) {
      assert.deepStrictEqual(wrong({ [field]: character.repeat(longest) }), [])
      assert.deepStrictEqual(wrong({ [field]: character.repeat(longest + 1) }), [field])
    }
  })

  it("The length counts in the stored text, which is in NFC with line feeds", () => {
    assert.deepStrictEqual(wrong({ name: "e\u0301".repeat(80) }), [])
    const sent = { name: "Ame\u0301lie", bio: "one\r\ntwo\nthree\tfour", languages: ["e\u0301"] }
    assert.deepStrictEqual(
      decode(sent),
      Result.succeed({ name: "Am\u00e9lie", bio: "one\ntwo\nthree\tfour", languages: ["\u00e9"] })
    )
  })

  it.each(["", " ", "\n\t "])("A name of %j is blank, and refused", (name) => {
    assert.deepStrictEqual(wrong({ name }), ["name"])
  })

  it.each(
    [
      0x0a, 0x09, 0x7f, 0x85, 0xad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x180e, 0x200b, 0x200c, 0x200d,
      0x200e, 0x200f, 0x2028, 0x2029, 0x2060, 0x2800, 0x3164, 0xe000, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfdd0,
      0xfffe, 0xffff, 0x1ffff, 0x10fffe, 0xe0001, 0xe0041, 0xe0100, 0xe01ef, 0xf0000
    ].map((code) => [code.toString(16)] as const)
  )("A name with U+%s, which nobody sees, is refused", (code) => {
    const hidden = String.fromCodePoint(Number.parseInt(code, 16))
    for (const name of [`Ada${hidden}`, `A${hidden}da`, hidden]) {
      assert.deepStrictEqual(wrong({ name }), ["name"])
    }
    // Only names are so strict.
    assert.deepStrictEqual(wrong({ bio: `A${hidden}da` }), [])
  })

  it.each([
    ["a joiner between Latin letters", "Ada\u200cLovelace"],
    ["a joiner after a word", "می\u200c"],
    ["two joiners", "می\u200c\u200cخواهم"],
    ["a joiner between Hebrew letters, which do not join", "שלו\u200cם"],
    ["a selector after a digit", "1\ufe0f"],
    ["a selector after a letter", "A\ufe0f"],
    ["tags that are no flag", "😀\u{e0061}\u{e0064}"],
    ["tags after a flag", "🏴\u{e0067}\u{e0062}\u{e0061}\u{e007f}"],
    ["a joiner after an emoji", "👩\u200d"],
    ["a joiner between an emoji and a letter", "👩\u200dA"]
  ] as const)("A name with %s is refused", (_, name) => {
    assert.deepStrictEqual(wrong({ name }), ["name"])
  })

  it("A name may be in any writing, with marks, spaces, emoji, and the joiners these need", () => {
    for (const name of [
      "Ада 3",
      "⚡️ Flash",
      "👩‍💻 Coder",
      "🏴󠁧󠁢󠁳󠁣󠁴󠁿 Scot",
      "🏳️‍🌈",
      "1️⃣ One",
      "☎︎ Old",
      "👨‍👩‍👧‍👦",
      "❤️‍🔥",
      "می‌خواهم",
      "نامه‌ای",
      "क्‍ष",
      "क्‌ष",
      "ශ්‍රී ලංකා",
      "ക്‍",
      "愛達",
      "عائدة",
      "अदा",
      "Zoe\u0308",
      "\u{1f98a} Fox",
      "Ada-2 (beta)",
      "\u1202\u1265"
    ]) {
      assert.deepStrictEqual(wrong({ name }), [], name)
    }
  })

  it("A text field takes 30 combining marks in a row, and no more", () => {
    for (const [field] of textFields) {
      const marked = (count: number) => `e${"\u0316".repeat(count)} e${"\u0316".repeat(30)}`
      assert.deepStrictEqual(wrong({ [field]: marked(30) }), [])
      assert.deepStrictEqual(problemsOf({ [field]: marked(31) }), [
        {
          path: field,
          message: `Expected at most 30 combining marks in a row, got the string "e${"\u0316".repeat(31)} e${"\u0316".repeat(6)}"... (64 characters)`
        }
      ])
    }
  })

  it.each(slugs)("The field %s takes a slug", (field) => {
    for (const taken of ["a", "z9_-", "a".repeat(32)]) {
      assert.deepStrictEqual(wrong({ [field]: taken }), [], taken)
    }
    for (const refused of ["", "a".repeat(33), "A", "9a", "-a", "a b", "a\n", "é", 1, ["a"]]) {
      assert.deepStrictEqual(wrong({ [field]: refused }), [field], JSON.stringify(refused))
    }
  })

  it.each<readonly [string, Readonly<Record<string, unknown>>, ReadonlyArray<string>]>([
    ["a name that is no text", { name: 5 }, ["name"]],
    ["a name that is null", { name: null }, ["name"]],
    ["an unknown authentication method", { auth_method: "password" }, ["auth_method"]],
    ["an unknown space", { default_spaces: ["finance", "sports"] }, ["default_spaces.1"]],
    ["more spaces than there are", { default_spaces: Array(6).fill("ai") }, ["default_spaces"]],
    ["languages that are no list", { languages: "en" }, ["languages"]],
    ["an empty language", { languages: ["en", ""] }, ["languages.1"]],
    ["a language that is too long", { languages: ["x".repeat(201)] }, ["languages.0"]],
    ["too many languages", { languages: Array(51).fill("en") }, ["languages"]],
    ["scopes that are no list", { requested_scopes: "prediction:submit" }, ["requested_scopes"]],
    ["a scope that is no text", { requested_scopes: [7] }, ["requested_scopes.0"]],
    ["too many scopes", { requested_scopes: Array(101).fill("x") }, ["requested_scopes"]]
  ])("A registration with %s is refused by the path", (_, fields, paths) => {
    assert.deepStrictEqual(wrong(fields), paths)
  })

  it.each([
    ["NUL", "\u0000"],
    ["a lone high surrogate", "\ud800"],
    ["a lone low surrogate", "\udc00"],
    ["swapped surrogates", "\udc00\ud800"],
    ["a bell", "\u0007"],
    ["an escape", "\u001b[31m"],
    ["a carriage return by itself", "\r"],
    ["two carriage returns before a line feed", "\r\r\n"],
    ["a vertical tab", "\u000b"],
    ["a unit separator", "\u001f"],
    ["a right-to-left override", "\u202e"],
    ["a left-to-right embedding", "\u202a"],
    ["a first strong isolate", "\u2068"],
    ["a pop directional isolate", "\u2069"]
  ] as const)("A text field with %s is refused", (_, hostile) => {
    const fields = textFields.map(([field]) => field)
    assert.deepStrictEqual(
      wrong({
        ...Object.fromEntries(fields.map((field) => [field, `a${hostile}b`])),
        languages: ["en", `a${hostile}b`],
        requested_scopes: [`a${hostile}b`]
      }),
      [...fields, "languages.1", "requested_scopes.0"].sort()
    )
  })
})

it.layer(layer(publicBank))("The rubric judge", (it) => {
  it.effect("The rubric judge says what is scored", () =>
    Effect.gen(function* () {
      const { criteria, passScore } = yield* RegistrationJudge
      assert.deepStrictEqual(criteria, rubric)
      assert.strictEqual(passScore, 60)
    })
  )

  it.effect("The rubric judge chooses the same event for the same agent, and spreads agents evenly", () =>
    Effect.gen(function* () {
      const { choose } = yield* RegistrationJudge
      const seeds = Array.from(
        { length: 10_000 },
        (_, n) => `019a2b3c-4d5e-7${n.toString(16).padStart(15, "0")}`
      )
      const chosen = yield* Effect.forEach(seeds, choose)
      const again = seeds.slice(0, 500)
      assert.deepStrictEqual(yield* Effect.forEach(again, choose), chosen.slice(0, 500))
      const counts = new Map<string, number>()
      for (const { slug } of chosen) {
        const [name = ""] = slug.split("?")
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
      const expected = seeds.length / inUse.length
      assert.strictEqual(counts.size, inUse.length)
      for (const [slug, count] of counts) {
        assert.isAbove(count, expected * 0.7, slug)
        assert.isBelow(count, expected * 1.3, slug)
      }
    })
  )

  it.effect("The rubric judge shows an event by its slug without the expected answer", () =>
    Effect.gen(function* () {
      const service = yield* RegistrationJudge
      const chosen = yield* service.choose("an agent")
      assert.deepStrictEqual(yield* service.event(chosen.slug), Option.some(chosen))
      assert.deepStrictEqual(Object.keys(chosen).sort(), ["prompt", "slug"])
      assert.deepStrictEqual(yield* service.event("unknown"), Option.none())
    })
  )

  it.effect("The rubric judge takes an answer to the event of a slug, with the numbers of the slug", () =>
    Effect.gen(function* () {
      const service = yield* RegistrationJudge
      for (const event of inUse.map((template) => drawn(template))) {
        const verdict = yield* service.judge(event.slug, englishAnswer(event))
        assert.deepStrictEqual(verdict, judge(event, englishAnswer(event), bank))
        assert.isTrue(verdict.passed)
      }
    })
  )

  it.effect("The rubric judge still takes an answer to a challenge made before numbers were drawn", () =>
    Effect.gen(function* () {
      const service = yield* RegistrationJudge
      for (const event of bank) {
        const verdict = yield* service.judge(event.slug, englishAnswer(event))
        assert.deepStrictEqual(verdict, judge(event, englishAnswer(event), bank))
      }
    })
  )

  it.effect("The rubric judge does not find an event that is no longer in use", () =>
    Effect.gen(function* () {
      const service = yield* RegistrationJudge
      const [event] = bank
      assert(event !== undefined)
      const error = yield* Effect.flip(service.judge("removed-event", englishAnswer(event)))
      assert.strictEqual(error._tag, "NotFound")
      assert.include(error.detail, "register again")
    })
  )
})
