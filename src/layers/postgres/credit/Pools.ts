/**
 * Stakes in credit pools. Stakes that arrive together are taken in one transaction, each with an outcome of its own.
 *
 * Stakes of a pool take turns by `for no key update` on its challenge. Predictions (`for key share`) do not wait for that lock,
 * settlements (`for update`) do; rows that a later statement of the transaction reads cannot change any more. Rows are locked in the
 * order of their ids, challenges before accounts. Rows are found by key, one probe a stake, since a prepared plan serves any number
 * of stakes.
 */
import { DateTime, Duration, Effect, Layer, Option, Schema, Semaphore, Array as Arr } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { binsOf, binOf } from "../../../scoring/macro.ts"
import {
  unknownChallenge,
  ChallengeCancelled,
  ChallengeClosed,
  notRecordedInTime
} from "../../../services/domain/Challenge.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { ChallengeId, isUuid } from "../../../services/domain/ids.ts"
import { PoolOdds, Pools, StakeRefused } from "../../../services/Pools.ts"
import type { StakeSubmission } from "../../../services/Pools.ts"
import { OwedUses } from "../../../services/RateLimiter.ts"
import type { Use } from "../../../services/RateLimiter.ts"
import { Settings } from "../../../services/Settings.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import { isOvertaken } from "../challenges/challengeRows.ts"
import { areCountsLive, countsAsOf, insertPublishedOdds } from "../challenges/countPublication.ts"
import { makeAcceptance } from "../RateLimiter.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import {
  boundNow,
  decimal,
  execute,
  findAll,
  findOption,
  LockHeld,
  retryingConflicts,
  rowsOf,
  timestamp,
  transaction
} from "../sql.ts"
import { accountOf, reserve, funding, makeTransfers } from "./transfers.ts"
import { decideStakes } from "../../../scoring/staking.ts"
import type { StakeDecision } from "../../../scoring/staking.ts"
import { wholeCredits, creditsOf } from "../../../services/Credits.ts"

const OddsRow = Schema.Struct({
  bin_edges: Schema.NullOr(Schema.Array(Schema.Finite)),
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  pool_owner_rule: Schema.Boolean,
  counts_as_of: PoolOdds.fields.counts_as_of,
  /** Only bins with stakes are listed. */
  bins: Schema.Array(Schema.Struct({ bin: Schema.Int, staked: Schema.BigIntFromString, stakers: Schema.Int }))
})

