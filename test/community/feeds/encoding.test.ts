/** The text of a feed's bytes. */
import { assert, describe, it } from "@effect/vitest"
import { decodeXml } from "../../../src/layers/feeds/encoding.ts"

/** "Золото" in windows-1251. */
const gold = Buffer.from("c7eeebeef2ee", "hex")
const in1251 = (before: string) => Buffer.concat([Buffer.from(before), gold])
const bytesOf = (text: string, ...mark: ReadonlyArray<number>) =>
  Buffer.concat([Buffer.from(mark), Buffer.from(text)])
const utf16 = (text: string, ...mark: ReadonlyArray<number>) =>
  Buffer.concat([Buffer.from(mark), Buffer.from(text, "utf16le")])
const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16()

describe("The encoding of a feed", () => {
  it("A feed's encoding is that of the declaration, in any form of writing", () => {
    for (const declaration of [
      `<?xml version="1.0" encoding="windows-1251"?>`,
      `<?xml version='1.0' encoding='windows-1251'?>`,
      `<?xml version="1.0" encoding = "windows-1251" ?>`,
      `<?xml version="1.0"\n  encoding\n=\n'WINDOWS-1251' standalone="yes"?>`,
      `\n\r\n \t<?xml version="1.0" encoding="windows-1251"?>`,
      `<?XML VERSION="1.0" ENCODING="Windows-1251"?>`,
      `<?xml version="1.0" encoding=" cp1251 "?>`,
      `<?xml version="1.0" encoding="x-cp1251"?>`,
      `<!-- made by hand --><?xml version="1.0" encoding="windows-1251"?>`
    ]) {
      const { misread, text } = decodeXml(in1251(declaration), "text/xml")
      assert.include(text, "Золото", declaration)
      assert.isUndefined(misread)
    }
  })

  it("A feed's header comes before its declaration, and the byte order mark before both", () => {
    const declared = `<?xml version="1.0" encoding="iso-8859-1"?>`
    for (const type of [
      "text/xml; charset=windows-1251",
      'text/xml;charset="windows-1251"',
      "text/xml; Charset = 'Windows-1251'; x=y",
      "application/rss+xml; profile=a; charset=cp1251"
    ]) {
      assert.include(decodeXml(in1251(declared), type).text, "Золото", type)
    }
    // An unknown label says nothing.
    const known = `<?xml version="1.0" encoding="windows-1251"?>`
    for (const type of [
      undefined,
      "",
      "text/xml",
      "text/xml; charset=",
      "text/xml; charset=utf8mb4",
      "charset"
    ]) {
      assert.include(decodeXml(in1251(known), type).text, "Золото", type)
    }
    for (const bytes of [
      bytesOf(`${declared}Золото`, 0xef, 0xbb, 0xbf),
      utf16(`${declared}Золото`, 0xff, 0xfe),
      swapped(utf16(`${declared}Золото`, 0xff, 0xfe)),
      utf16(`${declared}Золото`),
      swapped(utf16(`${declared}Золото`))
    ]) {
      const { misread, text } = decodeXml(bytes, "text/xml; charset=windows-1251")
      assert.strictEqual(text, `${declared}Золото`, bytes.subarray(0, 4).toString("hex"))
      assert.isUndefined(misread)
    }
  })

  it("A feed's encoding is UTF-8 where no other is possible, also if it declares UTF-16", () => {
    for (const declaration of [
      "",
      `<?xml version="1.0"?>`,
      `<?xml version="1.0" encoding="utf-16"?>`,
      `<?xml version="1.0" encoding="none"?>`
    ]) {
      assert.include(decodeXml(bytesOf(`${declaration}Золото`), undefined).text, "Золото", declaration)
    }
  })

  it("A feed whose bytes are no text in its encoding is reported", () => {
    for (const [bytes, type, encoding] of [
      [in1251(""), undefined, "utf-8"],
      [in1251(`<?xml version="1.0" encoding="windows-1251"?>`), "text/xml; charset=utf-8", "utf-8"],
      [Buffer.from([0xff, 0xfe, 0x00, 0xd8]), undefined, "utf-16le"],
      [Buffer.from([0x81]), "text/xml; charset=shift_jis", "shift_jis"]
    ] as const) {
      assert.strictEqual(decodeXml(bytes, type).misread, `it holds bytes that are no text in ${encoding}`)
    }
    // A character that the publisher wrote is no fault of the bytes.
    assert.isUndefined(decodeXml(bytesOf("\ufffd"), undefined).misread)
  })
})
