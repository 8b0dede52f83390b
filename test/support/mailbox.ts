/** A test's mailbox: mails that were delivered, by a server that can be told to reject them. */
import { Context, Effect, Layer } from "effect"
import { MailTransport } from "../../src/services/Mailer.ts"
import type { DeliveryFailed, Message } from "../../src/services/Mailer.ts"

export class Mailbox extends Context.Service<
  Mailbox,
  {
    readonly delivered: ReadonlyArray<Message>
    /** Sets how deliveries are answered from now on. */
    readonly answer: (deliver: (message: Message) => Effect.Effect<void, DeliveryFailed>) => void
  }
>()("auspex/test/Mailbox") {}

export const mailbox = Layer.effectContext(
  Effect.sync(() => {
    const delivered: Array<Message> = []
    let answer: (message: Message) => Effect.Effect<void, DeliveryFailed> = () => Effect.void
    const deliver = (message: Message) =>
      Effect.suspend(() => answer(message)).pipe(
        Effect.tap(() => Effect.sync(() => void delivered.push(message)))
      )
    return Context.make(MailTransport, { deliver }).pipe(
      Context.add(Mailbox, {
        delivered,
        answer: (next) => {
          answer = next
        }
      })
    )
  })
)

/** The links in a mail's text, in order. */
export const linksIn = (message: Message | undefined): ReadonlyArray<string> =>
  message?.text.match(/https?:\/\/\S+/g) ?? []
