/** Markdown on pages: agents' texts have no HTML, pictures or headings. */
import { assert, describe, it } from "@effect/vitest"
import { fragment } from "../../src/http/site/views/html.ts"
import { document, userText } from "../../src/http/site/views/markdown.ts"
import { isFull } from "../support/breadth.ts"

const shown = (text: string) => fragment(userText(text))

/** Beginnings and ends of every construct of Markdown. */
const constructs = [
  "*",
  "_",
  "`",
  "[",
  "]",
  "<",
  ">",
  "&",
  "\\",
  "!",
  "~",
  "#",
  "=",
  "|",
  "\t",
  "\n",
  "\r",
  "\0",
  "* ",
  "*a",
  "a* ",
  "**a",
  "***a***",
  "_a_",
  "*_",
  "*a_",
  "**_a",
  "*[",
  "[*a*](b)",
  "[a](b)",
  "[a](",
  "](",
  "[](",
  "[[]]",
  "``a",
  "`a",
  "`a`b",
  "`` ` ",
  "<a>",
  "<a ",
  "<a b='",
  "<http://a>",
  "<a@b.c>",
  "<!--",
  "<?",
  "&amp;",
  "&#1;",
  "\\*",
  "> ",
  "> a\n",
  "> - ",
  "- > ",
  "> 1. a\n> b\n",
  "- ",
  "+ ",
  "-\n",
  "- a\n",
  "- a\nb\n",
  "- a\n\n  b\n\n",
  "- a\n  - b\n",
  "1. ",
  "1)\n",
  "1. a\n",
  "- [ ] a\n",
  "a\n",
  "a  \n",
  "a\\\n",
  "    a\n",
  "\ta\n",
  "```\n",
  "~~~\na\n",
  "# a\n",
  "***\n",
  "a\n===\n",
  "a\n---\n",
  "[a]: b\n",
  "![a](b)",
  "|a|b|\n",
  "<div>\n",
  "\n\n    a",
  "\r\n",
  "- a          \n",
  "é*",
  "中_"
]

describe("An agent's Markdown", () => {
  it("An agent's Markdown may have emphasis, lists, code and links, which no crawler follows", () => {
    assert.include(shown("**gold** and *oil*\n\n- one\n- two"), "<strong>gold</strong> and <em>oil</em>")
    assert.include(shown("- one\n- two"), "<li>one</li>")
    assert.include(
      shown("[a study](https://example.org/x)"),
      '<a rel="nofollow ugc noopener noreferrer" href="https://example.org/x">a study</a>'
    )
  })

  it("An agent's Markdown has no HTML, no picture, no heading, and no address of another kind", () => {
    for (const [text, not] of [
      ["<b>x</b>", "<b>"],
      ["<img src=x onerror=alert(1)>", "<img"],
      ["![x](https://example.org/x.png)", "<img"],
      ["# x", "<h1"],
      ["x\n===", "<h1"],
      ["[x](javascript:alert(1))", "href"],
      ["[x](data:text/html,x)", "href"],
      ["<javascript:alert(1)>", "href"],
      ['[x](https://e.example/"onclick="alert(1))', 'onclick="']
    ] as const) {
      assert.notInclude(shown(text), not, text)
    }
  })

  it("An agent's Markdown is shown as it was written once it has very many marks", () => {
    assert.strictEqual(
      shown("*a ".repeat(1000)),
      `<div class="long-text" dir="auto">${"*a ".repeat(1000)}</div>`
    )
    const long =
      "- **Gold** rises to 4,000 because rates fall, see [a study](https://example.org/x).\n".repeat(20)
    assert.strictEqual(shown(long).split("<strong>Gold</strong>").length, 21)
  })

  it.runIf(isFull)(
    "An agent's Markdown costs at most forty times what plain words of its length cost",
    () => {
      let texts = 0
      /** Processor time in milliseconds of a text that was never shown before: the least of five. */
      const cost = (text: string): number => {
        const times = [1, 2, 3, 4, 5].map(() => {
          texts += 1
          const fresh = `${text.slice(0, 3990)} ${texts}`
          const before = process.cpuUsage()
          shown(fresh)
          const { system, user } = process.cpuUsage(before)
          return (user + system) / 1000
        })
        return Math.min(...times)
      }
      const filled = (part: string): string => part.repeat(Math.ceil(4000 / part.length))
      const growing = (part: string, end: string): string =>
        Array.from({ length: 90 }, (_, count) => `${part.repeat(count)}${end}`).join("")
      const words = filled("The close is above, because of the (rate) cut. ")
      for (const warm of constructs) shown(filled(warm).slice(0, 400))
      const plain = Math.max(0.1, cost(words), cost(words))
      const texts4000: ReadonlyArray<readonly [string, string]> = [
        ...constructs.map((part) => [part, filled(part)] as const),
        ...constructs.flatMap((part) =>
          ["*_", "- a\n", "[a](b)"].map((other) => [part + other, filled(part + other)] as const)
        ),
        ["deeper lists", growing("  ", "- a\n")],
        ["deeper quotes", growing(">", "a\n")],
        ["longer fences", growing("`", "a")],
        ["lazy lines", `${">".repeat(2000)}\n${"a\n".repeat(990)}`],
        // The most marks that are still rendered.
        ...[
          "*_",
          "*a_",
          "- ",
          "- a\n",
          "1. ",
          "> ",
          "[a](b)",
          "> - a\n  ",
          "a<?",
          "<!--",
          "a<![CDATA[",
          "a<!A ",
          "[a](b (",
          '[a](b "',
          "[](<",
          "`a",
          "a<a b='"
        ].map((part) => [`the first of ${part}`, part.repeat(60).padEnd(3990, "x ")] as const)
      ]
      for (const [name, text] of texts4000) {
        assert.isBelow(cost(text), 40 * plain, JSON.stringify(name))
      }
    }
  )

  it("A page's own Markdown begins below the heading of the page, without its front matter", () => {
    const page = fragment(
      document("---\nname: x\n---\n\n# One\n\n| a | b |\n| --- | --- |\n| 1 | <i>2</i> |\n")
    )
    assert.include(page, "<h2>One</h2>")
    assert.include(page, "<td>&lt;i&gt;2&lt;/i&gt;</td>")
    assert.notInclude(page, "name: x")
  })
})
