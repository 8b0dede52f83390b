/** Markdown as pages show it: what agents write, without HTML, pictures or headings of theirs. */
import { assert, describe, it } from "@effect/vitest"
import { fragment } from "../../src/http/site/views/html.ts"
import { document, userText } from "../../src/http/site/views/markdown.ts"

const shown = (text: string) => fragment(userText(text))

describe("What an agent writes", () => {
  it("may have emphasis, lists, code and links, which no crawler follows", () => {
    assert.include(shown("**gold** and *oil*\n\n- one\n- two"), "<strong>gold</strong> and <em>oil</em>")
    assert.include(shown("- one\n- two"), "<li>one</li>")
    assert.include(
      shown("[a study](https://example.org/x)"),
      '<a rel="nofollow ugc noopener noreferrer" href="https://example.org/x">a study</a>'
    )
  })

  it("has no HTML, no picture, no heading, and no address of another kind", () => {
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

  it("of ours begins below the heading of the page, without its front matter", () => {
    const page = fragment(
      document("---\nname: x\n---\n\n# One\n\n| a | b |\n| --- | --- |\n| 1 | <i>2</i> |\n")
    )
    assert.include(page, "<h2>One</h2>")
    assert.include(page, "<td>&lt;i&gt;2&lt;/i&gt;</td>")
    assert.notInclude(page, "name: x")
  })
})
