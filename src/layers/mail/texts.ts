/** The texts of mails in English. They are plain text; an agent's sanitised name is the only part that an agent determines. */
import { DateTime } from "effect"
import { limitNames } from "../../services/GatewayKeys.ts"
import type { LimitPeriod } from "../../services/GatewayKeys.ts"

const maxName = 60

/** An agent's name in unsolicited mails: letters, digits and spaces, so that it can never be a link, an address or a line of its own. */
export const printableName = (name: string): string => {
  const words = name
    .replaceAll(/[^\p{L}\p{M}\p{N}' _-]+/gu, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
  return Array.from(words).slice(0, maxName).join("").trim() || "without a name"
}

/** The time to the minute, in UTC. */
export const moment = (instant: DateTime.Utc): string =>
  `${DateTime.formatIso(instant).slice(0, 16).replace("T", " ")} UTC`

export interface Text {
  readonly subject: string
  readonly text: string
}

const width = 72

/** Wraps lines without splitting a link. */
const wrapped = (paragraph: string): string =>
  paragraph.replaceAll(new RegExp(`(?=.{${width + 1}})(.{1,${width}}) `, "g"), "$1\n")

export const paragraphs = (...parts: ReadonlyArray<string>): string => `${parts.map(wrapped).join("\n\n")}\n`

export interface SignInMail {
  readonly baseUrl: string
  readonly link: string
  readonly expiresAt: DateTime.Utc
}

const signIn = (mail: SignInMail): Text => ({
  subject: "Sign in to Auspex",
  text: paragraphs(
    `You asked to sign in to Auspex at\n${mail.baseUrl}`,
    `Open this page and press its button. It works once, until ${moment(mail.expiresAt)}:`,
    mail.link,
    "If it was not you, ignore this mail: nobody is signed in without that button."
  )
})

export interface AboutAgent {
  readonly baseUrl: string
  readonly agentName: string
  /** Opens the page that claims the agent. */
  readonly link: string
  readonly expiresAt: DateTime.Utc
  readonly provisionalUntil: DateTime.Utc
  /** The link that stops such mails. */
  readonly notMine: string
}

const howToClaim = (mail: AboutAgent): string =>
  paragraphs(
    `If the agent is yours, claim it: the page below shows it, and one button there signs you in and makes you its owner. The link works once, until ${moment(mail.expiresAt)}:`,
    mail.link,
    "If it is not yours, do not press that button. This page ends every mail that agents cause to this address:",
    mail.notMine
  )

const named = (mail: AboutAgent): string => `"${printableName(mail.agentName)}"`

const claim = (mail: AboutAgent): Text => ({
  subject: `Claim your agent: ${printableName(mail.agentName)}`,
  text: paragraphs(
    `An agent that calls itself ${named(mail)} has registered with Auspex, an evaluation platform for AI agents, and named you as its operator:\n${mail.baseUrl}`,
    `Its operator is responsible for it. Until it is claimed it is provisional: it may predict a few challenges only, has no official rank, and is issued no access tokens from ${moment(mail.provisionalUntil)} on.`,
    howToClaim(mail).trimEnd()
  )
})

/** The mail about an owner's key; a key's name is as little trusted as an agent's. */
export interface CreditAlertMail {
  readonly baseUrl: string
  readonly agentName: string
  readonly keyName: string
  readonly period: LimitPeriod
  /** The amount in credits, as text. */
  readonly amount: string
  readonly isSpent: boolean
}

const creditAlert = (mail: CreditAlertMail): Text => {
  const key = printableName(mail.keyName)
  const limit = `${limitNames[mail.period]} of ${mail.amount} credits`
  const then = mail.period === "total" ? "until the limit is raised" : "until its next period begins"
  return {
    subject: mail.isSpent
      ? `Spent: the limit of your key ${key}`
      : `80 % spent of the limit of your key ${key}`,
    text: paragraphs(
      mail.isSpent
        ? `The gateway key "${key}" of your agent "${printableName(mail.agentName)}" has spent its ${limit}, or what is left of it does not cover a call that was made. Such calls are refused ${then}.`
        : `The gateway key "${key}" of your agent "${printableName(mail.agentName)}" has spent 80 % of its ${limit}. Once it is spent, calls are refused ${then}.`,
      `What your keys were used for, and what is left of their limits:\n${mail.baseUrl}/account/api-keys`
    )
  }
}

/** `daysLeft` counts the days before the provisional period ends. */
export type ReminderMail = AboutAgent & { readonly daysLeft: 1 | 2 }

const reminder = (mail: ReminderMail): Text => ({
  subject: `${mail.daysLeft === 1 ? "One day" : "Two days"} left to claim your agent: ${printableName(mail.agentName)}`,
  text: paragraphs(
    `The agent ${named(mail)} at Auspex named you as its operator and is not claimed yet:\n${mail.baseUrl}`,
    `From ${moment(mail.provisionalUntil)} on it is issued no access tokens until it is claimed. Its track record is kept.`,
    howToClaim(mail).trimEnd()
  )
})

const paused = (mail: AboutAgent): Text => ({
  subject: `Paused until you claim it: ${printableName(mail.agentName)}`,
  text: paragraphs(
    `The agent ${named(mail)} at Auspex named you as its operator and was not claimed in time:\n${mail.baseUrl}`,
    `Since ${moment(mail.provisionalUntil)} it is issued no access tokens. Its track record is kept, and counts in full as soon as it is claimed.`,
    howToClaim(mail).trimEnd()
  )
})

/** The mail about an owner's webhook, or one of an agent of the owner. */
export interface WebhookDisabledMail {
  readonly baseUrl: string
  readonly host: string
  readonly reason: string
}

const webhookDisabled = (mail: WebhookDisabledMail): Text => ({
  subject: `Your webhook at ${mail.host} was disabled`,
  text: paragraphs(
    `Auspex posts notices to a webhook of yours or your agent's at ${mail.host}. It is disabled: ${mail.reason}. Nothing is sent to it any more.`,
    `Once it works again, enable it there, or have your agent do so. What was not delivered can be sent once more for seven days:
${mail.baseUrl}/account/notices`
  )
})

/** A mail that the owner chose says how to stop such mails. */
export const withUnsubscribe = ({ subject, text }: Text, how: string): Text => ({
  subject,
  text: `${text}\n${paragraphs(how)}`
})

const unsubscribe = (link: string): string => `This page ends mails of this kind:\n${link}`

export interface SuspendedMail {
  readonly baseUrl: string
  readonly agentName: string
  readonly reason: string | null
}

const suspended = (mail: SuspendedMail): Text => ({
  subject: `Suspended: ${printableName(mail.agentName)}`,
  text: paragraphs(
    `The administrators of ${mail.baseUrl} have suspended your agent "${printableName(mail.agentName)}". It gets no tokens; its record is kept.`,
    ...(mail.reason === null ? [] : [`They say why: ${mail.reason}`]),
    `Your agents:\n${mail.baseUrl}/account`
  )
})

export const score = (value: number): string => value.toFixed(1)

export const day = (instant: DateTime.Utc): string => DateTime.formatIso(instant).slice(0, 10)

/** The predictions scored in a week. */
export interface DigestMail {
  readonly baseUrl: string
  readonly from: DateTime.Utc
  readonly until: DateTime.Utc
  readonly agents: ReadonlyArray<{
    readonly name: string
    readonly scored: number
    readonly mean: number
    readonly all_scored: number
    readonly all_mean: number
  }>
}

const digest = (mail: DigestMail): Text => {
  const last = DateTime.subtract(mail.until, { days: 1 })
  const total = mail.agents.reduce((sum, { scored }) => sum + scored, 0)
  return {
    subject: `${total} of your agents' predictions were scored`,
    text: paragraphs(
      `From ${day(mail.from)} to ${day(last)}, in UTC. A score is 0 to 100.`,
      ...mail.agents.map(
        (agent) =>
          `"${printableName(agent.name)}": ${agent.scored} scored, on average ${score(agent.mean)}; of all time ${agent.all_scored}, on average ${score(agent.all_mean)}.`
      ),
      `Your agents:\n${mail.baseUrl}/account`
    )
  }
}

/** All mails in one language. */
export interface MailTexts {
  readonly signIn: (mail: SignInMail) => Text
  readonly claim: (mail: AboutAgent) => Text
  readonly reminder: (mail: ReminderMail) => Text
  readonly paused: (mail: AboutAgent) => Text
  readonly creditAlert: (mail: CreditAlertMail) => Text
  readonly webhookDisabled: (mail: WebhookDisabledMail) => Text
  readonly suspended: (mail: SuspendedMail) => Text
  readonly digest: (mail: DigestMail) => Text
  /** The text that says how to stop mails of a kind that the owner chose. */
  readonly unsubscribe: (link: string) => string
}

export const english: MailTexts = {
  signIn,
  claim,
  reminder,
  paused,
  creditAlert,
  webhookDisabled,
  suspended,
  digest,
  unsubscribe
}
