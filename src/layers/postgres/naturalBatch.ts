/**
 * Natural batching: a lone request starts at once, and so does what arrives while it is the only one; those that arrive
 * while a statement serves several go together in the next one. So it costs no time when idle, and under load one statement
 * serves many requests. One that waits for a lock holds up nobody for long.
 */
import { Array as Arr, Context, Deferred, Effect, Exit, Option } from "effect"
import type { Cause, Scope } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { storeUnavailableIn } from "../../services/errors.ts"

interface Waiting<In, Out> {
  readonly item: In
  readonly answer: Deferred.Deferred<Out>
  /** The request's own, so that the statement stands in the trace of a request it serves. */
  readonly context: Context.Context<never>
}

type Batch<In, Out> = Arr.NonEmptyReadonlyArray<Waiting<In, Out>>

export interface Options<In, Out> {
  /** Answers each item at its place, by a short statement. */
  readonly run: (
    items: Arr.NonEmptyReadonlyArray<In>,
    sql: SqlClient.SqlClient
  ) => Effect.Effect<ReadonlyArray<Out>>
  /** Items of one key never share a batch. */
  readonly exclusive?: (item: In) => string
  /** The largest batch; 1 turns batching off. */
  readonly largest: number
  /**
   * Beside a statement for at most so many items a second one goes at once; usually 1. With 0 even a lone request keeps the
   * next ones waiting: where a statement is much work, few large ones are done sooner than many small ones.
   */
  readonly accompanied?: number
  /** For so many milliseconds a request waits for the statement before it; usually `usualPatience`. */
  readonly patience?: number
}

/** A second statement goes beside a lone request, or one that takes long; a third would only make the batches smaller. */
const inFlight = 2

/**
 * Several times what a statement takes where PostgreSQL is near: two at once, each half as large, cost everybody more than
 * that they overlap (docs/performance.md).
 */
const usualPatience = 10

/** What one item of a batch may have waited for in vain. */
const waits: ReadonlySet<string> = new Set(["LockTimeoutError", "DeadlockError"])

/** The database is away for the whole batch: each alone would wait for it once more. */
const isAway = (failure: Cause.Cause<never>): boolean =>
  storeUnavailableIn(failure).some(
    ({ cause }) => !(SqlError.isSqlError(cause) && waits.has(cause.reason._tag))
  )

/** The first of each key, and the others, which come next. */
const apart = <In, Out>(
  batch: Batch<In, Out>,
  keyOf: (item: In) => string
): { readonly now: Batch<In, Out>; readonly later: ReadonlyArray<Waiting<In, Out>> } => {
  const [first, ...others] = batch
  const seen = new Set([keyOf(first.item)])
  const [now, later] = [[] as Array<Waiting<In, Out>>, [] as Array<Waiting<In, Out>>]
  for (const each of others) {
    const key = keyOf(each.item)
    ;(seen.has(key) ? later : now).push(each)
    seen.add(key)
  }
  return { now: [first, ...now], later }
}

/**
 * A function that answers one item, by batches. What fails in company is tried alone, so that it fails nobody else. A
 * caller that is in a transaction is served alone, within it.
 */
export const make = Effect.fnUntraced(function* <In, Out>(
  options: Options<In, Out>
): Effect.fn.Return<(item: In) => Effect.Effect<Out>, never, Scope.Scope | SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const queue: Array<Waiting<In, Out>> = []
  /** Workers without work, each by what wakes it. */
  const idle: Array<(wake: Effect.Effect<void>) => void> = []
  let isWaking = false
  /** Items whose statements are on their way. */
  let underWay = 0
  let impatience: NodeJS.Timeout | undefined
  /** A request has lost its patience while both workers were busy: the first that is not any more begins. */
  let isOverdue = false

  /** One worker, when all that arrives at this moment has arrived. */
  const start = () => {
    const resume = isWaking || queue.length === 0 ? undefined : idle.pop()
    if (resume === undefined) return
    isWaking = true
    resume(Effect.yieldNow)
  }

  const { accompanied = 1 } = options
  const mayStart = () => underWay <= accompanied || isOverdue || queue.length >= options.largest

  const wake = () => {
    if (mayStart()) start()
    else {
      impatience ??= setTimeout(() => {
        isOverdue = true
        start()
      }, options.patience ?? usualPatience)
    }
  }

  const woken = Effect.callback<void>((resume) => {
    idle.push(resume)
    if (queue.length > 0) wake()
  })

  const answers = (items: Arr.NonEmptyReadonlyArray<In>) =>
    Effect.suspend(() => options.run(items, sql)).pipe(
      Effect.filterOrElse(
        (outs) => outs.length === items.length,
        (outs) => Effect.die(new Error(`a batch of ${items.length} got ${outs.length} answers`))
      )
    )

  const alone = (item: In) => Effect.map(answers([item]), Arr.getUnsafe(0))

  const attempt = (batch: Batch<In, Out>) =>
    answers(Arr.map(batch, ({ item }) => item)).pipe(
      Effect.updateContext<never, never>(() => batch[0].context),
      Effect.exit
    )

  const serve = (batch: Batch<In, Out>): Effect.Effect<void> =>
    Effect.flatMap(attempt(batch), (exit) => {
      if (Exit.isSuccess(exit)) {
        for (const [index, out] of exit.value.entries()) {
          const waiting = batch[index]
          if (waiting !== undefined) Deferred.doneUnsafe(waiting.answer, Effect.succeed(out))
        }
        return Effect.void
      }
      if (batch.length > 1 && !isAway(exit.cause)) {
        return Effect.forEach(batch, (each) => serve([each]), { discard: true })
      }
      for (const { answer } of batch) Deferred.doneUnsafe(answer, Exit.failCause(exit.cause))
      return Effect.void
    })

  // One function for all turns: V8 keeps what belongs to a generator function until all memory is collected.
  const work = Effect.gen(function* () {
    if (queue.length === 0 || !mayStart()) {
      yield* woken
      isWaking = false
    }
    let next: ReadonlyArray<Waiting<In, Out>> = queue.splice(0, options.largest)
    const taken = next.length
    clearTimeout(impatience)
    impatience = undefined
    isOverdue = false
    underWay += taken
    if (queue.length > 0) wake()
    while (Arr.isReadonlyArrayNonEmpty(next)) {
      const { later, now } =
        options.exclusive === undefined ? { now: next, later: [] } : apart(next, options.exclusive)
      yield* serve(now)
      next = later
    }
    // Those that were answered ask again first, while they still count: they would wake the other worker.
    yield* Effect.yieldNow
    underWay -= taken
  })

  for (let worker = 0; worker < inFlight; worker++)
    yield* Effect.forkScoped(Effect.forever(work, { disableYield: true }))

  return (item) =>
    Effect.contextWith((context: Context.Context<never>) => {
      const isWithin = Option.isSome(Context.getOption(context, sql.transactionService))
      if (isWithin || options.largest === 1) return alone(item)
      const waiting = { item, answer: Deferred.makeUnsafe<Out>(), context }
      queue.push(waiting)
      wake()
      return Deferred.await(waiting.answer)
    })
})
