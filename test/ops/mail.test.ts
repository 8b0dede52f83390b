/** Outgoing mail: through a real SMTP server on loopback, and as files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Redacted } from "effect"
import type { SMTPServerOptions } from "smtp-server"
import { files, smtp } from "../../src/layers/mail/MailTransport.ts"
import { english, printableName } from "../../src/layers/mail/texts.ts"
import { textsOf } from "../../src/layers/mail/language.ts"
import { pagePaths } from "../../src/http/site/paths.ts"
import type { MailTexts } from "../../src/layers/mail/texts.ts"
import { MailTransport, maxSends } from "../../src/services/Mailer.ts"
import type { Message } from "../../src/services/Mailer.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { address } from "../support/agents.ts"
import { until } from "../support/process.ts"
import { read, smtpServer } from "../support/smtpServer.ts"

const sender = { name: "Auspex", address: "auspex@auspex.example" }

const message = (fields: Partial<Message> = {}): Message => ({
  id: "0190f000-0000-7000-8000-00000000abcd",
  to: address("ada@example.org"),
  subject: "Sign in to Auspex",
  text: "Open this page:\n\nhttps://auspex.example/sign-in/aus_si_AAAA\n",
  unsubscribeUrl: null,
  urgency: "urgent",
  createdAt: DateTime.makeUnsafe("2026-03-02T12:00:00Z"),
  ...fields
})

const through = (url: string) => smtp({ url: Redacted.make(url), sender })

const deliver = (sent: Message) => MailTransport.use((transport) => transport.deliver(sent))

/** Sends through a server and answers what it got. */
const exchanged = Effect.fnUntraced(function* (sent: Message, options?: SMTPServerOptions) {
  const { port, received } = yield* smtpServer(options)
  yield* Effect.provide(deliver(sent), through(`smtp://127.0.0.1:${port}`))
  return yield* Effect.forEach(received, (mail) =>
    Effect.map(read(mail.raw), (email) => ({ ...mail, email }))
  )
})

