/**
 * One statement for requests that arrive together, by Effect's `RequestResolver`. A request that finds nothing in flight is sent
 * immediately; otherwise it joins the next batch. So an idle service answers without delay, and under load one statement serves many
 * requests. After 10 ms a second statement is sent beside the first, so that one that waits for a lock delays nobody for long. There
 * is never a third, and a request fails if no statement has begun to serve it within 4 s.
 *
 * The resolver's own limit (`batchN`) would send a full batch past this wait, so larger batches are cut here.
 */
import {
  Array as Arr,
  Clock,
  Duration,
  Effect,
  Exit,
  Option,
  Request,
  RequestResolver,
  Semaphore
} from "effect"
import type { Cause } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { StoreUnavailable, storeUnavailableIn } from "../../services/domain/errors.ts"
import { isInTransaction } from "./sql.ts"

export interface Options<In, Out> {
  /** Answers each item at its place, by a short statement of this client. */
  readonly run: (
    items: Arr.NonEmptyReadonlyArray<In>,
    sql: SqlClient.SqlClient
  ) => Effect.Effect<ReadonlyArray<Out>>
  /** Items of one key never share a statement. */
  readonly exclusive?: (item: In) => string
  /** The largest batch; 1 turns batching off. */
  readonly maxSize: number
  /** The maximum wait of a batch for the statement before it; 10 ms by default. */
  readonly maxBatchWait?: Duration.Input
  /** The maximum wait of a request for its batch to begin; 4 s by default. */
  readonly maxQueueTime?: Duration.Input
}

interface Item<In, Out> extends Request.Request<Out> {
  readonly item: In
  /** Time in milliseconds. */
  readonly since: number
}

type Batch<In, Out> = Arr.NonEmptyReadonlyArray<Request.Entry<Item<In, Out>>>

const maxInFlight = 2

/** This is several times the duration of a statement. */
const usualMaxBatchWait = "10 millis"

/** This equals the wait of a statement for a connection. */
const usualMaxQueueTime = "4 seconds"

/** PostgreSQL answers in real time, whatever the clock of a test. */
const realClock = Clock.Clock.defaultValue()

/** Failures that one item of a batch may cause. */
const waits: ReadonlySet<string> = new Set(["LockTimeoutError", "DeadlockError"])

const queued = new Error("statements of other requests were not answered in time")

/** True if the database is away, so that single items would fail, too. */
const isAway = (failure: Cause.Cause<never>): boolean =>
  storeUnavailableIn(failure).some(
    ({ cause }) => !(SqlError.isSqlError(cause) && waits.has(cause.reason._tag))
  )

/** Batches of at most `maxSize`, in none of which a key occurs twice. */
const cut = <In, Out>(
  entries: Batch<In, Out>,
  { exclusive, maxSize }: Pick<Options<In, Out>, "exclusive" | "maxSize">
): ReadonlyArray<Batch<In, Out>> => {
  if (exclusive === undefined) return Arr.chunksOf(entries, maxSize)
  const seen = new Map<string, number>()
  const turns = Arr.groupBy(entries, ({ request }) => {
    const key = exclusive(request.item)
    const turn = seen.get(key) ?? 0
    seen.set(key, turn + 1)
    return String(turn)
  })
  return Object.values(turns).flatMap((turn) => Arr.chunksOf(turn, maxSize))
}

