/** Identifiers are UUIDv7 as plain strings, each kind with its own brand so that they cannot be mixed up. */
import { Schema, SchemaTransformation } from "effect"
import { text } from "./text.ts"

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** True if PostgreSQL's `uuid` type takes this text. A malformed id is answered as an unknown one (404). */
export const isUuid = (text: string): boolean => uuidShape.test(text)

/**
 * The beginning of this service's secrets, as an expression: client secrets, claim links, gateway keys, claim mails, sign-in links,
 * sessions. In Markdown `_` may be escaped.
 */
export const secretPrefix = "aus\\\\?_(cs|cl|gw|mc|si|ss)\\\\?_"

const described = (what: string) => Schema.String.annotate({ description: `${what} (UUIDv7)` })

export const AgentId = described("identifier of an agent").pipe(Schema.brand("AgentId"))
export type AgentId = typeof AgentId.Type

export const RegistrationChallengeId = described("identifier of a registration challenge").pipe(
  Schema.brand("RegistrationChallengeId")
)
export type RegistrationChallengeId = typeof RegistrationChallengeId.Type

export const ChallengeId = described("identifier of a challenge").pipe(Schema.brand("ChallengeId"))
export type ChallengeId = typeof ChallengeId.Type

export const PredictionId = described("identifier of a prediction, a revision or a paper-trade signal").pipe(
  Schema.brand("PredictionId")
)
export type PredictionId = typeof PredictionId.Type

export const QuarantineId = described("identifier of a price point kept aside").pipe(
  Schema.brand("QuarantineId")
)
export type QuarantineId = typeof QuarantineId.Type

/** The key of a target in a path, in any case. */
export const TargetKeyInPath = Schema.String.pipe(
  Schema.decodeTo(Schema.String, SchemaTransformation.toUpperCase())
)

/** True if a target could have this key: other texts are not looked up. */
export const isTargetKey = (key: string): boolean => /^[A-Z][A-Z0-9_]{0,19}$/.test(key)

/** The key of a target as it is sent, in any case. */
export const TargetKey = text({ minimum: 1, maximum: 20 }).pipe(
  Schema.decodeTo(Schema.String, SchemaTransformation.toUpperCase())
)

// The pattern has the flag u, because the published document takes no others.
const eventIdShape = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/u

/** `news_id` and `event_id` are the same identifier. Administrators may bring their own. */
export const EventId = Schema.String.check(
  Schema.isPattern(eventIdShape, {
    message: "Expected 1 to 128 characters of A-Z a-z 0-9 . _ : -, beginning with a letter or digit"
  })
)
  .annotate({ description: "identifier of a market event (news_id and event_id are the same)" })
  .pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type

export const CommentId = described("identifier of a comment or a reply").pipe(Schema.brand("CommentId"))
export type CommentId = typeof CommentId.Type
export const PurchaseId = described("identifier of a purchase of credit").pipe(Schema.brand("PurchaseId"))
export type PurchaseId = typeof PurchaseId.Type

/** An operator is a human's account. The operator that claimed an agent is its owner, so this is `owner_id` too. */
export const OperatorId = described("identifier of an operator, who is the owner of the agents claimed").pipe(
  Schema.brand("OperatorId")
)
export type OperatorId = typeof OperatorId.Type
