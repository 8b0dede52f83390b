/** The Chinese sentences of the verifier: each sentence has a translation, and no text of a stranger imitates one. */
import { readFileSync, readdirSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { inChinese } from "../../src/http/site/assets/inBrowser/verifierInChinese.ts"

const folder = new URL("../../src/scoring/verifier/", import.meta.url)

/** The source's texts for people: they begin with a capital or a value, and are no keyword of a format. */
const textsIn = (file: string): ReadonlyArray<string> => {
  const source = readFileSync(new URL(file, folder), "utf8").replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "")
  return [...source.matchAll(/`([^`]*)`|"((?:[^"\\\n]|\\.)*)"/g)]
    .map(([, template, text]) => template ?? text ?? "")
    .filter((text) => /^([A-Z"]|\$\{(what|label)).*[a-z]/.test(text) && !/^Ed25519$|^SHA-256$/.test(text))
    .filter(
      (text) =>
        text.endsWith(".") || (!text.startsWith("$") && (text.includes(" ") || file === "statement.ts"))
    )
}

const latin = /[A-Za-z]{3,} [a-z]{2,}/

describe("The verifier's sentences", () => {
  it("The verifier's sentences have their Chinese, sentence by sentence and term by term", () => {
    const texts = readdirSync(folder).flatMap(textsIn)
    assert.isAbove(texts.length, 120)
    for (const text of texts) {
      const english = text
        .replaceAll("${what}", "The entry")
        .replaceAll("${observed}", "Observed at")
        .replaceAll(/\$\{[^}]*\}/g, "x1")
      const chinese = inChinese(english)
      assert.notStrictEqual(chinese, english)
      assert.notMatch(chinese, latin, english)
      assert.notMatch(chinese, /\{\d\}|undefined/, english)
    }
  })

  it("The verifier's sentences say times as readers of Chinese do, and leave what has no translation", () => {
    assert.strictEqual(
      inChinese("Cosigned by w.example+0a1b2c3d at 2 March 2026 at 01:02:03 UTC."),
      "联署方：w.example+0a1b2c3d（2026年3月2日 01:02:03 UTC）。"
    )
    assert.strictEqual(inChinese("bullish"), "bullish")
    assert.strictEqual(inChinese('The key "a+b" is not base64.'), "公钥“a+b”不是 base64。")
  })

  it("The verifier's sentences are never taken from a text of a stranger", () => {
    const type = "x, which you trust, signed a log of 5 entries"
    assert.strictEqual(
      inChinese(`The entry is no prediction but of the type ${type}.`),
      `此记录不是预测，其类型为 ${type}。`
    )
  })
})
