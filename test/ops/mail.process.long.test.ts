/** Mail as operators get it, from Auspex as it runs: a file within a second, or one mail however many replicas send. */
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, FileSystem, Schema } from "effect"
import * as Database from "../../src/layers/postgres/Database.ts"
import { pass, register } from "../support/agents.ts"
import { freshDatabase, rowsOf } from "../support/database.ts"
import {
  readyAuspex,
  replicaEnvironment,
  temporaryData,
  timed,
  to,
  until,
  whenStarted
} from "../support/process.ts"
import { smtpServer } from "../support/smtpServer.ts"

const passing = (contact: string) =>
  Effect.flatMap(register({ name: "Ada", operator_contact: contact }), pass)

describe("Mail of a running Auspex", () => {
  it.live("A mail is a file in the outbox within a second, and another comes at the end of the grace", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = yield* temporaryData
      const outbox = join(dataDir, "outbox")
      const url = yield* freshDatabase
      const auspex = yield* readyAuspex({
        environment: replicaEnvironment(url, {
          AUSPEX_DATA_DIR: dataDir,
          AUSPEX_PROVISIONAL_GRACE: "2 seconds",
          AUSPEX_JOB_INTERVAL: "200 millis"
        })
      })
      yield* whenStarted(auspex)
      assert.include(auspex.stdout(), outbox)
      yield* passing("ada@example.org").pipe(to(auspex))
      const files = Effect.orElseSucceed(fs.readDirectory(outbox), () => [])
      const [millis] = yield* timed(
        until(
          "a mail in the outbox",
          Effect.map(files, (names) => names.some((name) => name.endsWith(".eml")))
        )
      )
      yield* Console.log(`the mail was there after ${millis} ms`)
      assert.isBelow(millis, 1000)
      const [name = ""] = yield* files
      assert.match(name, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.eml$/)
      yield* until(
        "a log line that names the file",
        Effect.sync(() => auspex.stdout().includes(name))
      )
      assert.notMatch(auspex.stdout() + auspex.stderr(), /aus_(cl|mc)_/)
      assert.include(yield* fs.readFileString(join(outbox, name)), `${auspex.url}/claim/mail/aus_mc_`)

      const subjects = Effect.gen(function* () {
        const mails = (yield* files).filter((name) => name.endsWith(".eml")).sort()
        const texts = yield* Effect.forEach(mails, (name) => fs.readFileString(join(outbox, name)))
        return texts.map((text) => /^Subject: (.*)$/m.exec(text)?.[1])
      })
      yield* until(
        "two mails in the outbox",
        Effect.map(subjects, ({ length }) => length === 2)
      )
      assert.deepStrictEqual(yield* subjects, ["Claim your agent: Ada", "Paused until you claim it: Ada"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.live("Mail is sent once by the mail server, by whichever of two replicas comes first", () =>
    Effect.gen(function* () {
      const { port, received } = yield* smtpServer()
      const url = yield* freshDatabase
      const environment = replicaEnvironment(url, {
        AUSPEX_SMTP_URL: `smtp://127.0.0.1:${port}`,
        AUSPEX_MAIL_FROM: "post@auspex.example",
        AUSPEX_LIMIT_REGISTRATIONS: "1000/minute"
      })
      const replicas = yield* Effect.all([readyAuspex({ environment }), readyAuspex({ environment })], {
        concurrency: "unbounded"
      })
      const contacts = Array.from({ length: 40 }, (_, index) => `operator-${index}@example.org`)
      yield* Effect.forEach(
        contacts,
        (contact, index) => passing(contact).pipe(to(replicas[index % 2 === 0 ? 0 : 1])),
        { concurrency: 8, discard: true }
      )
      const stored = rowsOf(
        Schema.Struct({ attempts: Schema.Int }),
        (sql) => sql`select attempts from mails where sent_at is not null`
      ).pipe(Effect.provide(Database.client(url)))
      yield* until(
        "every mail is sent",
        Effect.map(stored, (mails) => mails.length === contacts.length)
      )
      assert.deepStrictEqual(new Set((yield* stored).map(({ attempts }) => attempts)), new Set([1]))
      assert.deepStrictEqual(received.map((mail) => mail.to.join()).sort(), [...contacts].sort())
      assert.strictEqual(received[0]?.from, "post@auspex.example")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