export interface RequestBatcher<In, Out> {
  /** Answers one item, in a batch with those of others. */
  (item: In): Effect.Effect<Out>
  /** Answers items of one caller, no two with one key, each at its place. Several items get a statement of their own. */
  readonly all: (items: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>>
}

/**
 * Answers items by batches. The items of a batch that fails are tried alone, so that one fails no other. A caller in a transaction is
 * served alone, within it, and fails as a whole.
 */
export const make = Effect.fnUntraced(function* <In, Out>(options: Options<In, Out>) {
  const sql = yield* SqlClient.SqlClient
  const slots = yield* Semaphore.make(maxInFlight)
  const request = Request.of<Item<In, Out>>()

  const answers = (items: Arr.NonEmptyReadonlyArray<In>) =>
    Effect.suspend(() => options.run(items, sql)).pipe(
      Effect.filterOrElse(
        (outs) => outs.length === items.length,
        (outs) => Effect.die(new Error(`a batch of ${items.length} got ${outs.length} answers`))
      )
    )

  const serve = (batch: Batch<In, Out>): Effect.Effect<void> =>
    Effect.flatMap(Effect.exit(answers(Arr.map(batch, (entry) => entry.request.item))), (exit) => {
      if (Exit.isFailure(exit) && batch.length > 1 && !isAway(exit.cause)) {
        return Effect.forEach(batch, (entry) => serve([entry]), { discard: true })
      }
      for (const [index, entry] of batch.entries()) {
        entry.completeUnsafe(Exit.map(exit, (outs) => Arr.getUnsafe(outs, index)))
      }
      return Effect.void
    })

  const { maxQueueTime = usualMaxQueueTime, maxBatchWait = usualMaxBatchWait } = options
  const idle = slots.withPermitsIfAvailable(maxInFlight)(Effect.void)
  const waited = Effect.andThen(
    Effect.timeoutOption(slots.withPermits(maxInFlight)(Effect.void), maxBatchWait),
    slots.withPermit(Effect.void)
  )
  /** Collects items until nothing is in flight or the first item has waited long enough. */
  const gathered = Effect.yieldNow.pipe(
    Effect.andThen(idle),
    Effect.flatMap((free) =>
      Option.isSome(free) ? Effect.void : Effect.timeoutOption(waited, maxQueueTime)
    ),
    Effect.provideService(Clock.Clock, realClock)
  )
  /** Runs a batch in a slot; it fails if none is free in time. */
  const inSlot = (entries: Batch<In, Out>) =>
    Effect.suspend(() => {
      let state: "queued" | "begun" | "refused" = "queued"
      const work = Effect.suspend(() => {
        if (state === "refused") return Effect.void
        state = "begun"
        return Effect.forEach(cut(entries, options), serve, { discard: true })
      })
      const refuse = Effect.suspend(() => {
        if (state === "begun") return Effect.never
        state = "refused"
        for (const entry of entries) entry.completeUnsafe(Exit.die(new StoreUnavailable({ cause: queued })))
        return Effect.void
      })
      const waitedFor = realClock.currentTimeMillisUnsafe() - Arr.headNonEmpty(entries).request.since
      const rest = Math.max(0, Duration.toMillis(maxQueueTime) - waitedFor)
      return Effect.flatMap(slots.withPermitsIfAvailable(1)(work), (done) =>
        Option.isSome(done)
          ? Effect.void
          : Effect.raceFirst(
              slots.withPermit(work),
              Effect.andThen(Effect.sleep(rest), refuse).pipe(Effect.provideService(Clock.Clock, realClock))
            )
      )
    })
  const resolver = RequestResolver.make<Item<In, Out>>(inSlot).pipe(RequestResolver.setDelayEffect(gathered))

  const asBatch = (items: Arr.NonEmptyReadonlyArray<In>) =>
    Effect.flatMap(Effect.all([Effect.exit(answers(items)), isInTransaction(sql)]), ([exit, isPart]) =>
      Exit.isFailure(exit) && items.length > 1 && !isPart && !isAway(exit.cause)
        ? Effect.map(
            Effect.forEach(items, (item) => answers([item])),
            Arr.flatten
          )
        : exit
    )
  const one = (item: In): Effect.Effect<Out> =>
    Effect.flatMap(isInTransaction(sql), (isPart) =>
      isPart || options.maxSize === 1
        ? Effect.map(answers([item]), Arr.getUnsafe(0))
        : Effect.request(request({ item, since: realClock.currentTimeMillisUnsafe() }), resolver)
    )
  const all = (items: ReadonlyArray<In>): Effect.Effect<ReadonlyArray<Out>> =>
    items.length > 1 && Arr.isReadonlyArrayNonEmpty(items)
      ? Effect.map(Effect.forEach(Arr.chunksOf(items, options.maxSize), asBatch), Arr.flatten)
      : Effect.forEach(items, one)
  const batcher: RequestBatcher<In, Out> = Object.assign(one, { all })
  return batcher
})