describe("Mail by SMTP", () => {
  it.live("Mail by SMTP arrives as it was written, plain text for one recipient", () =>
    Effect.gen(function* () {
      const [mail, ...more] = yield* exchanged(message())
      assert(mail !== undefined)
      assert.strictEqual(more.length, 0)
      assert.strictEqual(mail.from, sender.address)
      assert.deepStrictEqual(mail.to, ["ada@example.org"])
      assert.strictEqual(mail.email.subject, "Sign in to Auspex")
      assert.strictEqual(mail.email.text?.trim(), message().text.trim())
      assert.isUndefined(mail.email.html)
      assert.strictEqual(mail.email.messageId, `<${message().id}@auspex.example>`)
      assert.strictEqual(mail.email.date, "2026-03-02T12:00:00.000Z")
      assert.match(mail.raw, /^Auto-Submitted: auto-generated\r$/m)
      assert.notMatch(mail.raw, /^X-Mailer/im)
      assert.notMatch(mail.raw, /^List-Unsubscribe/im)
    })
  )

  it.live("Mail that agents cause can be ended by one click (RFC 8058)", () =>
    Effect.gen(function* () {
      const url = "https://auspex.example/claim/mail/aus_mc_AAAA/not-mine"
      const [mail] = yield* exchanged(message({ unsubscribeUrl: url }))
      const header = (name: string) => mail?.email.headers.find(({ key }) => key === name)?.value
      assert.strictEqual(header("list-unsubscribe"), `<${url}>`)
      assert.strictEqual(header("list-unsubscribe-post"), "List-Unsubscribe=One-Click")
    })
  )

  it.live("No field of a mail can make a header, a second recipient or a body of its own", () =>
    Effect.gen(function* () {
      const evil = "x\r\nBcc: eve@example.com\r\n\r\n<script>"
      const [mail] = yield* exchanged(message({ subject: evil, unsubscribeUrl: evil }))
      assert(mail !== undefined)
      assert.deepStrictEqual(mail.to, ["ada@example.org"])
      assert.notMatch(mail.raw, /^Bcc/im)
      assert.strictEqual(mail.email.text?.trim(), message().text.trim())
    })
  )

  it.live("Mail by SMTP whose text is not ASCII arrives whole", () =>
    Effect.gen(function* () {
      const text = `Agent "Ada 算法 ${"ü".repeat(2000)}"\n\nhttps://auspex.example/claim/mail/aus_mc_${"A".repeat(43)}\n`
      const [mail] = yield* exchanged(message({ text, subject: "Claim your agent 算法" }))
      assert.strictEqual(mail?.email.text?.trim(), text.trim())
      assert.strictEqual(mail?.email.subject, "Claim your agent 算法")
    })
  )

  it.live(
    "Mail is taken at once while a server keeps silent about all others, and keeps their connections",
    () =>
      Effect.gen(function* () {
        const silent: Array<string> = []
        const { port, received } = yield* smtpServer({
          closeTimeout: 100,
          onRcptTo: ({ address }, _, callback) => {
            if (address.startsWith("digest")) silent.push(address)
            else callback()
          }
        })
        yield* Effect.gen(function* () {
          const others = Array.from({ length: 12 }, (_, index) =>
            deliver(
              message({
                urgency: index % 2 === 0 ? "bulk" : "normal",
                to: address(`digest-${index}@example.org`)
              })
            )
          )
          yield* Effect.forEach(others, (each) => Effect.forkScoped(each))
          yield* until(
            "the connections of others are held",
            Effect.sync(() => silent.length === maxSends.normal + maxSends.bulk)
          )
          yield* Effect.all([deliver(message()), deliver(message()), deliver(message())], {
            concurrency: "unbounded"
          }).pipe(Effect.timeout("5 seconds"))
          assert.strictEqual(received.length, 3)
          assert.strictEqual(silent.length, maxSends.normal + maxSends.bulk)
        }).pipe(Effect.scoped, Effect.provide(through(`smtp://127.0.0.1:${port}`)))
      })
  )

  it.live("Mail by SMTP signs in with the user and password of the URL", () =>
    Effect.gen(function* () {
      const logins: Array<string> = []
      const { port, received } = yield* smtpServer({
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _, callback) => {
          logins.push(`${username}:${password}`)
          callback(password === "p@ss" ? null : new Error("no"), { user: username })
        }
      })
      yield* Effect.provide(deliver(message()), through(`smtp://ada:p%40ss@127.0.0.1:${port}`))
      assert.deepStrictEqual(logins, ["ada:p@ss"])
      assert.strictEqual(received.length, 1)
      const refused = yield* Effect.flip(
        Effect.provide(deliver(message()), through(`smtp://ada:wrong@127.0.0.1:${port}`))
      )
      // A wrong password is the operator's to put right: the mails wait for it.
      assert.isFalse(refused.permanent)
      assert.notInclude(refused.reason, "wrong")
    })
  )

  it.live("Mail is refused for good by a 5xx, for now by a 4xx, a dead server and one that hangs up", () =>
    Effect.gen(function* () {
      const answering = (responseCode: number) =>
        Effect.flip(
          exchanged(message(), {
            onRcptTo: (_, __, callback) =>
              callback(Object.assign(new Error("not this one"), { responseCode }))
          })
        )
      assert.isTrue((yield* answering(550)).permanent)
      assert.isFalse((yield* answering(450)).permanent)
      // A sender that the server does not take is a matter of settings, not of this mail.
      const sender = yield* Effect.flip(
        exchanged(message(), {
          onMailFrom: (_, __, callback) =>
            callback(Object.assign(new Error("not from you"), { responseCode: 550 }))
        })
      )
      assert.isFalse(sender.permanent)
      const { port } = yield* Effect.scoped(smtpServer())
      assert.isFalse(
        (yield* Effect.flip(Effect.provide(deliver(message()), through(`smtp://127.0.0.1:${port}`))))
          .permanent
      )
      const rude = yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>>((resume) => {
          const server = createServer((socket) => socket.destroy())
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const bound = rude.address()
      const rudePort = typeof bound === "object" && bound !== null ? bound.port : 0
      assert.isFalse(
        (yield* Effect.flip(Effect.provide(deliver(message()), through(`smtp://127.0.0.1:${rudePort}`))))
          .permanent
      )
    })
  )
})

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "auspex-outbox-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const intoFolder = (path: string) =>
  files({ directory: path, sender }).pipe(Layer.provide(NodeServices.layer))

describe("Mail as files", () => {
  it.live("Each mail is one file, named by its id, with each link in one piece", () =>
    Effect.gen(function* () {
      const outbox = join(yield* directory, "outbox")
      const link = `https://auspex.example/claim/mail/aus_mc_${"A".repeat(43)}/not-mine`
      yield* Effect.provide(deliver(message({ text: `Öffnen:\n\n${link}\n` })), intoFolder(outbox))
      assert.deepStrictEqual(readdirSync(outbox), [`${message().id}.eml`])
      const raw = readFileSync(join(outbox, `${message().id}.eml`), "utf8")
      assert.include(raw, `\n${link}\n`)
      const email = yield* read(raw)
      assert.deepStrictEqual(
        email.to?.map((to) => to.address),
        ["ada@example.org"]
      )
      assert.strictEqual(email.text?.trim(), `Öffnen:\n\n${link}`)
    })
  )

  it.live("A mail's file can be read by nobody else, for its links are secrets", () =>
    Effect.gen(function* () {
      const outbox = join(yield* directory, "outbox")
      yield* Effect.provide(deliver(message()), intoFolder(outbox))
      assert.strictEqual(statSync(outbox).mode & 0o777, 0o700)
      assert.strictEqual(statSync(join(outbox, `${message().id}.eml`)).mode & 0o777, 0o600)
    })
  )

  it.live("A mail's file is named by a log line, which does not say what is in it", () =>
    Effect.gen(function* () {
      const outbox = join(yield* directory, "outbox")
      yield* Effect.provide(deliver(message()), intoFolder(outbox))
      const lines = (yield* TelemetryRecorder).lines.join("\n")
      assert.include(lines, `${message().id}.eml`)
      assert.notInclude(lines, "aus_si_")
      assert.notInclude(lines, "ada@example.org")
    }).pipe(Effect.provide(telemetryRecorder))
  )

  it.live("Mail that cannot be written to a file is tried again", () =>
    Effect.gen(function* () {
      const file = join(yield* directory, "no-folder")
      writeFileSync(file, "")
      const error = yield* Effect.flip(Effect.provide(deliver(message()), intoFolder(file)))
      assert.isFalse(error.permanent)
    })
  )
})

const about = {
  baseUrl: "https://auspex.example",
  link: "https://auspex.example/claim/mail/aus_mc_A",
  notMine: "https://auspex.example/claim/mail/aus_mc_A/not-mine",
  expiresAt: DateTime.makeUnsafe("2026-03-04T12:00:00Z"),
  provisionalUntil: DateTime.makeUnsafe("2026-03-09T12:00:00Z")
}

describe("An agent's name in a mail", () => {
  it.each([
    ["https://evil.example/login", "https evil example login"],
    ["Ada\r\nBcc: eve@example.com", "Ada Bcc eve example com"],
    ["www.evil.example", "www evil example"],
    ["evil。example．com", "evil example com"],
    ["<b>Ada</b> & Söhne 算法", "b Ada b Söhne 算法"],
    ["Ada\u202egpj.exe", "Ada gpj exe"],
    ["  Ada   Lovelace ", "Ada Lovelace"],
    ["🤖", "without a name"],
    ["x".repeat(80), "x".repeat(60)]
  ])("An agent's name %j is shown in a mail as %j", (name, shown) => {
    assert.strictEqual(printableName(name), shown)
    const { subject, text } = english.claim({ ...about, agentName: name })
    assert.strictEqual(subject, `Claim your agent: ${shown}`)
    const links = text.match(/https?:\/\/\S+/g) ?? []
    assert.deepStrictEqual(links, [about.baseUrl, about.link, about.notMine])
  })
})

describe("A mail of the site cn", () => {
  const name = "Ada\r\nhttps://evil.example"
  const { baseUrl, expiresAt, link, provisionalUntil } = about
  const of = (texts: MailTexts) => ({
    signIn: texts.signIn({ baseUrl, link, expiresAt }),
    claim: texts.claim({ ...about, agentName: name }),
    reminder: texts.reminder({ ...about, agentName: name, daysLeft: 1 }),
    paused: texts.paused({ ...about, agentName: name }),
    spent: texts.creditAlert({
      baseUrl,
      agentName: name,
      keyName: name,
      period: "day",
      amount: "20",
      isSpent: true
    }),
    warned: texts.creditAlert({
      baseUrl,
      agentName: name,
      keyName: name,
      period: "total",
      amount: "20",
      isSpent: false
    }),
    webhook: texts.webhookDisabled({ baseUrl, host: "hooks.example", reason: "410" }),
    suspended: texts.suspended({ baseUrl, agentName: name, reason: null }),
    digest: texts.digest({
      baseUrl,
      from: expiresAt,
      until: provisionalUntil,
      agents: [{ name, scored: 3, mean: 61.25, all_scored: 9, all_mean: 50 }]
    })
  })
  const [ours, theirs] = [of(textsOf("cn")), of(textsOf("global"))]

  it.each(Object.keys(ours) as ReadonlyArray<keyof typeof ours>)(
    "A Chinese mail says what the English one says: %s, with the same links, times and numbers",
    (kind) => {
      const [chinese, english] = [ours[kind], theirs[kind]]
      assert.match(chinese.subject, /\p{Script=Han}/u)
      const links = (text: string) => text.match(/https?:\/\/\S+/g) ?? []
      assert.deepStrictEqual(links(chinese.text), links(english.text))
      const times = (text: string) => text.replaceAll("\n", " ").match(/\d{4}-\d\d-\d\d( \d\d:\d\d)?/g) ?? []
      assert.deepStrictEqual(times(chinese.text), times(english.text))
      // No sentence is left in English.
      assert.notMatch(
        chinese.text.replaceAll(/https?:\/\/\S+/g, "").replaceAll(printableName(name), ""),
        /[a-z]{3,} [a-z]{2,} [a-z]{2,}/
      )
      assert.notInclude(chinese.subject, "\n")
    }
  )

  it("A mail of the site cn leads to pages of the account that there are", () => {
    const pages: ReadonlyArray<string> = Object.values(pagePaths)
    const links = Object.values(ours).flatMap(({ text }) => text.match(/https?:\/\/\S+\/account\S*/g) ?? [])
    assert.lengthOf(links, 5)
    for (const each of links) assert.include(pages, each.slice(baseUrl.length))
  })

  it("A mail of the site cn says how to end such mails", () => {
    assert.match(textsOf("cn").unsubscribe(link), /停止此类邮件：\n/)
  })
})

describe("The text of a mail", () => {
  it("The text of a mail is in lines of 72 characters at most, links in one piece", () => {
    const long = `https://auspex.example/${"a".repeat(100)}`
    const { text } = english.claim({ ...about, link: long, agentName: "word ".repeat(12) })
    assert.include(text, `\n${long}\n`)
    for (const line of text.split("\n")) {
      assert.isTrue(line.length <= 72 || line === long, line)
      assert.strictEqual(line, line.trim())
    }
  })
})

describe("A sign-in mail", () => {
  it("A sign-in mail has one link besides the service's own address, and says until when it works", () => {
    const link = "https://auspex.example/sign-in/aus_si_A"
    const { text } = english.signIn({ baseUrl: about.baseUrl, link, expiresAt: about.expiresAt })
    assert.deepStrictEqual(text.match(/https?:\/\/\S+/g), [about.baseUrl, link])
    assert.include(text.replaceAll("\n", " "), "2026-03-04 12:00 UTC")
  })
})
