/** A real mail server on loopback, which stores its mails. */
import { Effect } from "effect"
import PostalMime from "postal-mime"
import { SMTPServer } from "smtp-server"
import type { SMTPServerOptions } from "smtp-server"

interface Received {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly raw: string
}

/** A mail as a mail program shows it. */
export const read = (raw: string) => Effect.promise(() => PostalMime.parse(raw))

/** A mail server on a free loopback port; without `options` it accepts everything. */
export const smtpServer = Effect.fnUntraced(function* (options: SMTPServerOptions = {}) {
  const received: Array<Received> = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onData: (stream, session, callback) => {
      const chunks: Array<Buffer> = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map((recipient) => recipient.address),
          raw: Buffer.concat(chunks).toString()
        })
        callback()
      })
    },
    ...options
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const bound = server.server.address()
        resume(Effect.succeed(typeof bound === "object" && bound !== null ? bound.port : 0))
      })
    }),
    () => Effect.callback<void>((resume) => server.close(() => resume(Effect.void)))
  )
  return { received, port }
})
