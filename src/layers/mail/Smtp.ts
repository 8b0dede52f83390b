/** Mail by SMTP, with nodemailer. */
import { Effect, Layer, Predicate, Redacted } from "effect"
import { createTransport } from "nodemailer"
import { DeliveryFailed, MailTransport } from "../../services/MailTransport.ts"
import type { Sender } from "../../services/MailTransport.ts"
import { composed } from "./composition.ts"

/** A server that does not answer must not hold up the mails behind it; in milliseconds. */
const patience = {
  dnsTimeout: 5000,
  connectionTimeout: 5000,
  greetingTimeout: 5000,
  socketTimeout: 10_000
}

/** Steps at which the server judges this mail; what it says before is about us, and ours to put right. */
const aboutTheMail: ReadonlySet<unknown> = new Set(["RCPT TO", "DATA"])

/** RFC 5321 4.2.1: replies from 500 on are final. */
const isPermanent = (error: unknown): boolean =>
  Predicate.hasProperty(error, "responseCode") &&
  Number(error.responseCode) >= 500 &&
  Predicate.hasProperty(error, "command") &&
  aboutTheMail.has(error.command)

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const layer = (options: { readonly url: Redacted.Redacted; readonly sender: Sender }) =>
  Layer.effect(
    MailTransport,
    Effect.gen(function* () {
      const transport = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createTransport({
            url: Redacted.value(options.url),
            pool: true,
            maxConnections: 2,
            disableFileAccess: true,
            disableUrlAccess: true,
            ...patience
          })
        ),
        (open) => Effect.sync(() => open.close())
      )
      return MailTransport.of({
        deliver: Effect.fn("MailTransport.deliver")(function* (message) {
          yield* Effect.tryPromise({
            try: () => transport.sendMail(composed(message, options.sender)),
            catch: (error) => new DeliveryFailed({ reason: reasonOf(error), permanent: isPermanent(error) })
          })
        })
      })
    })
  )
