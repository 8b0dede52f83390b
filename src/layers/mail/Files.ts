/** Mail as files, for whoever runs Auspex on one machine without a mail server: `<id>.eml`, which mail programs open. */
import { Effect, FileSystem, Layer, Path } from "effect"
import { createTransport } from "nodemailer"
import { DeliveryFailed, MailTransport } from "../../services/MailTransport.ts"
import type { Sender } from "../../services/MailTransport.ts"
import { composed } from "./composition.ts"

const failed = (error: unknown) =>
  new DeliveryFailed({ reason: error instanceof Error ? error.message : String(error), permanent: false })

/**
 * The text as it is instead of as it would travel: people open these files in an editor, where a link that is broken
 * into lines would be of no use.
 */
const readable = (composed: string, text: string): string => {
  const headers = composed.slice(0, composed.indexOf("\n\n"))
  return `${headers.replace(/^Content-Transfer-Encoding:.*$/m, "Content-Transfer-Encoding: 8bit")}\n\n${text}`
}

export const layer = (options: { readonly directory: string; readonly sender: Sender }) =>
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
            catch: failed
          })
          if (!Buffer.isBuffer(bytes)) return yield* failed("the mail was not written into memory")
          const file = path.join(options.directory, `${message.id}.eml`)
          // Links in it are secrets. Written aside, so that whoever watches the folder sees whole mails only.
          yield* Effect.gen(function* () {
            yield* fs.makeDirectory(options.directory, { recursive: true, mode: 0o700 })
            yield* fs.writeFileString(`${file}.part`, readable(bytes.toString(), message.text), {
              mode: 0o600
            })
            yield* fs.rename(`${file}.part`, file)
          }).pipe(Effect.mapError(failed))
          yield* Effect.logInfo("a mail was written").pipe(Effect.annotateLogs({ file }))
        })
      })
    })
  )