/** The maximum number of connections that wait for accounts; the others go on serving. */
const maxWaiting = 4

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const oddsRow = findOption(OddsRow)
  const take = yield* RequestBatcher.make({
    run: yield* makeTakeStakes,
    // One statement cannot count the owed uses of two stakes of one agent.
    exclusive: (item: StakeItem) => item.agentId,
    maxSize: settings.maxBatch
  })
  const transfers = yield* makeTransfers
  const waiting = yield* Semaphore.make(maxWaiting)

  /** A stake that waits for an account holds no pool meanwhile. */
  const accountHeld = (agentId: string) =>
    new LockHeld({
      what: `the account of agent ${agentId}`,
      freed: waiting.withPermits(1)(execute(awaitAccount(sql, agentId)))
    })

  const stakeOnce = Effect.fnUntraced(function* (item: StakeItem) {
    const outcome = yield* take(item)
    yield* Effect.annotateCurrentSpan({ "stake.outcome": outcome.outcome })
    if (outcome.outcome === "busy") return yield* Effect.die(accountHeld(item.agentId))
    if (outcome.outcome !== "taken") return yield* rejection(outcome, item)
    const { available, bin, frozen } = outcome
    return {
      stake_id: item.id,
      challenge_id: ChallengeId.make(item.challengeId),
      bin,
      amount: item.stake.amount,
      available,
      frozen
    }
  })

  const itemOf = Effect.fnUntraced(function* (submission: StakeSubmission, owed: ReadonlyArray<Use>) {
    const { agentId, challengeId } = submission
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId.slice(0, 64), "agent.id": agentId })
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const item: StakeItem = {
      ...submission,
      owed,
      id: yield* random.uuidV7(),
      challengeId: challengeId.toLowerCase()
    }
    return item
  })

  const stake: Pools["Service"]["stake"] = Effect.fnUntraced(function* (submission) {
    const item = yield* itemOf(submission, yield* OwedUses)
    return yield* retryingConflicts(stakeOnce(item))
  }, cheapSpan("Pools.stake"))

  const stakeAfter: Pools["Service"]["stakeAfter"] = <A, E>(
    { amount, ...submission }: Omit<StakeSubmission, "stake"> & { readonly amount: bigint },
    before: Effect.Effect<A, E>,
    valueOf: (done: A) => number
  ) =>
    // The statement of `before` counts the uses that both owe.
    Effect.flatMap(itemOf({ ...submission, stake: { predicted_value: 0, amount } }, []), (item) =>
      transaction(sql)(
        Effect.gen(function* () {
          // The pool is locked first, as a stake does it: a weaker lock on the challenge could only be raised after a waiting
          // settlement.
          yield* execute(lockPools(sql, [item], settings.closeGrace))
          const done = yield* before
          const stake = { amount, predicted_value: valueOf(done) }
          return { before: done, stake: yield* stakeOnce({ ...item, stake }) }
        })
      )
    ).pipe(cheapSpan("Pools.stakeAfter"))

  const hold: Pools["Service"]["hold"] = (stakes) =>
    execute(
      lockPools(
        sql,
        stakes
          .filter(({ challengeId }) => isUuid(challengeId))
          .map(({ challengeId, receivedAt }) => ({ challengeId: challengeId.toLowerCase(), receivedAt })),
        settings.closeGrace
      )
    )

  const fund: Pools["Service"]["fund"] = (challengeId, reward) =>
    reward === 0n ? Effect.void : Effect.orDie(transfers.record([funding(challengeId, reward)]))

  const odds: Pools["Service"]["odds"] = Effect.fn("Pools.odds")(function* (challengeId) {
    const now = yield* DateTime.now
    const found = isUuid(challengeId)
      ? yield* oddsRow(sql`
          select c.bin_edges::float8[] as bin_edges, c.categories, coalesce(c.pool_owner_rule, true) as pool_owner_rule,
                 ${countsAsOf(sql, settings.oddsEvery, now)} as counts_as_of,
                 coalesce(
                   case when ${areCountsLive(sql, settings.oddsEvery, now)}
                     then (select jsonb_agg(to_jsonb(b))
                             from (select bin, staked::text, stakers from pool_bins where challenge_id = c.id
                                    order by bin limit cardinality(c.bin_edges) + 1) b)
                     else k.bins end, '[]') as bins
            from challenges c
            left join published_odds k on k.challenge_id = c.id
           where c.id = ${challengeId}::uuid`)
      : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    const { bin_edges, bins, categories, counts_as_of, pool_owner_rule } = found.value
    if (bin_edges === null) {
      return yield* new NotFound({ detail: "This challenge has no pool: only macro challenges have one." })
    }
    const total = bins.reduce((sum, { staked }) => sum + staked, 0n)
    const held = new Map(bins.map((each) => [each.bin, each]))
    return {
      challenge_id: ChallengeId.make(challengeId.toLowerCase()),
      total,
      stakers: bins.reduce((sum, { stakers }) => sum + stakers, 0),
      counts_as_of,
      pool_owner_rule,
      bins: binsOf(bin_edges, categories).map((bin) => {
        const { staked, stakers } = held.get(bin.index) ?? { staked: 0n, stakers: 0 }
        return { ...bin, share: total === 0n ? 0 : Number(staked) / Number(total), staked, stakers }
      })
    }
  })

  const publishOdds: Pools["Service"]["publishOdds"] = Effect.gen(function* () {
    if (Option.isNone(settings.oddsEvery)) return
    yield* execute(insertPublishedOdds(sql, settings.oddsEvery.value, yield* boundNow(sql)))
  }).pipe(Effect.withSpan("Pools.publishOdds"))

  return Pools.of({ stake, stakeAfter, hold, fund, odds, publishOdds })
})

export const layer = Layer.effect(Pools, make)

/** A requested stake, with the id that it is stored under. */
interface StakeItem extends Omit<StakeSubmission, "challengeId"> {
  readonly id: string
  /** This is in lower case, as PostgreSQL writes it. */
  readonly challengeId: string
  readonly owed: ReadonlyArray<Use>
}

/** A stake in an open pool, with the bin of its value. */
interface PlacedStake {
  readonly item: StakeItem
  readonly bin: number
}

/** A stake that is taken. Its owner is the one it was decided for, even if the agent is claimed meanwhile. */
interface TakenStake extends PlacedStake {
  readonly ownerId: string | null
}

