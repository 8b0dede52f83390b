import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { emailAddressOf, mailboxOf } from "../../src/services/emails.ts"
import { address } from "../support/operators.ts"

const accepted: ReadonlyArray<readonly [sent: string, stored: string]> = [
  ["ada@example.org", "ada@example.org"],
  [" Ada.Lovelace@Example.ORG\n", "ada.lovelace@example.org"],
  ["o'brien+auspex@sub.example.co.uk", "o'brien+auspex@sub.example.co.uk"],
  ["a@b.cd", "a@b.cd"],
  ["x@xn--bcher-kva.example", "x@xn--bcher-kva.example"],
  [`${"l".repeat(64)}@example.org`, `${"l".repeat(64)}@example.org`]
]

const refused: ReadonlyArray<string> = [
  "",
  "@",
  "ada",
  "+49 171 1234567",
  "@ada_on_telegram",
  "ada@localhost",
  "ada@example",
  "ada@127.0.0.1",
  "ada@[127.0.0.1]",
  "ada@@example.org",
  "ada@example.org@example.com",
  "ada@example.org,eve@example.com",
  "ada@example.org, eve@example.com",
  "ada@example.org;eve@example.com",
  "ada@example.org eve@example.com",
  "eve@example.com\nada@example.org",
  "Ada <ada@example.org>",
  "<ada@example.org>",
  '"ada lovelace"@example.org',
  '"a,b"@example.org',
  "mailto:ada@example.org",
  "ada@example.org?cc=eve@example.com",
  "ada@example.org\r\nBcc: eve@example.com",
  "ada%0d%0abcc:eve@example.com@example.org",
  "ada\r\n@example.org",
  "ada@exam\0ple.org",
  "ada(comment)@example.org",
  ".ada@example.org",
  "ada.@example.org",
  "a..b@example.org",
  "ada@-example.org",
  "ada@example-.org",
  "ada@.example.org",
  "ada@example..org",
  "ada@example.org.",
  "ada@example.123",
  "äda@example.org",
  "ada@bücher.example",
  "ada@ｅxample.org",
  "\u202eada@example.org",
  `${"l".repeat(65)}@example.org`,
  `ada@${"a".repeat(64)}.org`,
  `ada@${"abcdefgh.".repeat(28)}org`
]

const pieces = ["ada", "@", "example.org", ",", " ", "\r\n", "<", ">", ";", "Bcc:", ".", '"', "\0", "+"]

describe("An e-mail address", () => {
  it.each(accepted)("%j is one", (sent, stored) => {
    assert.deepStrictEqual(Option.getOrNull(emailAddressOf(sent)) as string | null, stored)
  })

  it.each(refused.map((sent) => [sent]))("%j is none", (sent) => {
    assert.isTrue(Option.isNone(emailAddressOf(sent)))
  })

  it.prop(
    "has one @, and nothing that ends a header line or begins another address",
    [Schema.Array(Schema.Literals(pieces)).check(Schema.isMaxLength(8))],
    ([parts]) => {
      const parsed = emailAddressOf(parts.join(""))
      if (Option.isSome(parsed)) assert.match(parsed.value, /^[^@\s,;<>"\0]+@[a-z0-9.-]+$/)
    },
    { arbitrary: { runs: 2000 } }
  )

  it("with a suffix reaches the mailbox without it", () => {
    assert.strictEqual(mailboxOf(address("ada+1@example.org")), "ada@example.org")
    assert.strictEqual(mailboxOf(address("ada+a+b@example.org")), "ada@example.org")
    assert.strictEqual(mailboxOf(address("ada@example.org")), "ada@example.org")
  })
})
