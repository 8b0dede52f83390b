/**
 * Any number of replicas may ingest feeds at once. The replica that moves `due_at` asks the feed, and moves it again after the
 * answer, so a replica that dies only delays the next request. Items are stored with the answer's validators in one transaction: an
 * answer that was not stored is asked for again.
 */
import { Cause, DateTime, Duration, Effect, Layer, Result, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { FeedIngestion, FeedsUnusable } from "../../../services/Events.ts"
import type { FeedSource } from "../../../services/Events.ts"
import { Settings } from "../../../services/Settings.ts"
import { feedItems } from "../../feeds/feedItems.ts"
import type { FeedItem } from "../../feeds/feedItems.ts"
import { fetchFeed } from "../../feeds/feeds.ts"
import type { FeedAnswer, Validators } from "../../feeds/feeds.ts"
import type { FetchFailed } from "../../keys/fetchDocument.ts"
import { insertEventNotices } from "../notices/insertNotices.ts"
import { arrayParam, boundNow, execute, findAll, findOne, timestamp, transaction } from "../sql.ts"

const concurrency = 4
/** Longer than any feed takes to answer, redirects included. After it, another replica asks. */
const lease = Duration.minutes(2)
const maxPause = Duration.hours(6)
const maxReason = 300
/** An advisory lock (any fixed number) under which items are stored, so that an item of two feeds is stored once. */
const storeLock = 4_280_771_021n

const Due = Schema.Struct({
  url: Schema.String,
  etag: Schema.NullOr(Schema.String),
  last_modified: Schema.NullOr(Schema.String),
  warning: Schema.NullOr(Schema.String)
})

/** True if no byte of an item's texts was replaced because it could not be decoded. */
const isWhole = ({ summary, title, url }: FeedItem): boolean =>
  ![title, summary, url].some((text) => text?.includes("\ufffd") === true)

/** A line for the operator about a document that was accepted in part; null if all of it was understood. */
const warningOf = (
  items: ReadonlyArray<FeedItem>,
  leftOut: number,
  misread: string | undefined
): string | null => {
  const undated = items.filter(({ isPublishedAtKnown }) => !isPublishedAtKnown)
  const stated = undated.flatMap(({ stated = [] }) => stated).at(-1)
  const parts = [
    ...(misread === undefined ? [] : [`${misread}; ${leftOut} items with such bytes are left out`]),
    ...(undated.length === 0
      ? []
      : [
          `${undated.length} of ${items.length} items state no time in the past with a zone that can be read` +
            (stated === undefined ? "" : `, such as "${stated.slice(0, 100)}"`)
        ])
  ]
  return parts.length === 0 ? null : parts.join("; ").toWellFormed().replaceAll("\0", "")
}

type Fetch = (
  url: string,
  validators: Validators,
  ownMachine: boolean
) => Effect.Effect<FeedAnswer, FetchFailed>

/** Tests replace `fetch`. */
export const make = Effect.fnUntraced(function* (feeds: ReadonlyArray<FeedSource>, fetch: Fetch = fetchFeed) {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const { feedInterval, ownMachineUrls: ownMachine } = yield* Settings
  const due = findAll(Due)
  const counted = findOne(Schema.Struct({ stored: Schema.Int }))
  const unknownAssets = findAll(Schema.Struct({ asset: Schema.String }))
  const sources = new Map(feeds.map((feed) => [feed.url, feed]))

  const assets = [...new Set(feeds.flatMap((feed) => feed.assets ?? []))]
  const [unknown] = yield* unknownAssets(sql`
    select asset from unnest(${arrayParam("text", assets)}) as a (asset)
     where asset not in (select key from targets)`)
  if (unknown !== undefined) {
    return yield* new FeedsUnusable({
      message: `AUSPEX_EVENT_FEEDS cannot be used: "${unknown.asset}" is not a target`
    })
  }

  const urls = arrayParam("text", [...sources.keys()])

  const enlist = (now: DateTime.Utc) =>
    execute(sql`
      insert into feeds (url, due_at) select url, ${timestamp(now)} from unnest(${urls}) as f (url) order by url
      on conflict do nothing`)

  /**
   * Claims the feed that has waited longest, of those that were due when the run began. One at a time: of many claimed at once, the
   * last would still wait when its lease ends, and another replica would ask it, too.
   */
  const claimNext = Effect.fnUntraced(function* (began: DateTime.Utc) {
    const now = yield* boundNow(sql)
    const [claimed] = yield* due(sql`
      update feeds f set due_at = ${timestamp(DateTime.addDuration(now, lease))}, asked_at = ${timestamp(now)}
        from (select url from feeds where url = any(${urls}) and due_at <= ${timestamp(began)}
               order by due_at, url limit 1 for update skip locked) d
       where f.url = d.url
      returning f.url, f.etag, f.last_modified, f.warning`)
    return claimed
  })

  /** Makes events of the items that are not known yet. */
  const store = Effect.fnUntraced(function* (
    { assets = [], source, spaces = [], url }: FeedSource,
    items: ReadonlyArray<FeedItem>,
    now: DateTime.Utc
  ) {
    const hex = (keys: ReadonlyArray<Uint8Array>) => keys.map((key) => Buffer.from(key).toString("hex"))
    const records = yield* Effect.forEach(items, (item) =>
      Effect.map(random.uuidV7(), (id) => ({
        id,
        title: item.title,
        summary: item.summary,
        url: item.url,
        published_at: timestamp(item.publishedAt),
        published_at_known: item.isPublishedAtKnown,
        names: hex(item.names),
        elsewhere: hex(item.elsewhere),
        keys: hex(item.keys)
      }))
    )
    yield* execute(sql`select pg_advisory_xact_lock(${storeLock})`)
    return yield* counted(sql`
      with item as (
        select * from jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as r
          (id text, title text, summary text, url text, published_at timestamptz, published_at_known boolean,
           names text[], elsewhere text[], keys text[])
      ),
      found as (
        select i.*,
               (select f.event_id
                  from unnest(i.names || i.elsewhere) with ordinality as k (hex, position)
                  join feed_items f on f.key = decode(k.hex, 'hex')
                 where k.position <= cardinality(i.names) or f.feed_url <> ${url}
                 order by k.position limit 1) as event_id
          from item i
      ),
      made as (
        insert into events (id, title, summary, url, source, published_at, published_at_known, spaces, assets, created_at, updated_at)
        select id, title, summary, url, ${source}, published_at, published_at_known, ${arrayParam("text", spaces)},
               ${arrayParam("text", assets)}, ${timestamp(now)}, ${timestamp(now)}
          from found where event_id is null order by id
        returning *
      ),
      inserted_notices as (${insertEventNotices(sql, sql`made e`)}),
      known as (
        -- Known items get their other keys here, too: an item may come back by any of them.
        insert into feed_items (key, event_id, feed_url, seen_at)
        select distinct on (k.hex) decode(k.hex, 'hex'), coalesce(i.event_id, i.id), ${url}, ${timestamp(now)}
          from found i cross join unnest(i.keys) as k (hex)
         order by k.hex
        on conflict (key) do nothing
      )
      select count(*)::int as stored from made`)
  })

  const settle = (url: string, answer: FeedAnswer, warning: string | null, now: DateTime.Utc) =>
    execute(sql`
      update feeds set due_at = ${timestamp(DateTime.addDuration(now, feedInterval))}, answered_at = ${timestamp(now)}, failures = 0,
                       failure = null, warning = ${warning},
                       etag = case when ${answer.changed} then ${answer.changed ? answer.etag : null} else etag end,
                       last_modified = case when ${answer.changed} then ${answer.changed ? answer.last_modified : null}
                                            else last_modified end
       where url = ${url}`)

  const postpone = (url: string, reason: string, now: DateTime.Utc) =>
    execute(sql`
      update feeds set failures = failures + 1, failure = ${reason},
                       due_at = ${timestamp(now)}::timestamptz + least(
                         make_interval(secs => ${Duration.toSeconds(feedInterval)}::float8 * 2 ^ least(failures, 20)),
                         make_interval(secs => ${Duration.toSeconds(maxPause)}::float8))
       where url = ${url}`)

  const take = Effect.fnUntraced(function* (
    feed: FeedSource,
    { etag, last_modified, warning: known }: typeof Due.Type
  ) {
    const answer = yield* fetch(feed.url, { etag, last_modified }, ownMachine).pipe(
      Effect.mapError(({ reason }) => reason)
    )
    const now = yield* boundNow(sql)
    const read = answer.changed
      ? yield* Effect.try({
          try: () => feedItems(answer.document, feed.url, now, answer.url),
          catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
        })
      : []
    if (read === undefined) return yield* Effect.fail("it is no RSS, Atom or JSON feed")
    const items = answer.changed && answer.misread !== undefined ? read.filter(isWhole) : read
    const warning = answer.changed ? warningOf(items, read.length - items.length, answer.misread) : known
    const { stored } = yield* transaction(sql)(
      Effect.gen(function* () {
        const made = items.length === 0 ? { stored: 0 } : yield* store(feed, items, now)
        yield* settle(feed.url, answer, warning, now)
        return made
      })
    )
    if (warning !== null && known === null) {
      yield* Effect.logWarning("a feed was not understood in full").pipe(
        Effect.annotateLogs({ feed: feed.url, warning })
      )
    }
    if (stored > 0) {
      yield* Effect.logInfo("events were made from a feed").pipe(
        Effect.annotateLogs({ feed: feed.url, events: stored })
      )
    }
  })

  /** A failure of one feed stops no other. */
  const ask = Effect.fnUntraced(
    function* (due: typeof Due.Type) {
      const { url } = due
      const feed = sources.get(url)
      if (feed === undefined) return
      const outcome = yield* Effect.result(take(feed, due))
      if (Result.isSuccess(outcome)) return
      const reason = outcome.failure.slice(0, maxReason)
      yield* postpone(url, reason.toWellFormed().replaceAll("\0", ""), yield* boundNow(sql))
      yield* Effect.logWarning("a feed could not be read").pipe(Effect.annotateLogs({ feed: url, reason }))
    },
    Effect.catchCauseIf(
      (cause) => !Cause.hasInterrupts(cause),
      (cause) => Effect.logError("a feed could not be stored; it is fetched again", cause)
    )
  )

  const askAll = Effect.fnUntraced(function* (began: DateTime.Utc) {
    let claimed = yield* claimNext(began)
    while (claimed !== undefined) {
      yield* ask(claimed)
      claimed = yield* claimNext(began)
    }
  })

  const ingestDue = Effect.gen(function* () {
    const now = yield* boundNow(sql)
    yield* enlist(now)
    yield* Effect.replicateEffect(askAll(now), concurrency, { concurrency: "unbounded", discard: true })
  }).pipe(Effect.withSpan("FeedIngestion.ingestDue"))

  return FeedIngestion.of({ ingestDue })
})

export const layer = (feeds: ReadonlyArray<FeedSource>) => Layer.effect(FeedIngestion, make(feeds))
