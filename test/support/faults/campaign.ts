/**
 * Faults one after the other, in a seeded order, each only once the service works again after the last, while agents predict and
 * challenges fall due. The seed fixes the order and the intended moments; real processes decide the rest.
 */
import { Cause, Clock, Console, Duration, Effect, Random, Schedule, Schema } from "effect"
import { SqlError } from "effect/sql"
import { until } from "../process.ts"
import type { Query } from "./database.ts"
import { fingerprint, finalFindings, sampledFindings, settledChallenges, unsettled } from "./invariants.ts"
import { startLoad } from "./load.ts"
import type { Tally } from "./load.ts"
import { makeAgents, makeChallenge, makePrices } from "./population.ts"
import type { Open } from "./population.ts"

export interface Strike {
  /** The end of the fault, from which the recovery is measured. */
  readonly at: number
  /** Tells if the fault hit its aim; it is called once the service works again. */
  readonly landed: Effect.Effect<boolean>
}

export interface Fault {
  readonly kind: string
  readonly strike: Effect.Effect<Strike>
}

/** A strike that cannot be made is the harness's own fault. */
export const fault = <E, E2>(
  kind: string,
  strike: Effect.Effect<{ readonly at: number; readonly landed: Effect.Effect<boolean, E> }, E2>
): Fault => ({
  kind,
  strike: Effect.orDie(Effect.map(strike, ({ at, landed }) => ({ at, landed: Effect.orDie(landed) })))
})

/** The processes and data that faults strike. */
export interface Scene {
  readonly url: string
  readonly adminToken: string
  readonly query: Query
  readonly faults: ReadonlyArray<Fault>
  /** The log of its processes so far. */
  readonly log: () => string
  /** The ends of processes that no fault caused. */
  readonly deaths: Effect.Effect<ReadonlyArray<string>>
}

export interface Plan {
  readonly seed: number
  /** The number of agents that predict all the time. */
  readonly agents: number
  /** The number of agents that predict the challenges whose settlement is struck. */
  readonly voters: number
  /** The number of times that every fault strikes. */
  readonly rounds: number
}

export interface KindReport {
  struck: number
  landed: number
  readonly recoveries: Array<number>
}

export interface Report {
  readonly tally: Tally
  readonly faults: ReadonlyMap<string, KindReport>
  readonly samples: number
  readonly settled: number
  readonly violations: ReadonlyArray<string>
}

/** A new challenge is made this often and open for this long: no more than a busy machine settles meanwhile. */
const everySoOften = Duration.seconds(1)
const openFor = Duration.seconds(6)

const Figures = Schema.Struct({ agents: Schema.Int, differences: Schema.Array(Schema.String) })
const Ledger = Schema.Struct({ differences: Schema.Array(Schema.String) })
const Settlement = Schema.Struct({
  closed: Schema.Int,
  resolved: Schema.Array(Schema.String),
  cancelled: Schema.Array(Schema.String),
  waiting: Schema.Int
})

const asAdmin = <S extends Schema.ConstraintDecoder<unknown>>(
  scene: { readonly url: string; readonly adminToken: string },
  method: "GET" | "POST",
  path: string,
  answer: S
) =>
  Effect.tryPromise(async (signal) => {
    const response = await fetch(`${scene.url}/api/v1/admin${path}`, {
      method,
      signal,
      headers: { authorization: `Bearer ${scene.adminToken}` }
    })
    return response.text()
  }).pipe(
    Effect.timeout("60 seconds"),
    Effect.flatMap(Schema.decodeUnknownEffect(Schema.fromJsonString(answer)))
  )

const percentile = (values: ReadonlyArray<number>, share: number) =>
  values.toSorted((one, other) => one - other)[Math.ceil(values.length * share) - 1] ?? 0

