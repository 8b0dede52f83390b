/**
 * Paper-trade signals, and the virtual positions that signals on some targets take. A position is a signal with its entry
 * price. Its end is derived, from the agent's next entry on the challenge or the closing price of the newest settlement, so no
 * job closes positions and none can be closed twice.
 */
import { BigDecimal, DateTime, Duration, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { positionSize, profitPct } from "../../../../scoring/paper.ts"
import type { Arenas } from "../../../../services/Arenas.ts"
import { PaperPosition, PaperSignal } from "../../../../services/domain/Prediction.ts"
import { unknownChallenge } from "../../../../services/domain/Challenge.ts"
import type { Direction } from "../../../../services/domain/Challenge.ts"
import { isUuid } from "../../../../services/domain/ids.ts"
import type { AgentId, PredictionId } from "../../../../services/domain/ids.ts"
import { TooManyRequests } from "../../../../services/RateLimiter.ts"
import type { Use } from "../../../../services/RateLimiter.ts"
import { Cursors } from "../../../../services/domain/paging.ts"
import { Prices } from "../../../../services/Prices.ts"
import type { ObservedPrice } from "../../../../services/Prices.ts"
import { Settings } from "../../../../services/Settings.ts"
import { makeAcceptance } from "../../RateLimiter.ts"
import { latestSettlement } from "../../latestSettlement.ts"
import { decimal, findAll, findOption, isoTimestamp, orDie, pageAfter, timestamp } from "../../sql.ts"
import { floatOf } from "../challengeRows.ts"
import { makeBudget, overBudget, storeBytes } from "./agentBytes.ts"
import { cancelledChallenge } from "./rejections.ts"

const { position: _, ...columnsOfSignal } = PaperSignal.fields

const SignalRow = Schema.Struct({
  ...columnsOfSignal,
  exact_confidence: Schema.BigDecimalFromString,
  status: PaperPosition.fields.status,
  entry_price: Schema.NullOr(Schema.BigDecimalFromString),
  entry_observed_at: Schema.NullOr(Schema.String),
  entry_source: Schema.NullOr(Schema.String),
  exit_price: Schema.NullOr(Schema.BigDecimalFromString),
  exit_observed_at: PaperPosition.fields.exit_observed_at,
  exit_source: PaperPosition.fields.exit_source
})

const positionOf = (row: typeof SignalRow.Type): PaperPosition | null => {
  if (row.entry_price === null || row.entry_observed_at === null || row.entry_source === null) return null
  const size = positionSize(row.direction, row.exact_confidence)
  return {
    status: row.status,
    size: BigDecimal.toNumberUnsafe(size),
    entry_price: BigDecimal.toNumberUnsafe(row.entry_price),
    entry_observed_at: row.entry_observed_at,
    entry_source: row.entry_source,
    exit_price: row.exit_price === null ? null : BigDecimal.toNumberUnsafe(row.exit_price),
    exit_observed_at: row.exit_observed_at,
    exit_source: row.exit_source,
    pnl_pct: row.exit_price === null ? null : profitPct(size, row.entry_price, row.exit_price)
  }
}

const signalOf = (row: typeof SignalRow.Type): PaperSignal => ({
  prediction_id: row.prediction_id,
  challenge_id: row.challenge_id,
  direction: row.direction,
  confidence: row.confidence,
  reasoning: row.reasoning,
  created_at: row.created_at,
  position: positionOf(row)
})

/** About as many bytes as a signal has without its reasoning. */
const signalBytes = 100

export interface NewSignal {
  readonly id: PredictionId
  readonly agentId: AgentId
  readonly challengeId: string
  readonly direction: Direction
  readonly confidence: number
  readonly reasoning: string | null
  readonly receivedAt: DateTime.Utc
  /** The limits that the signal uses once it is recorded. */
  readonly owed: ReadonlyArray<Use>
}

export const makePaperSignals = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const pages = (yield* Cursors).listById("paper signals")
  const prices = yield* Prices
  const settings = yield* Settings
  const { paperPriceWithin, paperSignalSpacing: spacing } = settings
  const simulated = findOption(Schema.Struct({ target: Schema.String }))
  const lastSignal = findOption(Schema.Struct({ last_at: Schema.DateTimeUtcFromDate }))
  const written = findOption(Schema.Struct({ outcome: Schema.String }))
  const budget = yield* makeBudget
  const signals = findAll(SignalRow)
  const accept = yield* makeAcceptance

  /** The entry price; none if the target takes no positions, or once the closing price may be known. */
  const entryOf = Effect.fnUntraced(function* ({ challengeId, receivedAt }: NewSignal) {
    const found = yield* simulated(sql`
      select c.target from challenges c join targets t on t.key = c.target
       where c.id = ${challengeId}::uuid and t.simulates_positions and c.resolve_at > ${timestamp(receivedAt)}`)
    if (Option.isNone(found)) return Option.none()
    const oldest = DateTime.subtractDuration(receivedAt, paperPriceWithin)
    return Option.filter(
      yield* prices.latest(found.value.target),
      ({ observedAt, price }) =>
        BigDecimal.isPositive(price) && DateTime.isGreaterThanOrEqualTo(observedAt, oldest)
    )
  })

  const write = Effect.fnUntraced(function* (signal: NewSignal, entry: ObservedPrice | undefined) {
    const { agentId, challengeId, confidence, direction, id, owed, reasoning, receivedAt } = signal
    const accepted = yield* accept({ owed: [owed], recorded: sql`select 1 from gate` })
    const stored = sql`
      select agent_id, ${timestamp(receivedAt)}::timestamptz as received_at, ${signalBytes + Buffer.byteLength(reasoning ?? "")}::int as bytes from gate`
    const statement = sql`
      with gate as (
        insert into paper_signal_spacing as s (challenge_id, agent_id, last_at)
        select c.id, ${agentId}::uuid, ${timestamp(receivedAt)}
          from challenges c where c.id = ${challengeId}::uuid and c.cancelled_at is null
           for key share
        on conflict (challenge_id, agent_id) do update set last_at = excluded.last_at
          where s.last_at <= ${timestamp(DateTime.subtractDuration(receivedAt, spacing))}
        returning challenge_id, agent_id
      ),
      accepted as (${accepted}),
      stored as (${storeBytes(sql, settings, stored)})
      insert into paper_signals
        (id, challenge_id, agent_id, direction, confidence, reasoning, received_at,
         entry_price, entry_source, entry_observed_at, entry_fetched_at)
      select ${id}::uuid, challenge_id, agent_id, ${direction}, ${decimal(confidence)}::numeric, ${reasoning},
             ${timestamp(receivedAt)},
             ${entry === undefined ? null : BigDecimal.format(entry.price)}::numeric, ${entry?.source ?? null},
             ${entry === undefined ? null : timestamp(entry.observedAt)}::timestamptz,
             ${entry === undefined ? null : timestamp(entry.fetchedAt)}::timestamptz
        from gate cross join accepted
      returning 'recorded' as outcome`
    const recorded = yield* written(budget.within(statement))
    return Option.exists(recorded, ({ outcome }) => outcome === overBudget)
      ? yield* budget.refuse(agentId, receivedAt)
      : recorded
  })

  /** Records a signal, and returns the entry price of its position, if it takes one. */
  const record = Effect.fnUntraced(function* (signal: NewSignal) {
    const { agentId, challengeId, receivedAt } = signal
    const entry = yield* entryOf(signal)
    const recorded = yield* write(signal, Option.getOrUndefined(entry))
    if (Option.isSome(recorded)) return entry
    const last = yield* lastSignal(sql`
      select last_at from paper_signal_spacing
       where challenge_id = ${challengeId}::uuid and agent_id = ${agentId}::uuid`)
    const earliest = DateTime.subtractDuration(receivedAt, spacing)
    if (last._tag === "None" || DateTime.isLessThanOrEqualTo(last.value.last_at, earliest))
      return yield* cancelledChallenge()
    const wait = DateTime.distance(receivedAt, DateTime.addDuration(last.value.last_at, spacing))
    const seconds = Math.max(1, Math.ceil(Duration.toSeconds(wait)))
    return yield* new TooManyRequests({
      detail: `Paper-trade signals on one challenge are at least ${Duration.format(spacing)} apart. Try again in ${seconds} s.`,
      retry_after: seconds
    })
  })

  const list: Arenas["Service"]["paperSignals"] = Effect.fn("DirectionalArena.paperSignals")(
    function* (agentId, challengeId, page) {
      const { after, toPage, limit } = yield* pages.decode(page, challengeId.toLowerCase())
      if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
      const known =
        yield* sql`select 1 from challenges where id = ${challengeId}::uuid and type = 'directional'`.pipe(
          orDie
        )
      if (known.length === 0) return yield* unknownChallenge(challengeId)
      const rows = yield* signals(sql`
        select s.id::text as prediction_id, s.challenge_id::text, s.direction, ${floatOf(sql, "s.confidence")} as confidence,
               s.confidence::text as exact_confidence, s.reasoning, ${isoTimestamp(sql, "s.received_at")} as created_at,
               s.entry_price::text as entry_price, ${isoTimestamp(sql, "s.entry_observed_at")} as entry_observed_at, s.entry_source,
               e.status, e.price::text as exit_price, ${isoTimestamp(sql, "e.observed_at")} as exit_observed_at,
               e.source as exit_source
          from paper_signals s
         cross join lateral (
           select * from (
             (select 1 as preference, 'replaced' as status, n.entry_price as price, n.entry_observed_at as observed_at,
                     n.entry_source as source
                from paper_signals n
               where n.challenge_id = s.challenge_id and n.agent_id = s.agent_id and n.id > s.id
                 and n.entry_price is not null
               order by n.id limit 1)
             union all
             (select 2, 'closed', t.close_price, t.observed_at, t.source from ${latestSettlement(sql, "s.challenge_id")} t)
             union all
             (select 3, case when c.cancelled_at is null then 'open' else 'void' end, null, null, null
                from challenges c where c.id = s.challenge_id)) as ends
            order by preference
            limit 1) e
         where s.agent_id = ${agentId}::uuid and s.challenge_id = ${challengeId}::uuid
           ${pageAfter(sql, "s.id <", after)}
         order by s.id desc
         limit ${limit}`)
      const { items, next_cursor } = toPage(rows, (last) => last.prediction_id)
      return { items: items.map(signalOf), next_cursor }
    }
  )

  return { record, list }
})

export type RecordSignal = Effect.Success<typeof makePaperSignals>["record"]
