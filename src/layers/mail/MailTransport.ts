/** Sends one mail by SMTP, or writes it as a file. */
import { DateTime, Effect, FileSystem, Layer, Path, Predicate, Redacted } from "effect"
import { createTransport } from "nodemailer"
import type { SendMailOptions } from "nodemailer"
import { DeliveryFailed, MailTransport, maxSends } from "../../services/Mailer.ts"
import type { Message, Sender } from "../../services/Mailer.ts"
import { rootCause } from "../../services/domain/errors.ts"

/**
 * Composes the message for nodemailer. Addresses are objects and the envelope is explicit, since a comma in a text makes two recipients.
 */
const composed = (message: Message, sender: Sender): SendMailOptions => ({
  from: { ...sender },
  to: { name: "", address: message.to },
  envelope: { from: sender.address, to: [message.to] },
  messageId: `<${message.id}@${sender.address.replace(/^.*@/, "")}>`,
  date: DateTime.toDateUtc(message.createdAt),
  subject: message.subject,
  text: message.text,
  headers: {
    "Auto-Submitted": "auto-generated",
    ...(message.unsubscribeUrl !== null && {
      "List-Unsubscribe": `<${message.unsubscribeUrl}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"
    })
  },
  xMailer: false,
  disableFileAccess: true,
  disableUrlAccess: true
})

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The limits, in milliseconds, keep a silent server from delaying other mails. */
const timeouts = {
  dnsTimeout: 5000,
  connectionTimeout: 5000,
  greetingTimeout: 5000,
  socketTimeout: 10_000
}

/** Commands that are rejected because of this mail. An earlier rejection concerns our login, which the operator can correct. */
const aboutTheMail: ReadonlySet<unknown> = new Set(["RCPT TO", "DATA"])

/** RFC 5321 4.2.1: replies from 500 on are final. */
const isPermanent = (error: unknown): boolean =>
  Predicate.hasProperty(error, "responseCode") &&
  Number(error.responseCode) >= 500 &&
  Predicate.hasProperty(error, "command") &&
  aboutTheMail.has(error.command)

/** Sends mail by SMTP, with nodemailer. */
export const smtp = (options: { readonly url: Redacted.Redacted; readonly sender: Sender }) =>
  Layer.effect(
    MailTransport,
    Effect.gen(function* () {
      const common = {
        url: Redacted.value(options.url),
        disableFileAccess: true,
        disableUrlAccess: true,
        ...timeouts
      }
      const pooled = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createTransport({ ...common, pool: true, maxConnections: maxSends.normal + maxSends.bulk })
        ),
        (open) => Effect.sync(() => open.close())
      )
      // Each urgent mail has its own connection, so that it waits for no silent one.
      const apart = createTransport({ ...common, pool: false })
      return MailTransport.of({
        deliver: Effect.fn("MailTransport.deliver")(function* (message) {
          yield* Effect.tryPromise({
            try: () =>
              (message.urgency === "urgent" ? apart : pooled).sendMail(composed(message, options.sender)),
            catch: (error) => new DeliveryFailed({ reason: reasonOf(error), permanent: isPermanent(error) })
          })
        })
      })
    })
  )

const notWritten = (error: unknown) =>
  new DeliveryFailed({ reason: rootCause(error).message, permanent: false })

/** The text stays unencoded: people open these files in an editor, where no line break may split a link. */
const readable = (composed: string, text: string): string => {
  const headers = composed.slice(0, composed.indexOf("\n\n"))
  return `${headers.replace(/^Content-Transfer-Encoding:.*$/m, "Content-Transfer-Encoding: 8bit")}\n\n${text}`
}

/** Writes mails as files, for an operator on one machine without a mail server: `<id>.eml`, which mail programs open. */
export const files = (options: { readonly directory: string; readonly sender: Sender }) =>
  Layer.effect(
    MailTransport,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const writer = createTransport({ streamTransport: true, buffer: true, newline: "unix" })
      return MailTransport.of({
        deliver: Effect.fn("MailTransport.deliver")(function* (message) {
          const { message: bytes } = yield* Effect.tryPromise({
            try: () => writer.sendMail(composed(message, options.sender)),
            catch: notWritten
          })
          if (!Buffer.isBuffer(bytes)) return yield* notWritten("the mail was not written into memory")
          const file = path.join(options.directory, `${message.id}.eml`)
          // The mail's links are secrets. It is written under another name first, so that a reader of the folder sees only complete
          // mails.
          yield* Effect.gen(function* () {
            yield* fs.makeDirectory(options.directory, { recursive: true, mode: 0o700 })
            yield* fs.writeFileString(`${file}.part`, readable(bytes.toString(), message.text), {
              mode: 0o600
            })
            yield* fs.rename(`${file}.part`, file)
          }).pipe(
            Effect.onError(() => Effect.ignore(fs.remove(`${file}.part`, { force: true }))),
            Effect.mapError(notWritten)
          )
          yield* Effect.logInfo("a mail was written").pipe(Effect.annotateLogs({ file }))
        })
      })
    })
  )
