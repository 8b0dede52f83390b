/** The settings of claims, operators and mail; part of the table in `src/config.ts`. */
import { Option, Redacted } from "effect"
import { emailAddressOf } from "./services/emails.ts"
import type { Sender } from "./services/MailTransport.ts"
import { duration, integer, limit, plain } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

const senderShape = /^(?:(?<name>[\p{L}\p{N} ._-]{1,80}) )?<(?<boxed>[^<>]+)>$|^(?<bare>[^<>]+)$/u

const parseSender = (text: string): Option.Option<Sender> => {
  const { name, boxed, bare } = senderShape.exec(text)?.groups ?? {}
  return Option.map(emailAddressOf(boxed ?? bare ?? ""), (address) => ({
    name: name?.trim() ?? "Auspex",
    address
  }))
}

const smtpUrl: Setting<Redacted.Redacted> = {
  name: "AUSPEX_SMTP_URL",
  defaultText: null,
  takes: "smtp://user:password@host:port, or smtps:// for TLS from the first byte",
  meaning: "The mail server; without it each mail is a file in `AUSPEX_DATA_DIR/outbox`.",
  secret: true,
  parse: (text) =>
    /^smtps?:\/\/[^/?#]+\/?$/.test(text) && URL.canParse(text)
      ? Option.some(Redacted.make(text))
      : Option.none()
}

export const identitySettings = {
  pairingCodeTries: integer(
    "AUSPEX_PAIRING_CODE_TRIES",
    "5",
    "Wrong pairing codes that lock a claim link until it is renewed.",
    [1, 100]
  ),
  agentsPerOperator: integer("AUSPEX_AGENTS_PER_OPERATOR", "50", "Agents one operator may own.", [1, 1000]),
  signInLinkTtl: duration(
    "AUSPEX_SIGN_IN_LINK_TTL",
    "10 minutes",
    "How long the link of a sign-in mail works."
  ),
  sessionIdle: duration("AUSPEX_SESSION_IDLE", "12 hours", "How long an operator's unused session lasts."),
  sessionTtl: duration("AUSPEX_SESSION_TTL", "7 days", "How long an operator's session lasts at most."),
  smtpUrl,
  mailFrom: plain({
    name: "AUSPEX_MAIL_FROM",
    defaultText: null,
    takes: "an e-mail address, or Name <address> (default: Auspex <auspex@the host of AUSPEX_BASE_URL>)",
    meaning: "Whom mails come from.",
    parse: parseSender
  }),
  limitClaimRefresh: limit("AUSPEX_LIMIT_CLAIM_REFRESH", "5/hour,20/day", "Renewed claim links, per agent."),
  limitClaimMails: limit("AUSPEX_LIMIT_CLAIM_MAILS", "3/day", "Claim mails that agents cause, per mailbox."),
  limitReminderMails: limit(
    "AUSPEX_LIMIT_REMINDER_MAILS",
    "20/day",
    "Reminders about the end of grace windows, per mailbox."
  ),
  limitSignInMails: limit("AUSPEX_LIMIT_SIGN_IN_MAILS", "5/hour", "Sign-in mails, per mailbox."),
  limitSignIns: limit("AUSPEX_LIMIT_SIGN_INS", "20/hour", "Sign-in mails asked for, per address.")
} satisfies Record<string, Setting<unknown>>
