import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parseTilePath } from "../../src/http/routes.ts"

const digits = (n: number): string => {
  const groups = n.toLocaleString("en", { minimumIntegerDigits: 3 }).split(",")
  return groups.map((group, at) => (at === groups.length - 1 ? "" : "x") + group.padStart(3, "0")).join("/")
}

describe("A tile's path", () => {
  it("A tile's path is the one of the specification", () => {
    assert.deepStrictEqual(parseTilePath("/log/tile/0/x001/x234/067"), { level: 0, n: 1_234_067, width: 256 })
    assert.deepStrictEqual(parseTilePath("/log/tile/63/000.p/1"), { level: 63, n: 0, width: 1 })
    assert.deepStrictEqual(parseTilePath("/log/tile/entries/x001/000.p/255"), {
      level: "entries",
      n: 1000,
      width: 255
    })
    assert.deepStrictEqual(parseTilePath("/log/tile/1/999?anything=1"), { level: 1, n: 999, width: 256 })
  })

  it.prop(
    "A tile's path is read back for any index",
    [Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999_999_999_999 }))],
    ([n]) => {
      assert.deepStrictEqual(parseTilePath(`/log/tile/7/${digits(n)}`), { level: 7, n, width: 256 })
    }
  )

  it.each([
    "/log/tile",
    "/log/tile/",
    "/log/tile/0",
    "/log/tile/0/",
    "/log/tile/0/0",
    "/log/tile/0/00",
    "/log/tile/0/0000",
    "/log/tile/0/000/",
    "/log/tile/0/000/000",
    "/log/tile/0/x000",
    "/log/tile/0/x001",
    "/log/tile/0/x000/001",
    "/log/tile/0/X001/000",
    "/log/tile/0/x1/000",
    "/log/tile/0/x001/x000",
    "/log/tile/0/001/000",
    "/log/tile/0/x001/x002/x003/x004/x005/006",
    "/log/tile/00/000",
    "/log/tile/01/000",
    "/log/tile/64/000",
    "/log/tile/100/000",
    "/log/tile/-1/000",
    "/log/tile/+1/000",
    "/log/tile/1.0/000",
    "/log/tile/1e1/000",
    "/log/tile/Entries/000",
    "/log/tile/data/000",
    "/log/tile/0/000.p",
    "/log/tile/0/000.p/",
    "/log/tile/0/000.p/0",
    "/log/tile/0/000.p/01",
    "/log/tile/0/000.p/256",
    "/log/tile/0/000.p/1000",
    "/log/tile/0/000.p/-1",
    "/log/tile/0/000.P/1",
    "/log/tile/0/000p/1",
    "/log/tile/0/000.p/1/",
    "/log/tile/0/000/.p/1",
    "/log/tile/0/%30%30%30",
    "/log/tile/0/\u0660\u0661\u0662",
    "/log/tile/0/000\n",
    "/log/tile/0/000#x",
    "/log//tile/0/000",
    "/LOG/tile/0/000",
    "/x/log/tile/0/000"
  ])("A tile's path is not %j", (path) => {
    assert.isUndefined(parseTilePath(path))
  })
})
