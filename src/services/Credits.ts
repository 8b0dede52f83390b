/**
 * Credit that agents earn and spend, and that owners hold for them, in a double-entry ledger: a transfer between two accounts never
 * changes, no balance of an agent or an owner is negative, and all balances add up to zero. Amounts are whole micro-credits inside,
 * and JSON numbers of credits outside.
 */
import { Context, Schema, SchemaTransformation } from "effect"
import type { DateTime, Effect, Option } from "effect"
import { apiError, apiErrorWith, errorCode } from "./domain/errors.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import type { AgentId, OperatorId } from "./domain/ids.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { text, Timestamp } from "./domain/text.ts"

/** The number of micro-credits in a credit. */
const million = 1_000_000

/** A whole number of credits in micro-credits. */
export const wholeCredits = (credits: number): bigint => BigInt(credits) * BigInt(million)

/** Micro-credits as a text in credits, without trailing zeros. */
export const creditsOf = (micro: bigint): string => String(Number(micro) / million)

/** An amount of credits, of at most 6 decimals, in micro-credits. */
export const microCredits = (credits: number): bigint => BigInt(Math.round(credits * million))

/** The conversion is exact both ways for 15 digits, which a double keeps of any decimal: up to 10^9 credits. */
const inMicro = SchemaTransformation.transform<bigint, number>({
  decode: microCredits,
  encode: (micro) => Number(micro) / million
})

/** An amount in an answer. */
export const Credit = Schema.Finite.annotate({ description: "credits, with at most 6 decimals" }).pipe(
  Schema.decodeTo(Schema.BigInt, inMicro)
)

const maxAmount = 10_000_000

const sixDecimals = Schema.makeFilter<number>(
  (credits) =>
    Math.round(credits * million) / million === credits || "Expected a number with at most 6 decimals",
  { toJsonSchema: () => ({ multipleOf: 1 / million }) }
)

/** An amount that a request moves: positive, in whole micro-credits. */
export const CreditAmount = Schema.Finite.check(
  Schema.isGreaterThanOrEqualTo(1 / million),
  Schema.isLessThanOrEqualTo(maxAmount),
  sixDecimals
).pipe(Schema.decodeTo(Schema.BigInt, inMicro))

export const CreditBalance = Schema.Struct({
  available_balance: Credit,
  frozen_balance: Credit.annotate({ description: "held until what it is for has ended" }),
  currency: Schema.Literal("CREDITS")
}).annotate({ identifier: "CreditBalance" })
export type CreditBalance = typeof CreditBalance.Type

/** The available changes of all transactions sum up to the available balance, and so do the frozen ones. */
export const CreditTransaction = Schema.Struct({
  transaction_id: Schema.String,
  kind: Schema.Literals(["pending", "post", "void"]).annotate({
    description: "pending freezes credit, post moves it (a frozen one's rest is released), void releases it"
  }),
  amount: Credit,
  available_change: Credit,
  frozen_change: Credit,
  reason: Schema.String,
  created_at: Timestamp
}).annotate({ identifier: "CreditTransaction" })
export type CreditTransaction = typeof CreditTransaction.Type

export const CreditTransactions = pageSchema(CreditTransaction)

export const TransferKey = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9._:-]{1,128}$/u, {
    message: "Expected 1 to 128 characters of A-Z a-z 0-9 . _ : -"
  })
)

export const NewGrant = Schema.Struct({
  amount: CreditAmount,
  reason: text({ minimum: 1, maximum: 1000 }).annotate({ description: "the receiver sees it" }),
  idempotency_key: TransferKey.annotate({
    description: "one key gives to one receiver once, however often the request is sent"
  })
}).annotate({ identifier: "NewGrant" })
export type NewGrant = typeof NewGrant.Type

export const Grant = Schema.Struct({
  id: Schema.String,
  account: Schema.String.annotate({ description: "agent:{agent_id} or owner:{owner_id}" }),
  amount: Credit,
  reason: Schema.String,
  created_at: Timestamp
}).annotate({ identifier: "Grant" })
export type Grant = typeof Grant.Type

const typedAmount = Schema.String.check(
  Schema.isPattern(/^\d{1,8}(\.\d{1,6})?$/u, {
    message: "Expected an amount such as 25 or 12.5, with at most 6 decimals"
  })
)

/** A typed amount in micro-credits. */
export const TypedAmount = typedAmount.pipe(
  Schema.decodeTo(Schema.FiniteFromString),
  Schema.decodeTo(CreditAmount)
)

/** Credit that an owner moves to an agent, as the form of the page sends it. */
export const NewTopUp = Schema.Struct({
  amount: TypedAmount,
  /** One key of an owner moves credit once, even if the form is sent again. */
  idempotency_key: TransferKey
})
export type NewTopUp = typeof NewTopUp.Type

export interface TopUp {
  readonly agentId: AgentId
  readonly amount: bigint
  readonly at: DateTime.Utc
}

export interface OwnerMovement {
  readonly id: string
  /** The change in micro-credits; it is negative out of the account. */
  readonly change: bigint
  readonly reason: string
  /** The agent that received it. */
  readonly agentName: string | null
  readonly at: DateTime.Utc
}

/** 400: an account has less than the requested amount. */
export class InsufficientCredit extends apiErrorWith("InsufficientCredit", 400, {
  code: errorCode("insufficient_credit"),
  available: Credit
}) {}

/** 409: the key stands for a transfer with another amount, receiver or reason. */
export class IdempotencyKeyReused extends apiError("IdempotencyKeyReused", 409, "idempotency_key_reused") {}

export interface Holder {
  readonly kind: "agent" | "owner"
  readonly id: string
}

/** The maker of something that outlives an access token: an owner, or an agent by a token of this epoch. */
export type Maker = Holder & { readonly epoch?: number | undefined }

export class Credits extends Context.Service<
  Credits,
  {
    readonly balance: (agentId: string) => Effect.Effect<CreditBalance, NotFound>
    /** The list is newest first. */
    readonly transactions: (
      agentId: string,
      page: Page
    ) => Effect.Effect<PageOf<CreditTransaction>, InvalidRequest>
    /** Gives credit out of the treasury, once per key. A repeated request gets the same answer and gives nothing. */
    readonly grant: (
      to: Holder,
      grant: NewGrant
    ) => Effect.Effect<Grant, NotFound | InvalidRequest | IdempotencyKeyReused>
    /**
     * Moves credit from an owner's account to one of the owner's agents, once per key. A repeated request gets the same answer and
     * moves nothing. Another owner's agent is answered like an unknown one.
     */
    readonly topUp: (
      owner: OperatorId,
      agentId: string,
      topUp: NewTopUp
    ) => Effect.Effect<TopUp, NotFound | InvalidRequest | InsufficientCredit | IdempotencyKeyReused>
    /** The movements of an owner's account, newest first. */
    readonly movements: (
      owner: OperatorId,
      page: Page
    ) => Effect.Effect<PageOf<OwnerMovement>, InvalidRequest>
    readonly topUpOf: (owner: OperatorId, key: string) => Effect.Effect<Option.Option<TopUp>>
    /** Pays owners the credit of their plans for this month, once. Any number of replicas may run it at once. */
    readonly payPlans: Effect.Effect<void>
  }
>()("auspex/services/Credits") {}
