/** Values in markup stay text. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { html, render } from "../../src/http/site/views/html.ts"
import { unescaped } from "../support/visitor.ts"

const doctype = "<!doctype html>"
const body = (text: string) => text.slice(doctype.length)

/** Texts that browsers read as the beginning of markup, or as the end of the surrounding element. */
const Hostile = Schema.Array(
  Schema.Literals([
    "<",
    ">",
    '"',
    "'",
    "&",
    "</p>",
    "<!--",
    "-->",
    "&lt;",
    "\u0000",
    "\u2028",
    "=",
    "`",
    "a",
    " ",
    "\n"
  ])
).pipe((pieces) => pieces.check(Schema.isMinLength(1), Schema.isMaxLength(12)))

describe("Markup", () => {
  it.prop("A value in markup is text, in content and attributes, whatever it is", [Hostile], ([pieces]) => {
    const value = pieces.join("")
    const page = body(render(html`<p title=${value}>${value}</p>`))
    const parts = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(page)
    assert.isNotNull(parts, page)
    assert.strictEqual(unescaped(parts?.[1] ?? ""), value)
    assert.strictEqual(unescaped(parts?.[2] ?? ""), value)
  })

  it.prop(
    "A value in markup adds no element or attribute where it stands within others",
    [Hostile],
    ([pieces]) => {
      const value = pieces.join("")
      const page = render(
        html`<div class="a ${value} b"><input value=${value} />${[html`<b>${value}</b>`]}</div>`
      )
      assert.deepStrictEqual(page.match(/<[a-z!/]+/g), ["<!doctype", "<div", "<input", "<b", "</b", "</div"])
      assert.strictEqual(page.match(/"/g)?.length, 4)
    }
  )

  it("A value of null, undefined or false leaves nothing in markup; 0 is a number", () => {
    assert.strictEqual(body(render(html`<p id=${undefined}>${null}${undefined}${false}${0}</p>`)), "<p>0</p>")
  })

  it("White space in markup stays as what it means in HTML", () => {
    const page = render(
      html`<p>
        one <b>two</b>
        ${"three"}
      </p>`
    )
    assert.strictEqual(body(page).trim(), "<p> one <b>two</b> three </p>")
  })

  it("A number and its unit stay together in texts, and every attribute stays as it is", () => {
    for (const value of ["5 %", "a> 5 %", '"> ± 5', "<p> 5 % <b>", "'> ▲ Up"]) {
      const page = body(render(html`<p title=${value}>5 %</p>`))
      const [, title = "", text] = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(page) ?? []
      assert.deepStrictEqual([unescaped(title), text], [value, "5\u00A0%"])
    }
  })

  it("Markup is the same when it is made again", () => {
    const once = html`<b>static</b>`
    const page = () => render(html`<p>${once}${once}</p>`)
    assert.strictEqual(page(), page())
    assert.strictEqual(body(page()), "<p><b>static</b><b>static</b></p>")
  })
})
