import { DateTime, Effect, Layer, Option, Schema, Semaphore } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { binsOf } from "../../../scoring/macro.ts"
import { unknownChallenge } from "../../../services/Challenges.ts"
import { StoreUnavailable } from "../../../services/errors.ts"
import { ChallengeId, isUuid } from "../../../services/identifiers.ts"
import { PoolOdds, Pools } from "../../../services/Pools.ts"
import { Settings } from "../../../services/Settings.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import { areCountsLive, countsAsOf, publishOdds } from "../countSteps.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import { refusal } from "./stakeErrors.ts"
import { awaitAccount } from "./poolStatements.ts"
import type { StakeItem } from "./poolStatements.ts"
import { makeTakeStakes } from "./takeStakes.ts"
import { execute, findOption } from "../sql.ts"

const OddsRow = Schema.Struct({
  bin_edges: Schema.Array(Schema.Finite),
  counts_as_of: PoolOdds.fields.counts_as_of,
  /** Those that somebody has staked on. */
  bins: Schema.Array(Schema.Struct({ bin: Schema.Int, staked: Schema.BigIntFromString, stakers: Schema.Int }))
})

/** How often a stake whose account is busy is tried. */
const maxAttempts = 20

/** Connections that wait for accounts at most; the others go on serving. */
const maxWaiting = 4

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const random = yield* SecureRandom.SecureRandom
  const oddsRow = findOption(OddsRow)
  const takeOnce = yield* RequestBatcher.make({ run: yield* makeTakeStakes, maxSize: settings.maxBatch })
  const waiting = yield* Semaphore.make(maxWaiting)

  /** One whose account another transaction holds waits for that by itself, not in a batch, and holds no pool meanwhile. */
  const take = Effect.fnUntraced(function* (item: StakeItem) {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const outcome = yield* takeOnce(item)
      if (outcome.outcome !== "busy") return outcome
      yield* execute(awaitAccount(sql, item.agentId)).pipe(waiting.withPermits(1))
    }
    return yield* Effect.die(
      new StoreUnavailable({ cause: new Error(`the account of agent ${item.agentId} stays busy`) })
    )
  })

  const stake: Pools["Service"]["stake"] = Effect.fnUntraced(function* (submission) {
    const { agentId, challengeId } = submission
    yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId.slice(0, 64), "agent.id": agentId })
    if (!isUuid(challengeId)) return yield* unknownChallenge(challengeId)
    const id = yield* random.uuidV7()
    const item = { ...submission, id, challengeId: challengeId.toLowerCase() }
    const outcome = yield* take(item)
    yield* Effect.annotateCurrentSpan({ "stake.outcome": outcome.outcome })
    if (outcome.outcome !== "taken") return yield* refusal(outcome, item)
    const { available, bin, frozen } = outcome
    return {
      stake_id: id,
      challenge_id: ChallengeId.make(item.challengeId),
      bin,
      amount: submission.stake.amount,
      available,
      frozen
    }
  }, cheapSpan("Pools.stake"))

  const odds: Pools["Service"]["odds"] = Effect.fn("Pools.odds")(function* (challengeId) {
    const now = yield* DateTime.now
    const found = isUuid(challengeId)
      ? yield* oddsRow(sql`
          select c.bin_edges::float8[] as bin_edges, ${countsAsOf(sql, settings.countsEvery, now)} as counts_as_of,
                 coalesce(
                   case when ${areCountsLive(sql, settings.countsEvery, now)}
                     then (select jsonb_agg(to_jsonb(b))
                             from (select bin, staked::text, stakers from pool_bins where challenge_id = c.id
                                    order by bin limit cardinality(c.bin_edges) + 1) b)
                     else k.bins end, '[]') as bins
            from challenges c
            left join published_odds k on k.challenge_id = c.id
           where c.id = ${challengeId}::uuid and c.type = 'macro'`)
      : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    const { bin_edges, bins, counts_as_of } = found.value
    const total = bins.reduce((sum, { staked }) => sum + staked, 0n)
    const held = new Map(bins.map((each) => [each.bin, each]))
    return {
      challenge_id: ChallengeId.make(challengeId.toLowerCase()),
      total,
      stakers: bins.reduce((sum, { stakers }) => sum + stakers, 0),
      counts_as_of,
      bins: binsOf(bin_edges).map((bin) => {
        const { staked, stakers } = held.get(bin.index) ?? { staked: 0n, stakers: 0 }
        return { ...bin, share: total === 0n ? 0 : Number(staked) / Number(total), staked, stakers }
      })
    }
  })

  const publishDue: Pools["Service"]["publishDue"] = Effect.gen(function* () {
    if (Option.isNone(settings.countsEvery)) return
    yield* execute(publishOdds(sql, settings.countsEvery.value, yield* DateTime.now))
  }).pipe(Effect.withSpan("Pools.publishDue"))

  return Pools.of({ stake, odds, publishDue })
})

export const layer = Layer.effect(Pools, make)
