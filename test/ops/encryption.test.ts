import { assert, describe, it } from "@effect/vitest"
import { Option, Redacted, Schema } from "effect"
import { encryption } from "../../src/layers/crypto/encryption.ts"

const secret = Redacted.make("a-token-secret-of-32-bytes-or-more")
const other = Redacted.make("another-secret-of-32-bytes-or-more")
const { decrypt, encrypt } = encryption(secret, "mail")

describe("Encryption", () => {
  it.prop("An encrypted text is opened as it was, whatever it says", [Schema.String], ([text]) => {
    assert.deepStrictEqual(decrypt(encrypt(text)), Option.some(Buffer.from(text).toString()))
  })

  it("An encrypted text is opened by nothing else: no other secret, no other purpose", () => {
    const encrypted = encrypt("a link")
    assert.isTrue(Option.isNone(encryption(other, "mail").decrypt(encrypted)))
    assert.isTrue(Option.isNone(encryption(secret, "return path").decrypt(encrypted)))
  })

  it("An encrypted text is not opened once any bit of it was changed, or bytes are missing", () => {
    const encrypted = encrypt("a link")
    for (let index = 0; index < encrypted.length; index += 1) {
      const tampered = Buffer.from(encrypted)
      tampered[index] = (tampered[index] ?? 0) ^ 1
      assert.isTrue(Option.isNone(decrypt(tampered)), `byte ${index}`)
      assert.isTrue(Option.isNone(decrypt(encrypted.subarray(0, index))), `${index} bytes`)
    }
  })

  it("An encrypted text never looks the same twice", () => {
    assert.notDeepEqual(encrypt("a link"), encrypt("a link"))
  })
})