type StakeOutcome =
  | { readonly outcome: "unknown" | "void" | "overtaken" }
  /** Another transaction holds the agent's account. */
  | { readonly outcome: "busy" }
  | { readonly outcome: "closed"; readonly deadline: DateTime.Utc }
  | (Exclude<StakeDecision, { readonly outcome: "taken" }> & { readonly bin: number })
  | {
      readonly outcome: "taken"
      readonly bin: number
      readonly available: bigint
      readonly frozen: bigint
    }

/** Names the outcome of a stake whose pool does not exist or is not open; the rules of the pool apply to all others. */
const beforeRules = (item: StakeItem, pool: PoolRow | undefined): StakeOutcome | undefined => {
  if (pool === undefined) return { outcome: "unknown" }
  if (pool.state === "void") return { outcome: "void" }
  if (DateTime.isGreaterThanOrEqualTo(item.receivedAt, pool.deadline)) {
    return { outcome: "closed", deadline: pool.deadline }
  }
  return pool.state === "closed" ? { outcome: "overtaken" } : undefined
}

interface Placed extends PlacedStake {
  readonly pool: PoolRow
}

const makeTakeStakes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const transfers = yield* makeTransfers
  const poolRows = findAll(PoolRow)
  const contextRows = findAll(StakeContext)
  const accept = yield* makeAcceptance
  const minimum = wholeCredits(settings.minStake)

  /** Decides stakes in open pools by the rules, and writes those that are taken. Stakes whose account is locked get no outcome. */
  const takePlaced = Effect.fnUntraced(function* (placed: ReadonlyArray<Placed>) {
    if (placed.length === 0) return new Map<StakeItem, StakeOutcome>()
    let rows = yield* contextRows(stakeContext(sql, placed))
    // The statement that locks an account may see the grant of a claim that has just committed, and not the new owner. Another
    // statement after the lock sees both; else the grant could be staked as if nobody owned the agent.
    if (rows.some(({ owner_id }) => owner_id === null)) rows = yield* contextRows(stakeContext(sql, placed))
    const known = rows.flatMap((row) => {
      const each = placed[row.position - 1]
      return each === undefined ? [] : [[each, row] as const]
    })
    const decisions = decideStakes(
      known.map(([{ bin, item, pool }, row]) => ({
        pool: item.challengeId,
        agent: item.agentId,
        holder: (pool.owner_rule ? row.owner_id : null) ?? item.agentId,
        bin,
        amount: item.stake.amount,
        predicted: row.predicted,
        staked: row.staked,
        available: row.available,
        held: row.held,
        // An agent stakes once, so an agent without the owner rule holds nothing yet.
        heldByHolder: pool.owner_rule ? row.held_by_owner : 0n
      })),
      minimum
    )
    const taken: Array<TakenStake & Placed> = []
    const outcomes = new Map<StakeItem, StakeOutcome>()
    for (const [[each, row], decision] of Arr.zip(known, decisions)) {
      const { bin, item } = each
      if (decision.outcome !== "taken") {
        outcomes.set(item, { ...decision, bin })
        continue
      }
      taken.push({ ...each, ownerId: row.owner_id })
      const available = decision.availableAfter
      const frozen = row.frozen + row.available - available
      outcomes.set(item, { outcome: "taken", bin, available, frozen })
    }
    if (Arr.isArrayNonEmpty(taken)) {
      const accepted = yield* accept({
        owed: taken.map(({ item }) => item.owed),
        recorded: sql`select position from item`
      })
      yield* execute(insertStakes(sql, taken, accepted))
      yield* transfers
        .record(
          taken.map(({ bin, item: { agentId, challengeId, stake }, pool }) =>
            reserve(
              { challengeId, agentId, amount: stake.amount },
              `stake on bin ${bin} of ${pool.target} ${pool.period}, challenge ${challengeId}`
            )
          )
        )
        // A transfer is recorded together with its stake, so none can be there without it.
        .pipe(Effect.catchTag("TransferDiffers", Effect.die))
    }
    return outcomes
  })

  return (items: ReadonlyArray<StakeItem>): Effect.Effect<ReadonlyArray<StakeOutcome>> =>
    transaction(sql)(
      Effect.gen(function* () {
        const rows = yield* poolRows(lockPools(sql, items, settings.closeGrace))
        const pools = new Map(rows.map((row) => [row.id, row]))
        const rejected = items.map((item) => beforeRules(item, pools.get(item.challengeId)))
        const placed = items.flatMap((item, index) => {
          const pool = pools.get(item.challengeId)
          return pool === undefined || rejected[index] !== undefined
            ? []
            : [{ item, pool, bin: binOf(pool.bin_edges, item.stake.predicted_value) }]
        })
        const outcomes = yield* takePlaced(placed)
        const busy: StakeOutcome = { outcome: "busy" }
        return items.map((item, index) => rejected[index] ?? outcomes.get(item) ?? busy)
      })
    )
})

