/**
 * Notices in PostgreSQL (docs/notices.md). A statement inserts a notice without a place, in the transaction of its cause. The
 * sequencer gives places to committed notices, one instance at a time, so no reader ever sees a place before those below it. The
 * results of each agent in a settlement are not written as notices but read from the scores: they have the place of the settlement's
 * own notice.
 */
import {
  Cause,
  DateTime,
  Duration,
  Effect,
  Fiber,
  FiberMap,
  Layer,
  Metric,
  Option,
  Queue,
  Schedule,
  Schema
} from "effect"
import { SqlClient } from "effect/sql"
import { Health } from "../../../services/Health.ts"
import {
  CursorExpired,
  Notice,
  Notices,
  WaitRefused,
  isPublicType,
  noticeTypes,
  publicTypes
} from "../../../services/Notices.ts"
import type { NoticeQuery, NoticeRead, NoticeType, Reader } from "../../../services/Notices.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { AgentId } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { countedAddress } from "../../../services/RateLimiter.ts"
import { Settings } from "../../../services/Settings.ts"
import { Notifications } from "../Notifications.ts"
import { settlementNotices, stakeNotices } from "./derived.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import {
  boundTime,
  execute,
  findAll,
  findOne,
  findOption,
  isoTimestamp,
  orDie,
  rowsOf,
  transaction
} from "../sql.ts"

const channel = "notices"

/** Readers look for notices this often even without a notification. */
const pollInterval = Duration.seconds(2)
const pauseAfterFailure = Duration.seconds(1)

/** The number of notices that one statement sequences or reads. */
const batch = 1000

/** The number of settlements in which one read looks for an agent's scores. */
const maxScanned = 50

/** The number of readers that one statement serves. */
const maxReaders = 250

/** The readers without a token that may wait from one address, or from one IPv6 network of the size that providers give to a customer. */
const maxOfNetwork = 20
const networkBits = 56

/** The number of notices that one run deletes. */
const maxTrimmed = 10_000

/**
 * A place has four positions of cursors: for the written notice, for the agent's results derived from it (of a prediction and of a
 * stake), and after all three.
 */
const parts = 4
const afterAll = (seq: number): number => seq * parts + parts - 1

/** Notices derived from settlements, by the type of public notice that they are read from. */
const derived: Partial<Record<NoticeType, ReadonlyArray<NoticeType>>> = {
  "prediction.settled": ["challenge.settled", "challenge.amended"],
  "stake.settled": ["challenge.settled", "challenge.void"]
}

/** A place, and the end of the id of the notice there: a restored database may have given the place to another notice. */
const Key = Schema.Struct({ at: Schema.Int, mark: Schema.String })
type Key = typeof Key.Type

const waitingGauge = Metric.gauge("notices_waiting_readers", {
  description: "Readers that wait for notices on this instance"
})

const HeadRow = Schema.Struct({ head: Schema.Finite, mark: Schema.String, pending: Schema.Boolean })

const SeenRow = Schema.Struct({
  seq: Schema.Finite,
  type: Schema.Literals(noticeTypes),
  agent_id: Schema.NullOr(AgentId)
})

const ReadRow = Schema.Struct({
  head: Schema.Finite,
  floor: Schema.Finite,
  floor_mark: Schema.String,
  /** The mark of the notice at the cursor's place; null if there is none. */
  known_mark: Schema.NullOr(Schema.String),
  /** All places up to here were read. */
  horizon: Schema.Finite,
  horizon_mark: Schema.String,
  notices: Schema.Array(Schema.Struct({ at: Schema.Finite, mark: Schema.String, notice: Notice }))
})

interface ReaderQuery {
  readonly reader: Reader
  readonly after: Key
  readonly types: ReadonlyArray<NoticeType>
  readonly limit: number
}

interface Waiter {
  readonly reader: Reader
  readonly types: ReadonlySet<NoticeType>
  readonly wake: () => void
}

/** The end of an id, which is random. */
const mark = (sql: SqlClient.SqlClient, id: string) => sql.literal(`right(${id}::text, 12)`)

