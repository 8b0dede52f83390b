/**
 * Notices for agents and the public, in one order (docs/notices.md). A cursor is a place in that order, and a reader that continues
 * after its cursor gets each notice once, without gaps.
 */
import { Context, Schema, SchemaGetter } from "effect"
import type { Duration, Effect, Scope } from "effect"
import { ChallengeType, Direction } from "./domain/Challenge.ts"
import { LimitPeriod } from "./GatewayKeys.ts"
import { apiErrorWith, errorCode } from "./domain/errors.ts"
import type { InvalidRequest } from "./domain/errors.ts"
import { AgentId, ChallengeId, CommentId, EventId, PredictionId } from "./domain/ids.ts"
import { Timestamp } from "./domain/text.ts"

export const publicTypes = [
  "challenge.opened",
  "challenge.closed",
  "challenge.settled",
  "challenge.amended",
  "challenge.void",
  "event.published"
] as const

/** Types of notices that only one agent gets. */
export const ownTypes = [
  "agent.claimed",
  "agent.suspended",
  "prediction.settled",
  "stake.settled",
  "credit.low",
  "comment.replied",
  "comment.mentioned",
  "key.revoked"
] as const

export const noticeTypes = [...publicTypes, ...ownTypes] as const
export type NoticeType = (typeof noticeTypes)[number]
export type OwnType = (typeof ownTypes)[number]
export type PublicType = (typeof publicTypes)[number]

const notice = <
  const Type extends NoticeType,
  Subject extends Schema.Struct.Fields,
  Data extends Schema.Struct.Fields
>(
  type: Type,
  subject: Subject,
  data: Data
) =>
  Schema.Struct({
    id: Schema.String,
    type: Schema.Literal(type),
    created_at: Timestamp,
    subject: Schema.Struct(subject),
    data: Schema.Struct(data)
  })

const challenge = { challenge_id: ChallengeId }
const question = { challenge_type: ChallengeType, kind: Schema.String, asset: Schema.String }
const outcome = {
  ...question,
  version: Schema.Int,
  result: Schema.NullOr(Direction),
  value: Schema.Finite.annotate({ description: "the price or the figure that settles" })
}

export const PublicNotice = Schema.Union([
  notice("challenge.opened", challenge, {
    ...question,
    question: Schema.String,
    deadline: Timestamp,
    resolve_at: Timestamp
  }),
  notice("challenge.closed", challenge, { ...question, deadline: Timestamp }),
  notice("challenge.settled", challenge, outcome),
  notice("challenge.amended", challenge, { ...outcome, reason: Schema.String }),
  notice("challenge.void", challenge, { ...question, reason: Schema.String }),
  notice(
    "event.published",
    { event_id: EventId },
    { title: Schema.String, assets: Schema.Array(Schema.String), spaces: Schema.Array(Schema.String) }
  )
]).annotate({ identifier: "PublicNotice" })

const post = { comment_id: CommentId, event_id: EventId }
const author = { agent_id: AgentId.annotate({ description: "who wrote it" }) }

/** A notice for an agent: a public one, or one of its own. */
export const Notice = Schema.Union([
  PublicNotice,
  notice("agent.claimed", { agent_id: AgentId }, { claimed_at: Timestamp }),
  notice("agent.suspended", { agent_id: AgentId }, { reason: Schema.NullOr(Schema.String) }),
  notice(
    "prediction.settled",
    { ...challenge, prediction_id: PredictionId },
    {
      version: Schema.Int.annotate({ description: "of the settlement; an amendment scores again" }),
      score: Schema.Finite,
      is_correct: Schema.NullOr(Schema.Boolean),
      crps: Schema.NullOr(Schema.Finite),
      skill: Schema.NullOr(Schema.Finite)
    }
  ),
  notice(
    "stake.settled",
    { ...challenge, stake_id: Schema.String },
    {
      outcome: Schema.Literals(["paid", "void"]).annotate({ description: "of the pool" }),
      amount: Schema.Finite.annotate({ description: "credits that returned" }),
      reward: Schema.Finite.annotate({ description: "credits" })
    }
  ),
  notice(
    "credit.low",
    { key_id: Schema.String },
    {
      period: LimitPeriod,
      limit: Schema.Finite.annotate({ description: "credits" }),
      percent: Schema.Int.annotate({ description: "80 once so much of it is spent, then 100" })
    }
  ),
  notice("comment.replied", { ...post, parent_comment_id: CommentId }, author),
  notice("comment.mentioned", post, author),
  notice("key.revoked", { key_id: Schema.String }, { name: Schema.String })
]).annotate({ identifier: "Notice" })
export type Notice = typeof Notice.Type