const PoolRow = Schema.Struct({
  id: Schema.String,
  target: Schema.String,
  period: Schema.String,
  deadline: Schema.DateTimeUtcFromDate,
  bin_edges: Schema.Array(Schema.Finite),
  owner_rule: Schema.Boolean,
  state: Schema.Literals(["open", "closed", "void"])
})
type PoolRow = typeof PoolRow.Type

/**
 * Selects and locks the pools of these stakes. A pool for which all stakes are late is read without a lock: its settlement may take long, and a
 * rejection need not wait for it.
 */
const lockPools = (
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<Pick<StakeItem, "challengeId" | "receivedAt">>,
  closeGrace: Duration.Duration
) => sql`
  select c.id::text, c.target, c.period, c.deadline, c.bin_edges::float8[] as bin_edges,
         coalesce(c.pool_owner_rule, true) as owner_rule,
         case when coalesce(l.cancelled_at, c.cancelled_at) is not null then 'void'
              when l.id is null or l.closed_at is not null or ${isOvertaken(sql, "c.deadline", closeGrace)} then 'closed' else 'open' end as state
    from (select challenge_id, min(received_at) as earliest
            from ${rowsOf(sql, "i", items, {
              challenge_id: ["uuid", (item) => item.challengeId],
              received_at: ["timestamptz", (item) => timestamp(item.receivedAt)]
            })}
           group by challenge_id order by challenge_id) i
   cross join lateral (
     select id, target, period, deadline, bin_edges, pool_owner_rule, cancelled_at from challenges
      where id = i.challenge_id and type = 'macro' limit 1) c
    left join lateral (
      select id, closed_at, cancelled_at from challenges
       where id = c.id and deadline > i.earliest
         for no key update) l on true`

const StakeContext = Schema.Struct({
  /** The position of the stake in the list, from 1. */
  position: Schema.Int,
  owner_id: Schema.NullOr(Schema.String),
  available: Schema.BigInt,
  frozen: Schema.BigInt,
  predicted: Schema.Boolean,
  staked: Schema.Boolean,
  held: Schema.BigInt,
  held_by_owner: Schema.BigInt
})

/**
 * Reads the values that decide each stake, in the order of the stakes, and locks the agents' accounts. Stakes whose account another
 * transaction holds are skipped: it may be the settlement of a large pool, and the other stakes must not wait for it.
 */
const stakeContext = (sql: SqlClient.SqlClient, stakes: ReadonlyArray<PlacedStake>) => sql`
  select i.position::int as position, g.owner_id::text, a.posted - a.held as available, a.held as frozen, p.revision is not null as predicted,
         s.position is not null as staked, coalesce(b.staked, 0)::bigint as held, o.amount as held_by_owner
    from (select * from ${rowsOf(sql, "i", stakes, {
      challenge_id: ["uuid", ({ item }) => item.challengeId],
      agent_id: ["uuid", ({ item }) => item.agentId],
      bin: ["int4", ({ bin }) => bin]
    })}
           order by agent_id) i
   cross join lateral (
     select posted, held from accounts where id = 'agent:' || i.agent_id for no key update skip locked) a
   cross join lateral (select owner_id from agents where id = i.agent_id limit 1) g
    left join lateral (
      select revision from predictions where challenge_id = i.challenge_id and agent_id = i.agent_id
       order by revision limit 1) p on true
    left join lateral (
      select position from stakes where challenge_id = i.challenge_id and agent_id = i.agent_id limit 1) s on true
    left join lateral (
      select staked from pool_bins where challenge_id = i.challenge_id and bin = i.bin limit 1) b on true
   cross join lateral (
     select coalesce(sum(t.amount), 0)::bigint as amount from stakes t
      where t.challenge_id = i.challenge_id and t.owner_id = g.owner_id and t.bin = i.bin) o
   order by i.position`

/** Waits until no other transaction locks the account of an agent. */
const awaitAccount = (sql: SqlClient.SqlClient, agentId: string) =>
  sql`select 1 from accounts where id = ${accountOf({ kind: "agent", id: agentId })} for no key update`