const outcomesOf = (tally: Tally) =>
  [...tally.outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(", ")

const printed = (
  plan: Plan,
  { faults, samples, settled, tally, violations }: Report,
  struckFor: number,
  millis: number
) =>
  [
    `faults: seed ${plan.seed}, ${(millis / 1000).toFixed(1)} s (${(struckFor / 1000).toFixed(1)} s of faults, then checks)`,
    `  ${tally.operations} operations; ${outcomesOf(tally)}`,
    ...[...faults].map(
      ([kind, { landed, recoveries, struck }]) =>
        `  ${kind}: struck ${struck}, landed ${landed}, works again after ${percentile(recoveries, 0.5)} ms (most ${Math.max(...recoveries)} ms)`
    ),
    `  ${settled} challenges settled, ${samples} samples, ${tally.acknowledged.length} receipts, ${tally.registered.length} registrations, ${tally.granted.length} grants and ${tally.held.size} lost answers checked, ${violations.length} violations`
  ].join("\n")

/** A fault that has never hit its aim is tried this often. */
const maxTries = 6

/** Strikes while agents predict, and waits each time until an operation that began after the fault is acknowledged. */
const strikes = Effect.fnUntraced(function* (faults: ReadonlyArray<Fault>, plan: Plan, tally: Tally) {
  const reports = new Map<string, KindReport>()
  const strikeOnce = Effect.fnUntraced(function* ({ kind, strike }: Fault) {
    const report = reports.get(kind) ?? { struck: 0, landed: 0, recoveries: [] }
    reports.set(kind, report)
    const known = tally.acknowledged.length
    const busy = Effect.sync(() => tally.acknowledged.length >= known + plan.agents)
    yield* until(`agents predict before: ${kind}`, busy)
    const { at, landed } = yield* strike
    const works = Effect.sync(() => tally.lastAcknowledgedStart > at)
    yield* until(`works again after: ${kind}`, works)
    report.struck += 1
    report.recoveries.push((yield* Clock.currentTimeMillis) - at)
    if (yield* landed) report.landed += 1
  })
  for (let round = 0; round < plan.rounds; round++) {
    for (const fault of yield* Random.shuffle(faults)) yield* strikeOnce(fault)
  }
  for (let attempt = 1; attempt < maxTries; attempt++) {
    for (const fault of faults) if (reports.get(fault.kind)?.landed === 0) yield* strikeOnce(fault)
  }
  return reports
})

export const campaign = Effect.fnUntraced(function* (scene: Scene, plan: Plan) {
  const began = yield* Clock.currentTimeMillis
  const { query } = scene
  const agents = yield* query(
    Effect.gen(function* () {
      yield* makePrices(Duration.minutes(15))
      yield* makeAgents("voter", plan.voters)
      return yield* makeAgents("agent", plan.agents)
    })
  )

  const violations: Array<string> = []
  const challenges: Array<Open> = []
  const counts = { samples: 0 }
  const background = Effect.gen(function* () {
    const open = yield* query(makeChallenge(openFor))
    challenges.push(open)
  })
  const sampling = Effect.gen(function* () {
    const found = yield* query(sampledFindings)
    violations.push(...found.map((finding) => `in a sample: ${finding}`))
    counts.samples += 1
  })
  // While the database is away, nothing can be made or sampled.
  const whenPossible = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.timeout("5 seconds"),
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          const error = Cause.squash(cause)
          if (SqlError.isSqlError(error) && error.reason._tag === "SqlSyntaxError") {
            violations.push(`the harness: ${Cause.pretty(cause)}`)
          }
        })
      )
    )

  const { faults, tally } = yield* Effect.scoped(
    Effect.gen(function* () {
      yield* Effect.forkScoped(Effect.repeat(whenPossible(background), Schedule.spaced(everySoOften)))
      yield* Effect.forkScoped(Effect.repeat(whenPossible(sampling), Schedule.spaced("300 millis")))
      yield* until(
        "a challenge is open",
        Effect.sync(() => challenges.length > 0)
      )
      const load = yield* startLoad({
        url: scene.url,
        adminToken: scene.adminToken,
        agents,
        challenges,
        seed: plan.seed
      })
      const { tally } = load
      const tellSoFar = Effect.gen(function* () {
        const left = (challenges.at(-1)?.deadline ?? 0) - (yield* Clock.currentTimeMillis)
        yield* Console.log(
          `faults: seed ${plan.seed}, given up: ${outcomesOf(tally)}; ${counts.samples} samples; newest challenge closes in ${left} ms`
        )
        yield* Console.log(
          [...tally.violations, ...violations, ...(yield* scene.deaths), scene.log().slice(-4000)].join("\n")
        )
      })
      const faults = yield* strikes(scene.faults, plan, tally).pipe(
        Random.withSeed(plan.seed),
        Effect.onError(() => tellSoFar)
      )
      yield* load.end
      return { tally, faults }
    })
  )

  const struckFor = (yield* Clock.currentTimeMillis) - began
  yield* until(
    "everything that is due is settled",
    Effect.map(query(unsettled), (left) => left.length === 0)
  )
  violations.push(...tally.violations, ...(yield* query(finalFindings(tally))))

  const before = yield* query(fingerprint)
  const again = yield* asAdmin(scene, "POST", "/settle", Settlement)
  if (again.resolved.length + again.cancelled.length + again.closed > 0) {
    violations.push(`a second settlement did something: ${JSON.stringify(again)}`)
  }
  if ((yield* query(fingerprint)) !== before) violations.push("a second settlement changed rows")
  const figures = yield* asAdmin(scene, "GET", "/figures/check", Figures)
  violations.push(...figures.differences.map((difference) => `figures: ${difference}`))
  const ledger = yield* asAdmin(scene, "GET", "/ledger/check", Ledger)
  violations.push(...ledger.differences.map((difference) => `ledger: ${difference}`))
  const failed = scene.log().match(/.*"a request failed".*/g) ?? []
  violations.push(...failed.map((line) => line.slice(0, 1500)), ...(yield* scene.deaths))

  const settled = yield* query(settledChallenges)
  const millis = (yield* Clock.currentTimeMillis) - began
  const report: Report = {
    tally,
    faults,
    samples: counts.samples,
    settled,
    violations: [...new Set(violations)]
  }
  yield* Console.log(printed(plan, report, struckFor, millis))
  return report
})
