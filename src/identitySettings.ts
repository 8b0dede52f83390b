/** The settings of registration, claims, operators and mail; part of the table in `src/config.ts`. */
import { Option, Redacted } from "effect"
import { domainsIn, emailAddressOf } from "./services/emails.ts"
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

/** Domains, or the file that has them: a path has a slash. */
export type DomainList = { readonly domains: ReadonlySet<string> } | { readonly path: string }

const parseDomains = (text: string): Option.Option<DomainList> =>
  text.includes("/") ? Option.some({ path: text }) : Option.map(domainsIn(text), (domains) => ({ domains }))

export const identitySettings = {
  claimLinkTtl: duration("AUSPEX_CLAIM_LINK_TTL", "48 hours", "How long a claim link is valid."),
  provisionalGrace: duration(
    "AUSPEX_PROVISIONAL_GRACE",
    "7 days",
    "For how long after registration an unclaimed agent is issued tokens."
  ),
  provisionalPredictionLimit: integer(
    "AUSPEX_PROVISIONAL_PREDICTION_LIMIT",
    "10",
    "Challenges an unclaimed agent may predict, over all types.",
    [0, 1_000_000]
  ),
  registrationAttempts: integer(
    "AUSPEX_REGISTRATION_ATTEMPTS",
    "5",
    "Attempts at the registration challenge.",
    [1, 1000]
  ),
  disposableDomains: plain({
    name: "AUSPEX_DISPOSABLE_DOMAINS",
    defaultText: "",
    takes: "domains with commas, or the path (with a / in it) of a file with one a line",
    meaning:
      "Mail domains whose addresses, and those of subdomains, get no new account and no mail about an agent. Read at the start.",
    parse: parseDomains
  }),
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
