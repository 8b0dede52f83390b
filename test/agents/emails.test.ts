import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import {
  EmailAddress,
  domainsIn,
  emailAddressOf,
  isOfDomains,
  mailboxOf
} from "../../src/services/domain/emails.ts"
import { address } from "../support/agents.ts"

const accepted: ReadonlyArray<readonly [sent: string, stored: string]> = [
  ["ada@example.org", "ada@example.org"],
  [" Ada.Lovelace@Example.ORG\n", "ada.lovelace@example.org"],
  ["o'brien+auspex@sub.example.co.uk", "o'brien+auspex@sub.example.co.uk"],
  ["a@b.cd", "a@b.cd"],
  ["x@xn--bcher-kva.example", "x@xn--bcher-kva.example"],
  ["x@bücher.example", "x@xn--bcher-kva.example"],
  ["X@BÜCHER.Example", "x@xn--bcher-kva.example"],
  ["ivan@пример.рф", "ivan@xn--e1afmkfd.xn--p1ai"],
  ["taro@例え.テスト", "taro@xn--r8jz45g.xn--zckzah"],
  ["taro@例え。テスト", "taro@xn--r8jz45g.xn--zckzah"],
  ["li@公司.中国", "li@xn--55qx5d.xn--fiqs8s"],
  ["a@سلام.com", "a@xn--mgbx5cf.com"],
  ["a@faß.de", "a@xn--fa-hia.de"],
  ["ada@ｅxample.org", "ada@example.org"],
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
  "ada@exa\u00admple.org",
  "ada@ex%61mple.org",
  "ada@１２７.1",
  "ada@bücher",
  "ada@bücher..example",
  "ada@bü cher.example",
  "ada@bücher.example/x",
  "ada@a\u200cb.example",
  "\u202eada@example.org",
  `${"l".repeat(65)}@example.org`,
  `ada@${"a".repeat(64)}.org`,
  `ada@${"abcdefgh.".repeat(28)}org`
]

const pieces = ["ada", "@", "example.org", ",", " ", "\r\n", "<", ">", ";", "Bcc:", ".", '"', "\0", "+"]

describe("An e-mail address", () => {
  it.each(accepted)("emailAddressOf takes %j", (sent, stored) => {
    assert.deepStrictEqual(Option.getOrNull(emailAddressOf(sent)) as string | null, stored)
  })

  it.each(refused.map((sent) => [sent]))("emailAddressOf does not take %j", (sent) => {
    assert.isTrue(Option.isNone(emailAddressOf(sent)))
  })

  it.each([
    ["taro..yamada@docomo.example", "two in a row"],
    ["taro.@docomo.example", "no dot at the beginning or the end"],
    ["иван@пример.рф", "Expected ASCII before the @"],
    ["ada", "for example ada@example.org"]
  ])("The address %j is refused with the mistake in it", (sent, told) => {
    const decoded = Schema.decodeResult(EmailAddress)(sent)
    assert.include(Result.isFailure(decoded) ? String(decoded.failure) : "taken", told)
  })

  it.prop(
    "An address has one @, and nothing that ends a header line or begins another address",
    [Schema.Array(Schema.Literals(pieces)).check(Schema.isMaxLength(8))],
    ([parts]) => {
      const parsed = emailAddressOf(parts.join(""))
      if (Option.isSome(parsed)) assert.match(parsed.value, /^[^@\s,;<>"\0]+@[a-z0-9.-]+$/)
    },
    { arbitrary: { runs: 2000 } }
  )

  it("An address with a suffix reaches the mailbox without it", () => {
    assert.strictEqual(mailboxOf(address("ada+1@example.org")), "ada@example.org")
    assert.strictEqual(mailboxOf(address("ada+a+b@example.org")), "ada@example.org")
    assert.strictEqual(mailboxOf(address("ada@example.org")), "ada@example.org")
  })

  it.each([
    ["ada.lovelace@gmail.com", "adalovelace@gmail.com"],
    ["a.d.a.lovelace+news@googlemail.com", "adalovelace@gmail.com"],
    ["ada.lovelace@protonmail.com", "adalovelace@proton.me"],
    ["ada_love-lace+x@pm.me", "adalovelace@proton.me"],
    ["ada@protonmail.ch", "ada@proton.me"],
    ["---@proton.me", "---@proton.me"],
    ["ada.l@mac.com", "ada.l@icloud.com"],
    ["ada.l+x@me.com", "ada.l@icloud.com"],
    // At other hosts, and at subdomains of these, dots and domains tell people apart.
    ["ada.lovelace@example.org", "ada.lovelace@example.org"],
    ["ada.lovelace@outlook.com", "ada.lovelace@outlook.com"],
    ["ada.lovelace@mail.gmail.com", "ada.lovelace@mail.gmail.com"]
  ])("The address %s reaches the mailbox %s, which is its own mailbox", (form, mailbox) => {
    assert.strictEqual(mailboxOf(address(form)), mailbox)
    assert.strictEqual(mailboxOf(mailbox), mailbox)
  })

  it.prop(
    "The mailbox of an address has no other name",
    [
      Schema.Array(Schema.Literals(["a", "+", ".", "-", "_", "b"])).check(
        Schema.isMinLength(1),
        Schema.isMaxLength(8)
      ),
      Schema.Literals(["gmail.com", "googlemail.com", "pm.me", "me.com", "example.org"])
    ],
    ([parts, domain]) => {
      const mailbox = mailboxOf(`${parts.join("")}@${domain}`)
      assert.strictEqual(mailboxOf(mailbox), mailbox)
      assert.match(mailbox, /^[^@]+@(gmail\.com|proton\.me|icloud\.com|example\.org)$/)
    },
    { arbitrary: { runs: 2000 } }
  )

  it("A list of domains covers addresses of these and their subdomains, letter by letter", () => {
    const domains = Option.getOrThrow(
      domainsIn("# thrown away\nTrash.example, throw.example.org # both\n\n  burner.example\r\n")
    )
    for (const of of ["trash.example", "mx.a.trash.example", "throw.example.org", "burner.example"]) {
      assert.isTrue(isOfDomains(address(`ada@${of}`), domains), of)
    }
    for (const of of ["example.org", "nottrash.example", "trash.example.org"]) {
      assert.isFalse(isOfDomains(address(`ada@${of}`), domains), of)
    }
    for (const text of ["trash", "a@trash.example", "*.trash.example", "trash.example;burner.example"]) {
      assert.isTrue(Option.isNone(domainsIn(text)), text)
    }
  })
})
