import { assert, describe, it } from "@effect/vitest"
import { Option, Redacted, Schema } from "effect"
import { sealing } from "../../src/layers/crypto/encryption.ts"

const secret = Redacted.make("a-token-secret-of-32-bytes-or-more")
const other = Redacted.make("another-secret-of-32-bytes-or-more")
const { open, seal } = sealing(secret, "mail")

describe("What is sealed", () => {
  it.prop("is opened as it was, whatever it says", [Schema.String], ([text]) => {
    assert.deepStrictEqual(open(seal(text)), Option.some(Buffer.from(text).toString()))
  })

  it("is opened by nothing else: no other secret, no other purpose", () => {
    const sealed = seal("a link")
    assert.isTrue(Option.isNone(sealing(other, "mail").open(sealed)))
    assert.isTrue(Option.isNone(sealing(secret, "return path").open(sealed)))
  })

  it("is not opened once any bit of it was changed, or bytes are missing", () => {
    const sealed = seal("a link")
    for (let index = 0; index < sealed.length; index += 1) {
      const tampered = Buffer.from(sealed)
      tampered[index] = (tampered[index] ?? 0) ^ 1
      assert.isTrue(Option.isNone(open(tampered)), `byte ${index}`)
      assert.isTrue(Option.isNone(open(sealed.subarray(0, index))), `${index} bytes`)
    }
  })

  it("never looks the same twice", () => {
    assert.notDeepEqual(seal("a link"), seal("a link"))
  })
})
