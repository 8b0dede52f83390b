import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Option, Schema } from "effect"
import { defaultScopes } from "../../src/services/Scopes.ts"
import { Registered } from "../../src/services/Registry.ts"
import { onboard, register } from "../support/agents.ts"
import { get, member, post, raw, testServer, wrongFields } from "../support/server.ts"

const path = "/api/v1/agent/registry/register"
const attempt = (fields: Readonly<Record<string, unknown>>) => post(path, { json: fields })
const profileOf = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>>) {
  const { token } = yield* onboard(fields)
  return (yield* get("/api/v1/agent/profile/self", { token })).json
})

const texts: ReadonlyArray<readonly [field: string, longest: number]> = [
  ["name", 80],
  ["bio", 2000],
  ["model_provider", 200],
  ["model_name", 200],
  ["model_version", 200],
  ["operator_contact", 200],
  ["owner_org", 200]
]
const slugs = ["type", "model_capability_tag", "hosting_mode", "policy_profile", "disclosure_level"]

layer(testServer({ environment: { AUSPEX_BASE_URL: "https://arena.example/base/" } }))(
  "Registration",
  (it) => {
    it.effect("A registration needs only a name, and fills in what the interface shows", () =>
      Effect.gen(function* () {
        const profile = yield* profileOf({ name: "Ada" })
        const expected = {
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
          site: "global"
        }
        for (const [field, value] of Object.entries(expected))
          assert.deepStrictEqual(profile[field], value, field)
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
        }
        const profile = yield* profileOf(sent)
        for (const [field, value] of Object.entries(sent))
          assert.deepStrictEqual(profile[field], value, field)
      })
    )

    it.effect("A registration answers 201 with all that an agent needs to go on, and is not cached", () =>
      Effect.gen(function* () {
        const answer = yield* attempt({ name: "Ada" })
        assert.strictEqual(answer.status, 201)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        const { challenge_prompt, client_secret, instructions, max_attempts } =
          yield* Schema.decodeUnknownEffect(Registered)(answer.json)
        assert.strictEqual(max_attempts, 5)
        assert.strictEqual(instructions.max_attempts, 5)
        assert.strictEqual(instructions.pass_score, 60)
        assert.strictEqual(
          instructions.criteria.reduce((sum, { points }) => sum + points, 0),
          100
        )
        for (const { description, name } of instructions.criteria) assert.isNotEmpty(name + description)
        assert.isNotEmpty(challenge_prompt)
        assert.match(client_secret, /^aus_cs_[\w-]{43}[0-9A-Za-z]{6}$/)
      })
    )

    it.effect("The submit_url is built from the base URL, whatever Host and forwarding headers say", () =>
      Effect.gen(function* () {
        const body = JSON.stringify({ name: "Ada" })
        const response = yield* raw(
          `POST ${path} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: ftp\r\n` +
            `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
        )
        assert.notInclude(response, "evil.example")
        assert.match(
          response,
          /"submit_url":"https:\/\/arena\.example\/base\/api\/v1\/agent\/challenge\/[0-9a-f-]{36}\/submit"/
        )
      })
    )

    it.effect("A missing name is the one mistake of an empty object", () =>
      Effect.gen(function* () {
        const answer = yield* attempt({})
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(answer.json["code"], "invalid_request")
        assert.deepStrictEqual(wrongFields(answer), ["name"])
      })
    )

    it.effect.each(texts)("The field %s takes %d characters and no more", ([field, longest]) =>
      Effect.gen(function* () {
        // A character is a code point: one that takes two UTF-16 units counts once.
        for (const character of ["x", "\u{1f4c8}"]) {
          const taken = yield* attempt({ name: "Ada", [field]: character.repeat(longest) })
          assert.strictEqual(taken.status, 201)
          const refused = yield* attempt({ name: "Ada", [field]: character.repeat(longest + 1) })
          assert.strictEqual(refused.status, 400)
          assert.deepStrictEqual(wrongFields(refused), [field])
        }
      })
    )

    it.effect("The length counts in the stored text, after normalisation", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* attempt({ name: "e\u0301".repeat(80) })).status, 201)
      })
    )

    it.effect.each(["", " ", "\n\t "])("A name of %j is blank, and refused", (name) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(wrongFields(yield* attempt({ name })), ["name"])
      })
    )

    it.effect.each(
      [
        0x0a, 0x09, 0x7f, 0x85, 0xad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x180e, 0x200b, 0x200c, 0x200d,
        0x200e, 0x200f, 0x2028, 0x2029, 0x2060, 0x2800, 0x3164, 0xe000, 0xfe00, 0xfe0f, 0xfeff, 0xffa0,
        0xfdd0, 0xfffe, 0xffff, 0x1ffff, 0x10fffe, 0xe0001, 0xe0041, 0xe0100, 0xe01ef, 0xf0000
      ].map((code) => [code.toString(16)] as const)
    )("A name with U+%s, which nobody sees, is refused", ([code]) =>
      Effect.gen(function* () {
        const hidden = String.fromCodePoint(Number.parseInt(code, 16))
        for (const name of [`Ada${hidden}`, `A${hidden}da`, hidden]) {
          const answer = yield* attempt({ name })
          assert.strictEqual(answer.status, 400)
          assert.deepStrictEqual(wrongFields(answer), ["name"])
        }
        // Only names are so strict.
        assert.strictEqual((yield* attempt({ name: "Ada", bio: `A${hidden}da` })).status, 201)
      })
    )

    it.effect.each([
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
    ] as const)("A name with %s is refused", ([, name]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(wrongFields(yield* attempt({ name })), ["name"])
      })
    )

    it.effect("A name may be in any writing, with marks, spaces, emoji, and the joiners these need", () =>
      Effect.gen(function* () {
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
          assert.strictEqual((yield* attempt({ name })).status, 201, name)
        }
      })
    )

    it.effect("A text field takes 30 combining marks in a row, and no more", () =>
      Effect.gen(function* () {
        for (const [field] of texts) {
          const marked = (count: number) =>
            attempt({ name: "Ada", [field]: `${`e${"\u0316".repeat(count)}`} ${`e${"\u0316".repeat(30)}`}` })
          assert.strictEqual((yield* marked(30)).status, 201, field)
          const answer = yield* marked(31)
          assert.strictEqual(answer.status, 400)
          assert.deepStrictEqual(answer.json["errors"], [
            {
              path: field,
              message: `Expected at most 30 combining marks in a row, got the string "e${"\u0316".repeat(31)} e${"\u0316".repeat(6)}"... (64 characters)`
            }
          ])
        }
      })
    )

    it.effect.each(slugs)("The field %s takes a slug", (field) =>
      Effect.gen(function* () {
        for (const taken of ["a", "z9_-", "a".repeat(32)]) {
          assert.strictEqual((yield* attempt({ name: "Ada", [field]: taken })).status, 201, taken)
        }
        for (const refused of ["", "a".repeat(33), "A", "9a", "-a", "a b", "a\n", "é", 1, ["a"]]) {
          const answer = yield* attempt({ name: "Ada", [field]: refused })
          assert.strictEqual(answer.status, 400, JSON.stringify(refused))
          assert.deepStrictEqual(wrongFields(answer), [field])
        }
      })
    )

    it.effect.each<readonly [string, Readonly<Record<string, unknown>>, ReadonlyArray<string>]>([
      ["a name that is no text", { name: 5 }, ["name"]],
      ["a name that is null", { name: null }, ["name"]],
      ["an unknown authentication method", { name: "Ada", auth_method: "password" }, ["auth_method"]],
      ["an unknown space", { name: "Ada", default_spaces: ["finance", "sports"] }, ["default_spaces.1"]],
      [
        "more spaces than there are",
        { name: "Ada", default_spaces: Array(6).fill("ai") },
        ["default_spaces"]
      ],
      ["languages that are no list", { name: "Ada", languages: "en" }, ["languages"]],
      ["an empty language", { name: "Ada", languages: ["en", ""] }, ["languages.1"]],
      ["a language that is too long", { name: "Ada", languages: ["x".repeat(201)] }, ["languages.0"]],
      ["too many languages", { name: "Ada", languages: Array(51).fill("en") }, ["languages"]],
      [
        "scopes that are no list",
        { name: "Ada", requested_scopes: "prediction:submit" },
        ["requested_scopes"]
      ],
      ["a scope that is no text", { name: "Ada", requested_scopes: [7] }, ["requested_scopes.0"]],
      ["too many scopes", { name: "Ada", requested_scopes: Array(101).fill("x") }, ["requested_scopes"]]
    ])("A registration with %s is refused by the path", ([, fields, wrong]) =>
      Effect.gen(function* () {
        const answer = yield* attempt(fields)
        assert.strictEqual(answer.status, 400)
        assert.deepStrictEqual(wrongFields(answer), wrong)
      })
    )

    it.effect("A registration names every wrong field in one answer", () =>
      Effect.gen(function* () {
        const answer = yield* attempt({
          name: "x".repeat(81),
          bio: "x".repeat(2001),
          type: "No Slug",
          languages: ["en", 5],
          default_spaces: ["nowhere"],
          requested_scopes: [false],
          owner_org: {}
        })
        assert.deepStrictEqual(wrongFields(answer), [
          "bio",
          "default_spaces.0",
          "languages.1",
          "name",
          "owner_org",
          "requested_scopes.0",
          "type"
        ])
        for (const field of ["name", "bio", "languages.1"]) assert.include(answer.json["detail"], field)
      })
    )

    it.effect("A registration ignores unknown fields", () =>
      Effect.gen(function* () {
        const answer = yield* attempt({
          name: "Ada",
          favourite_colour: "green",
          agent_id: "mine",
          claimed_at: 1
        })
        assert.strictEqual(answer.status, 201)
        assert.notInclude(answer.text, "green")
        assert.notStrictEqual(answer.json["agent_id"], "mine")
      })
    )

    it.effect("A registration stores text in NFC with line feeds", () =>
      Effect.gen(function* () {
        const profile = yield* profileOf({
          name: "Ame\u0301lie",
          bio: "one\r\ntwo\nthree\tfour",
          languages: ["e\u0301"]
        })
        assert.strictEqual(profile["name"], "Am\u00e9lie")
        assert.strictEqual(profile["bio"], "one\ntwo\nthree\tfour")
        assert.deepStrictEqual(profile["languages"], ["\u00e9"])
      })
    )

    it.effect.each([
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
    ] as const)("A text field with %s is refused", ([, hostile]) =>
      Effect.gen(function* () {
        const fields = texts.map(([field]) => field)
        const answer = yield* attempt({
          ...Object.fromEntries(fields.map((field) => [field, `a${hostile}b`])),
          languages: ["en", `a${hostile}b`],
          requested_scopes: [`a${hostile}b`]
        })
        assert.strictEqual(answer.status, 400)
        assert.deepStrictEqual(wrongFields(answer), [...fields, "languages.1", "requested_scopes.0"].sort())
      })
    )

    it.effect("A registration ignores scopes that do not exist, and lists them once each", () =>
      Effect.gen(function* () {
        const registered = yield* register({
          requested_scopes: [
            "challenge:read",
            "all",
            "prediction:submit",
            "all",
            "Challenge:Read",
            "challenge:read"
          ]
        })
        assert.deepStrictEqual(registered.ignored_scopes, ["all", "Challenge:Read"])
        const profile = yield* profileOf({
          requested_scopes: ["profile:read:self", "all", "prediction:submit"]
        })
        assert.deepStrictEqual(profile["requested_scopes"], [
          "prediction:submit",
          "profile:read:self",
          "llm:keys",
          "webhook:write"
        ])
      })
    )

    it.effect.each([
      ["omitted", {}],
      ["empty", { requested_scopes: [] }]
    ] as const)("A registration with %s scopes grants all but credits:stake", ([, fields]) =>
      Effect.gen(function* () {
        const profile = yield* profileOf(fields)
        assert.deepStrictEqual(profile["requested_scopes"], defaultScopes)
        assert.notInclude(defaultScopes, "credits:stake")
        assert.strictEqual(defaultScopes.length, 16)
      })
    )

    it.effect.each([
      // Scopes of the interface alone.
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
      ]
    ] as const)(
      "The scopes beyond the interface are granted where %o names none of them",
      ([asked, requested]) =>
        Effect.gen(function* () {
          const profile = yield* profileOf({ requested_scopes: asked })
          assert.deepStrictEqual(profile["requested_scopes"], requested)
        })
    )

    it.effect("The scope credits:stake is granted where it is asked for by name", () =>
      Effect.gen(function* () {
        const profile = yield* profileOf({ requested_scopes: ["credits:stake", "profile:read:self"] })
        assert.include(member(profile, "effective_scopes"), "credits:stake")
      })
    )

    it.effect("An agent that asks only for scopes that do not exist gets none", () =>
      Effect.gen(function* () {
        const registered = yield* register({ requested_scopes: ["everything"] })
        assert.deepStrictEqual(registered.ignored_scopes, ["everything"])
        const { token } = yield* onboard({ requested_scopes: ["everything"] })
        assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token })).status, 403)
      })
    )

    it.effect("A registration begins the grace window", () =>
      Effect.gen(function* () {
        const profile = yield* profileOf({ name: "Ada" })
        const days = (field: string) =>
          Option.map(
            DateTime.make(String(profile[field])),
            (time) => DateTime.toEpochMillis(time) / 86_400_000
          )
        assert.deepStrictEqual(
          days("provisional_until"),
          Option.map(days("created_at"), (day) => day + 7)
        )
      })
    )
  }
)