/** Selects the mark of the notice at the place `seq`, empty if there is none. */
const markAt = (sql: SqlClient.SqlClient, seq: string) =>
  sql`coalesce((select ${mark(sql, "id")} from notices where seq = ${sql.literal(seq)}), '')`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const health = yield* Health
  const { maxWaitingReaders, noticeRetention } = yield* Settings
  const notifications = yield* Notifications
  const pages = (yield* Cursors).list("notices", Key)
  const headRow = findOne(HeadRow)
  const seenRows = findAll(SeenRow)
  const lockedRow = findOption(Schema.Struct({ head: Schema.Finite }))

  /** The last place whose readers were woken. */
  let seen = 0
  let waiting = 0
  /** The waiting readers that have no token. */
  const anonymous = new Set<{ readonly network: string | undefined }>()
  const isDraining = () => health.phase() !== "serving"
  const waiters = new Set<Waiter>()
  const publicWaits = yield* FiberMap.make<string, NoticeRead, InvalidRequest | CursorExpired>()
  // The gauge exists from the start, so that alerts find it.
  yield* Metric.update(waitingGauge, 0)

  // A number would be bound as float8, for which no index of integers is used.
  const batchSize = sql.literal(String(batch))
  const partCount = sql.literal(String(parts))
  const scanned = sql.literal(String(maxScanned))
  const seqOf = sql.literal(`(r.after / ${parts})`)

  /**
   * Serves several readers by one statement, each from indexes alone. Conditions and order use pairs, so that notices of a type are
   * found by the index that begins with the type: the index of places would pass all others.
   */
  const readOf = (queries: ReadonlyArray<ReaderQuery>, client: SqlClient.SqlClient) => {
    const ofSettlement = (type: NoticeType, part: number) => ({
      source: client`scanned n`,
      agentId: "r.agent_id",
      columns: client`n.seq, ${client.literal(String(part))}, n.id as written, n.created_at`,
      condition: client`${client.literal(`'${type}'`)} = any(string_to_array(r.own_types, ','))`
    })
    return findAll(ReadRow)(client`
      select s.head::float8, s.floor::float8, ${markAt(client, "s.floor")} as floor_mark,
             (select ${mark(client, "id")} from notices where seq = ${seqOf}) as known_mark,
             page.horizon::float8, ${markAt(client, "page.horizon")} as horizon_mark, page.notices
        from ${rowsOf(client, "r", queries, {
          agent_id: ["uuid", ({ reader }) => (reader === "public" ? null : reader)],
          after: ["int8", ({ after }) => BigInt(after.at)],
          public_types: ["text", ({ types }) => types.filter(isPublicType).join(",")],
          own_types: ["text", ({ types }) => types.filter((type) => !isPublicType(type)).join(",")],
          bases: [
            "text",
            ({ types }) => [...new Set(types.flatMap((type) => derived[type] ?? []))].join(",")
          ],
          max: ["int4", ({ limit }) => limit]
        })}
       cross join (select head, floor from notice_state) s
       cross join lateral (
         with scanned as materialized (
           select n.* from unnest(string_to_array(r.bases, ',')) b (type)
            cross join lateral (
              select seq, id, type, subject, data, created_at from notices
               where agent_id is null and (type, seq) >= (b.type, ${seqOf}) and (type, seq) <= (b.type, s.head)
               order by type, seq limit ${scanned}) n
            where r.agent_id is not null
            order by n.seq limit ${scanned}
         ),
         horizon as (
           select case when count(*) < ${scanned} then s.head else max(seq) end as seq from scanned
         ),
         candidates as (
           select n.seq, 0 as part, n.id as written, n.created_at, n.id, n.type, n.subject, n.data
             from unnest(string_to_array(r.public_types, ',')) t (type)
            cross join lateral (
              select seq, id, type, subject, data, created_at from notices
               where agent_id is null and (type, seq) > (t.type, ${seqOf}) and (type, seq) <= (t.type, s.head)
               order by type, seq limit r.max) n
           union all
           select n.seq, 0, n.id, n.created_at, n.id, n.type, n.subject, n.data
             from (
               select seq, id, type, subject, data, created_at from notices
                where agent_id = r.agent_id and seq > ${seqOf} and seq <= s.head
                  and type = any(string_to_array(r.own_types, ','))
                order by seq limit r.max) n
           union all
           ${settlementNotices(client, ofSettlement("prediction.settled", 1))}
           union all
           ${stakeNotices(client, ofSettlement("stake.settled", 2))}
         ),
         shown as (
           select t.seq * ${partCount} + t.part as at, t.written, t.id, t.type, t.subject, t.data, t.created_at
             from candidates t join horizon h on t.seq <= h.seq
            where t.seq * ${partCount} + t.part > r.after
            order by 1 limit r.max
         )
         select (select seq from horizon) as horizon,
                (select coalesce(jsonb_agg(jsonb_build_object(
                          'at', at, 'mark', ${mark(client, "written")},
                          'notice', jsonb_build_object('id', id, 'type', type, 'created_at', ${isoTimestamp(client, "created_at")},
                                                       'subject', subject, 'data', data)) order by at), '[]')
                   from shown) as notices
       ) page
       order by r.position`)
  }

  /** Readers that wait for the same notices, as streams of public notices do, share one read. */
  const run = Effect.fnUntraced(function* (queries: ReadonlyArray<ReaderQuery>, client: SqlClient.SqlClient) {
    const different = [...new Map(queries.map((each) => [JSON.stringify(each), each]))]
    const rows = yield* readOf(
      different.map(([, each]) => each),
      client
    )
    const found = new Map(different.map(([key], place) => [key, rows[place]]))
    return queries.flatMap((each) => found.get(JSON.stringify(each)) ?? [])
  })

  const reads = yield* RequestBatcher.make({ run, maxSize: maxReaders })

  /** Reads the notices after the cursor of a query. */
  const readPage = Effect.fnUntraced(function* (reader: Reader, query: NoticeQuery) {
    const { after, cursorAfter } = yield* pages
      .decode({ limit: query.limit, cursor: query.after }, reader)
      .pipe(
        Effect.mapError(() =>
          InvalidRequest.of("after", "Expected a cursor that this reader was given, unchanged")
        )
      )
    const types = query.types ?? (reader === "public" ? publicTypes : noticeTypes)
    const row = yield* reads({ reader, after: after ?? { at: 0, mark: "" }, types, limit: query.limit })
    const start = { at: afterAll(row.floor), mark: row.floor_mark }
    if (after !== undefined && isExpired(after, row)) {
      return yield* new CursorExpired({
        detail: "The notices after this cursor are not kept any more: go on from start.",
        start: cursorAfter(start)
      })
    }
    const notices = row.notices.map(({ at, mark: ofNotice, notice }) => ({
      cursor: cursorAfter({ at, mark: ofNotice }),
      notice
    }))
    const last = notices.length < query.limit ? undefined : notices.at(-1)
    return {
      notices,
      cursor: last?.cursor ?? cursorAfter({ at: afterAll(row.horizon), mark: row.horizon_mark }),
      // If false, there may be more.
      isAll: last === undefined && row.horizon === row.head,
      head: row.head,
      types
    }
  })

  const withEnding = ({ cursor, notices }: Omit<NoticeRead, "isEnding">): NoticeRead => ({
    cursor,
    notices,
    isEnding: isDraining()
  })

  const read: Notices["Service"]["read"] = Effect.fn("Notices.read")(function* (reader, query) {
    return withEnding(yield* readPage(reader, query))
  })

  /** Waits until a notice of these types comes after `head`. */
  const woken = (reader: Reader, types: Iterable<NoticeType>, head: number) =>
    Effect.callback<void>((resume) => {
      if (seen > head || isDraining()) return resume(Effect.void)
      const waiter: Waiter = {
        reader,
        types: new Set([...types].flatMap((type) => [type, ...(derived[type] ?? [])])),
        wake: () => {
          waiters.delete(waiter)
          resume(Effect.void)
        }
      }
      waiters.add(waiter)
      return Effect.sync(() => waiters.delete(waiter))
    })

  const wait = Effect.fn("Notices.next")(function* (
    reader: Reader,
    query: NoticeQuery,
    atMost: Duration.Duration
  ) {
    let found = yield* readPage(reader, query)
    const look = Effect.gen(function* () {
      while (found.notices.length === 0 && !isDraining()) {
        if (found.isAll) yield* woken(reader, found.types, found.head)
        found = yield* readPage(reader, { ...query, after: found.cursor })
      }
    })
    yield* Effect.timeoutOption(look, atMost)
    return withEnding(found)
  })

  /** Readers at the same place share one wait for public notices. */
  const waitTogether = Effect.fnUntraced(function* (query: NoticeQuery, atMost: Duration.Duration) {
    const key = JSON.stringify(query)
    const running = FiberMap.getUnsafe(publicWaits, key)
    return yield* Fiber.join(
      Option.isSome(running)
        ? running.value
        : yield* FiberMap.run(publicWaits, key, wait("public", query, atMost))
    )
  })

  const next: Notices["Service"]["next"] = (reader, query, atMost) =>
    reader === "public" ? waitTogether(query, atMost) : wait(reader, query, atMost)

  const until: Notices["Service"]["until"] = Effect.fnUntraced(
    function* (agentId, types, wait, look, isFound) {
      let head = seen
      let found = yield* look
      if (isFound(found)) return found
      const again = Effect.gen(function* () {
        yield* reserveWaiter("agent")
        while (!isFound(found) && !isDraining()) {
          yield* woken(agentId, types, head)
          head = seen
          found = yield* look
        }
      })
      yield* Effect.timeoutOption(Effect.scoped(again), wait)
      return found
    }
  )

  const latest: Notices["Service"]["latest"] = Effect.fn("Notices.latest")(function* (reader) {
    const { head, mark: ofHead } = yield* noticeState
    const { cursorAfter } = yield* Effect.orDie(pages.decode({ limit: 1, cursor: undefined }, reader))
    return cursorAfter({ at: afterAll(head), mark: ofHead })
  })

  /** Names the reason that no reader may wait now, if there is one. */
  const whyRefused = (network: string | undefined): string | undefined => {
    if (isDraining()) return "This instance is shutting down: come again."
    if (waiting >= maxWaitingReaders) {
      return `${maxWaitingReaders} readers wait on this instance, as many as may: read without waiting, or come again.`
    }
    if (network === undefined) return undefined
    if (anonymous.size >= maxWaitingReaders / 2) {
      return "As many readers without a token wait on this instance as may: read without waiting, or come again."
    }
    const ofNetwork = [...anonymous].filter((each) => each.network === network).length
    return ofNetwork < maxOfNetwork
      ? undefined
      : `${maxOfNetwork} readers without a token wait from this address, as many as may: read without waiting.`
  }

  const reserveWaiter: Notices["Service"]["reserveWaiter"] = (of) =>
    Effect.suspend(() => {
      const network = of === "agent" ? undefined : countedAddress(of.address, networkBits)
      const detail = whyRefused(network)
      if (detail !== undefined)
        return Effect.fail(new WaitRefused({ detail, retry_after: isDraining() ? 1 : 10 }))
      const waiter = { network }
      const move = (by: 1 | -1) =>
        Effect.suspend(() => {
          waiting += by
          if (by === -1) anonymous.delete(waiter)
          else if (network !== undefined) anonymous.add(waiter)
          return Metric.update(waitingGauge, waiting)
        })
      return Effect.acquireRelease(move(1), () => move(-1))
    })

  const noticeState = headRow(sql`
    select head::float8, ${markAt(sql, "head")} as mark, exists (select from notices where seq is null) as pending
      from notice_state`)

  /** Gives places to committed notices in the order of their ids; returns their number, none while another instance does it. */
  const sequence = transaction(sql)(
    Effect.gen(function* () {
      const locked = yield* lockedRow(sql`select head::float8 from notice_state for update skip locked`)
      if (Option.isNone(locked)) return 0
      const placed = yield* orDie(sql`
        with pending as (
          select id, row_number() over (order by id) as nth
            from (select id from notices where seq is null order by id limit ${batchSize}) p
        )
        update notices n set seq = ${locked.value.head}::int8 + p.nth from pending p where n.id = p.id
        returning 1`)
      if (placed.length === 0) return 0
      yield* execute(sql`update notice_state set head = head + ${placed.length}::int8`)
      yield* execute(sql`select pg_notify(${channel}, '')`)
      return placed.length
    })
  )

  const wakeAll = () => {
    for (const waiter of waiters) waiter.wake()
  }

  /** Wakes the readers of notices that came after the last look. */
  const wakeReaders = Effect.gen(function* () {
    const { head } = yield* noticeState
    // This is the first look, or the database was restored.
    if (seen === 0 || head < seen) wakeAll()
    if (waiters.size === 0) seen = head
    if (seen === head) return 0
    const rows = yield* seenRows(sql`
      select seq::float8, type, agent_id::text from notices where seq > ${seen}::int8 order by seq limit ${batchSize}`)
    const last = rows.at(-1)
    if (last === undefined) return 0
    const forAll = new Set(rows.filter(({ agent_id }) => agent_id === null).map(({ type }) => type))
    const own = new Set(rows.map(({ agent_id, type }) => `${agent_id} ${type}`))
    seen = last.seq
    for (const waiter of waiters) {
      const { reader, types } = waiter
      if ([...types].some((type) => forAll.has(type) || own.has(`${reader} ${type}`))) waiter.wake()
    }
    return rows.length
  })

  const advance: Notices["Service"]["advance"] = Effect.gen(function* () {
    if ((yield* noticeState).pending) yield* Effect.repeat(sequence, { while: (placed) => placed === batch })
    yield* Effect.repeat(wakeReaders, { while: (looked) => looked === batch })
  }).pipe(Effect.withSpan("Notices.advance"))

  const watch: Notices["Service"]["watch"] = Effect.gen(function* () {
    const signals = yield* Queue.sliding<void>(1)
    const listening = Effect.scoped(
      Effect.gen(function* () {
        const notified = yield* notifications.listen(channel)
        // No notification arrived for notices that were written before it listened.
        yield* Queue.offer(signals, undefined)
        return yield* Effect.forever(Effect.andThen(notified, Queue.offer(signals, undefined)))
      })
    ).pipe(
      Effect.catch((error) =>
        Effect.logDebug("the connection for notifications has ended; another one is opened", error)
      ),
      Effect.repeat(Schedule.spaced(pauseAfterFailure))
    )
    const advancing = Effect.timeoutOption(Queue.take(signals), pollInterval).pipe(
      Effect.andThen(advance),
      Effect.catchCauseIf(
        (cause) => !Cause.hasInterrupts(cause),
        (cause) =>
          Effect.andThen(
            Effect.logWarning("new notices could not be read; they are read again shortly", cause),
            Effect.sleep(pauseAfterFailure)
          )
      ),
      Effect.forever
    )
    return yield* Effect.andThen(Effect.forkChild(listening), advancing)
  })

  /** Deletes a prefix of the order, so that the rest has no gap. */
  const trim: Notices["Service"]["trim"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    yield* execute(sql`
      with oldest as (select seq, created_at from notices where seq is not null order by seq limit ${sql.literal(String(maxTrimmed))}),
      kept as (select min(seq) as seq from oldest where created_at >= ${boundTime(sql, now, noticeRetention)}),
      deleted as (
        delete from notices n using oldest o, kept k
         where n.seq = o.seq and (k.seq is null or o.seq < k.seq)
        returning n.seq
      )
      update notice_state set floor = d.seq from (select max(seq) as seq from deleted) d where d.seq is not null`)
  }).pipe(Effect.withSpan("Notices.trim"))

  yield* Effect.forkScoped(Effect.andThen(health.draining, Effect.sync(wakeAll)))

  return Notices.of({ read, next, latest, reserveWaiter, until, advance, watch, trim })
})

export const layer = Layer.effect(Notices, make)

/** A cursor expires if its place is no longer kept, has not been given yet, or has been given to another notice. */
const isExpired = (cursor: Key, { floor: gone, head, known_mark }: typeof ReadRow.Type): boolean => {
  const seq = Math.floor(cursor.at / parts)
  if (seq > head || cursor.at < afterAll(gone)) return true
  return seq > gone && known_mark !== cursor.mark
}
