/** How a message is written down, whichever way it then goes. */
import { DateTime } from "effect"
import type { SendMailOptions } from "nodemailer"
import type { Message } from "../../services/MailTransport.ts"

/** Whom mails come from. */
export interface Sender {
  readonly name: string
  readonly address: string
}

/** RFC 5322 2.1.1: no line is longer, whatever encoding is chosen. */
const longestLine = 998

/** As it stands where it may: a reader of the raw file, too, finds each link in one piece. */
const goesAsItIs = (text: string): boolean =>
  // oxlint-disable-next-line no-control-regex -- the range of ASCII is the purpose
  /^[\n\x20-\x7e]*$/.test(text) && text.split("\n").every((line) => line.length <= longestLine)

/** Addresses are objects and the envelope is said: in a text, a comma would make two recipients of one. */
export const composed = (message: Message, sender: Sender): SendMailOptions => ({
  from: { ...sender },
  to: { name: "", address: message.to },
  envelope: { from: sender.address, to: [message.to] },
  messageId: `<${message.id}@${sender.address.replace(/^.*@/, "")}>`,
  date: DateTime.toDateUtc(message.createdAt),
  subject: message.subject,
  text: message.text,
  ...(goesAsItIs(message.text) && { encoding: "7bit" }),
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