/** Writes the stakes in their order, each with its place in its pool, and moves the odds. */
const insertStakes = (
  sql: SqlClient.SqlClient,
  stakes: Arr.NonEmptyReadonlyArray<TakenStake>,
  accepted: Statement.Fragment
) => sql`
  with item as (
    select * from ${rowsOf(sql, "i", stakes, {
      id: ["uuid", ({ item }) => item.id],
      challenge_id: ["uuid", ({ item }) => item.challengeId],
      agent_id: ["uuid", ({ item }) => item.agentId],
      owner_id: ["uuid", ({ ownerId }) => ownerId],
      predicted_value: ["numeric", ({ item }) => decimal(item.stake.predicted_value)],
      bin: ["int4", ({ bin }) => bin],
      amount: ["int8", ({ item }) => item.stake.amount],
      received_at: ["timestamptz", ({ item }) => timestamp(item.receivedAt)]
    })}
  ),
  pool as (
    select i.challenge_id, c.deadline, coalesce(s.position, 0) as last
      from (select distinct challenge_id from item) i
     cross join lateral (select deadline from challenges where id = i.challenge_id limit 1) c
      left join lateral (
        select position from stakes where challenge_id = i.challenge_id order by position desc limit 1) s on true
  ),
  taken as (
    insert into stakes
      (challenge_id, agent_id, id, position, owner_id, predicted_value, bin, amount, received_at, deadline)
    select i.challenge_id, i.agent_id, i.id,
           p.last + row_number() over (partition by i.challenge_id order by i.position),
           i.owner_id, i.predicted_value, i.bin, i.amount, i.received_at, p.deadline
      from item i
      join pool p on p.challenge_id = i.challenge_id
     order by i.position
  ),
  accepted as (${accepted})
  insert into pool_bins as b (challenge_id, bin, staked, stakers)
  select challenge_id, bin, sum(amount)::bigint, count(*)::int from item cross join accepted
   group by challenge_id, bin order by challenge_id, bin
  on conflict (challenge_id, bin) do update set staked = b.staked + excluded.staked, stakers = b.stakers + excluded.stakers`

type Rejected = Exclude<StakeOutcome, { readonly outcome: "taken" | "busy" }>
type Crowded = Extract<StakeOutcome, { readonly outcome: "bin_concentration" }>

const concentration = ({ bin, held, heldByHolder, max }: Crowded, amount: bigint): string => {
  const own = heldByHolder > 0n ? `, ${creditsOf(heldByHolder)} of them by agents of the same owner` : ""
  const room =
    max > 0n ? `at most ${creditsOf(max)} may be staked on it now` : "no more may be staked on it now"
  return `A stake of ${creditsOf(amount)} credits would be more than half of bin ${bin}, which holds ${creditsOf(held)}${own}: ${room}.`
}

const rejection = (rejected: Rejected, { challengeId, receivedAt, stake }: StakeItem) => {
  const amount = creditsOf(stake.amount)
  switch (rejected.outcome) {
    case "unknown":
      return unknownChallenge(challengeId)
    case "void":
      return new ChallengeCancelled({ detail: "The challenge is void: its pool takes no stake." })
    case "closed":
      return new ChallengeClosed({
        detail: `The deadline of this challenge, ${DateTime.formatIso(rejected.deadline)}, has passed: its pool takes no stake.`
      })
    case "overtaken":
      return notRecordedInTime("stake", receivedAt)
    case "no_prediction":
      return new StakeRefused({
        code: rejected.outcome,
        detail: "This agent has not predicted this challenge: send a forecast before staking on it."
      })
    case "already_staked":
      return new StakeRefused({
        code: rejected.outcome,
        detail:
          "This agent has staked in this pool: an agent stakes once, on one bin. A forecast is replaced without amount."
      })
    case "stake_too_small":
      return new StakeRefused({
        code: rejected.outcome,
        detail: `A stake of ${amount} credits is too small: at least ${creditsOf(rejected.minimum)} are needed.`
      })
    case "insufficient_credit":
      return new StakeRefused({
        code: rejected.outcome,
        detail: `A stake of ${amount} credits is more than this agent has available: ${creditsOf(rejected.available)}.`
      })
    case "bin_concentration":
      return new StakeRefused({ code: rejected.outcome, detail: concentration(rejected, stake.amount) })
  }
}
