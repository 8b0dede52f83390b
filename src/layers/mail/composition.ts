/** How a message is written down, whichever way it then goes. */
import { DateTime } from "effect"
import type { SendMailOptions } from "nodemailer"
import type { Message, Sender } from "../../services/MailTransport.ts"

/** Addresses are objects and the envelope is said: in a text, a comma would make two recipients of one. */
export const composed = (message: Message, sender: Sender): SendMailOptions => ({
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