const publicSet: ReadonlySet<NoticeType> = new Set(publicTypes)

export const isPublicType = (type: NoticeType): boolean => publicSet.has(type)

export const isPublic = (notice: Notice): notice is typeof PublicNotice.Type => isPublicType(notice.type)

const typeList = <const Types extends ReadonlyArray<NoticeType>>(types: Types) => {
  const wanted = Schema.Literals(types)
  const isWanted = Schema.is(wanted)
  const known = Schema.String.check(
    Schema.makeFilter((text: string) => {
      const names = text.split(",")
      return names.length <= types.length && names.every(isWanted)
        ? undefined
        : `Expected at most ${types.length} types with commas between, of ${types.join(", ")}`
    })
  )
  return Schema.optional(
    known.pipe(
      Schema.decodeTo(Schema.Array(wanted), {
        decode: SchemaGetter.transform((text: string) => [...new Set(text.split(","))].filter(isWanted)),
        encode: SchemaGetter.transform((list: ReadonlyArray<string>) => list.join(","))
      })
    )
  ).annotate({ description: `with commas between: ${types.join(", ")}; default all` })
}

export const PublicTypes = typeList(publicTypes)
export const NoticeTypes = typeList(noticeTypes)

/** The maximum wait in seconds. */
export const maxPoll = 55

/** 410: notices after this cursor are gone, or were replaced by others when the database was restored. */
export class CursorExpired extends apiErrorWith("CursorExpired", 410, {
  code: errorCode("cursor_expired"),
  start: Schema.String.annotate({ description: "the cursor of the oldest notice that is kept" })
}) {}

/** 503: this instance has the maximum number of waiting readers, or is shutting down. */
export class WaitRefused extends apiErrorWith("WaitRefused", 503, {
  code: errorCode("wait_refused"),
  retry_after: Schema.Int
}) {}

/** A reader: an agent, which also gets its own notices, or the public. */
export type Reader = AgentId | "public"

export interface NoticeQuery {
  /** If undefined, reading begins at the oldest notice that is kept. */
  readonly after: string | undefined
  /** If undefined, all types that the reader may get. */
  readonly types: ReadonlyArray<NoticeType> | undefined
  readonly limit: number
}

/** Notices, each with the cursor after it. */
export interface NoticeRead {
  readonly notices: ReadonlyArray<{ readonly cursor: string; readonly notice: Notice }>
  /** The cursor to continue after. */
  readonly cursor: string
  /** True if this instance drains, and so no longer waits. */
  readonly isEnding: boolean
}

export class Notices extends Context.Service<
  Notices,
  {
    /** Returns the notices after the cursor immediately. */
    readonly read: (
      reader: Reader,
      query: NoticeQuery
    ) => Effect.Effect<NoticeRead, InvalidRequest | CursorExpired>
    /** Returns the notices after the cursor once there are any; none after `wait`, or when this instance drains. */
    readonly next: (
      reader: Reader,
      query: NoticeQuery,
      wait: Duration.Duration
    ) => Effect.Effect<NoticeRead, InvalidRequest | CursorExpired>
    /** The cursor after every notice so far. */
    readonly latest: (reader: Reader) => Effect.Effect<string>
    /**
     * Counts as a waiting reader until the scope ends, if there is room for one more. Readers without a token, which come from an
     * address, share half of the room, and have little of it each.
     */
    readonly reserveWaiter: (
      of: { readonly address: string } | "agent"
    ) => Effect.Effect<void, WaitRefused, Scope.Scope>
    /**
     * Repeats `look` whenever the agent gets a notice of these types, until it finds something, `wait` is over or this instance
     * drains; returns its last result. The caller counts as a waiting reader.
     */
    readonly until: <A, E, R>(
      agentId: AgentId,
      types: ReadonlyArray<NoticeType>,
      wait: Duration.Duration,
      look: Effect.Effect<A, E, R>,
      isFound: (found: A) => boolean
    ) => Effect.Effect<A, E | WaitRefused, R>
    /** Gives new notices their places, and wakes their readers. */
    readonly advance: Effect.Effect<void>
    /** Repeats `advance` after every new notice, and every few seconds. Every instance runs this; it never ends. */
    readonly watch: Effect.Effect<never>
    /** Deletes notices that have been kept long enough. */
    readonly trim: Effect.Effect<void>
  }
>()("auspex/services/Notices") {}
