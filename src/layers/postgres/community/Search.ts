import { Cache, Duration, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { ChallengeId } from "../../../services/domain/ids.ts"
import { targetNearly, targetsNamedIn } from "../../../services/domain/targetNames.ts"
import { isWordByItself } from "../../../services/domain/text.ts"
import { FoundAgent, FoundEvent, Search, SearchText } from "../../../services/Search.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets } from "../../../services/Targets.ts"
import { makeCostlyReads } from "../costlyReads.ts"
import { arrayParam, findAll, isoTimestamp } from "../sql.ts"

const maxFound = 20
/** The maximum number of candidates that are taken from the index, to be compared and ordered. */
const maxCompared = 500
/** The number of first rows that are read without the index. */
const maxFirst = 400
/** A search that takes longer fails, so that it does not hold its connection. */
const searchTimeout = Duration.millis(500)
/** The number of results that are cached by their words; the least recently used are dropped first. */
const maxKept = 200

/** A words index is read as a bitmap and no table is scanned; plans are made for the words of the query. */
export const searchPlanning = {
  plan_cache_mode: "force_custom_plan",
  enable_bitmapscan: "on",
  enable_seqscan: "off"
} as const

const readText = Schema.decodeEffect(SearchText)

/** Words are normalized in form and case, and marks around them are dropped, so that texts with the same words find the same results. */
const wordsOf = (text: string): ReadonlyArray<string> =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .split(/\s+/u)
    .map((word) => word.replaceAll(/^[^\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}]+$/gu, ""))
    .filter((word) => word !== "")

/** The fields that determine a result. */
interface WordQuery {
  readonly words: string
  /** The words that name no target. */
  readonly rest: string
  /** The targets that the words name. */
  readonly keys: ReadonlyArray<string>
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const targets = yield* Targets
  const agents = findAll(FoundAgent)
  const events = findAll(FoundEvent)
  const questions = findAll(Schema.Struct({ id: ChallengeId }))

  const textOf = (sent: string) =>
    readText(sent.trim()).pipe(
      Effect.catchTag("SchemaError", () =>
        InvalidRequest.of(
          "q",
          `Expected 2 to 100 characters, or one letter of a script without capitals, such as "金"`
        )
      )
    )

  const allTargets = Effect.map(targets.catalog, ({ categories }) =>
    categories.flatMap((category) => category.targets)
  )

  /** Tests that a folded text has every word of the query: the index only knows that it has the words' pairs of characters. */
  const hasAll = (text: string, words: string) => sql`
    not exists (
      select from unnest(string_to_array(search_text(${words}), ' ')) as w (word)
       where strpos(${sql.literal(text)}, w.word) = 0)`

  /**
   * The indexes know pairs of neighbouring characters, and single letters without case. If the words have neither, no index is used:
   * it would return every row.
   */
  const isIndexed = (text: string, words: string) => {
    const all = words.split(" ")
    const letters = all.filter(isWordByItself)
    const hasPairs = all.some((word) => [...word].length > 1)
    const holds = (keys: "search_grams" | "search_letters", of: string) => {
      const keysOf = sql.literal(keys)
      return sql`${keysOf}(${sql.literal(text)}) @> ${keysOf}(${of}) and ${keysOf}(${of}) <> '{}'`
    }
    return sql.and([
      ...(letters.length > 0 ? [holds("search_letters", letters.join(" "))] : []),
      ...(hasPairs || letters.length === 0 ? [holds("search_grams", words)] : [])
    ])
  }

  const agentText = "searched(name, model_provider, model_name)"
  const agentColumns = sql.literal(
    "id, name, model_provider, model_name, owner_id, reference is not null as reference"
  )

  /**
   * A frequent word occurs in some of the first rows, which are read without the index. A rare word is looked up in the index; a walk
   * along the order would read every row for it.
   */
  const firstOrIndexed = Effect.fnUntraced(function* <Row>(
    among: (candidates: Statement.Fragment) => Effect.Effect<ReadonlyArray<Row>>,
    { first, indexed }: { readonly first: Statement.Fragment; readonly indexed: Statement.Fragment }
  ) {
    const common = yield* among(first)
    return common.length === maxFound ? common : yield* among(indexed)
  })

  const agentsWith = (words: string) =>
    firstOrIndexed(
      (candidates) =>
        agents(sql`
          select id::text as agent_id, name, model_provider, model_name, owner_id is not null as verified, reference
            from (
              (select ${agentColumns} from agents where suspended_at is null ${candidates})
              union
              -- The agent that holds the name is found, however many others have the words.
              select ${agentColumns} from agents where held_name = name_key(${words}) and suspended_at is null) a
           where ${hasAll(`search_text(${agentText})`, words)}
           order by search_text(name) = search_text(${words}) desc,
                    starts_with(search_text(name), search_text(${words})) desc, id
           limit ${maxFound}`),
      {
        first: sql`order by id limit ${maxFirst}`,
        indexed: sql`and ${isIndexed(agentText, words)} limit ${maxCompared}`
      }
    )

  const eventsWith = (words: string) =>
    firstOrIndexed(
      (candidates) =>
        events(sql`
          select id as event_id, title, ${isoTimestamp(sql, "published_at")} as published_at
            from (select id, title, published_at from events ${candidates}) e
           where ${hasAll("search_text(title)", words)}
           order by published_at desc
           limit ${maxFound}`),
      {
        first: sql`order by published_at desc limit ${maxFirst}`,
        indexed: sql`
          where ${isIndexed("title", words)} order by published_at + interval '0' desc limit ${maxCompared}`
      }
    )

  const questionsWith = (words: string, of: ReadonlyArray<string>) =>
    firstOrIndexed(
      (candidates) =>
        questions(sql`
          select id::text
            from (
              select id, question, resolved_at is null and cancelled_at is null as is_open, target from challenges
              ${candidates}) c
           where ${hasAll("search_text(question)", words)}
             and (${of.length === 0} or target = any(${arrayParam("text", of)}))
           order by is_open desc, id desc
           limit ${maxFound}`),
      {
        first: sql`order by id desc limit ${maxFirst}`,
        indexed: sql`
          where ${isIndexed("question", words)}
            and (${of.length === 0} or target = any(${arrayParam("text", of)}))
          order by id::text desc limit ${maxCompared}`
      }
    )

  /** Compares words that may contain mistakes, as far as the locale of the database knows their letters. */
  const nearly = (words: string) =>
    Effect.all([
      agents(sql`
        select id::text as agent_id, name, model_provider, model_name, owner_id is not null as verified,
               reference is not null as reference
          from (
            select *, ${sql.literal(agentText)} as text from agents
             where ${words} <% ${sql.literal(agentText)} and suspended_at is null
             limit ${maxCompared}) a
         order by word_similarity(${words}, text) desc, id
         limit ${maxFound}`),
      events(sql`
        select id as event_id, title, ${isoTimestamp(sql, "published_at")} as published_at
          from (select * from events where ${words} <% title limit ${maxCompared}) e
         order by published_at desc
         limit ${maxFound}`)
    ])

  const bounded = yield* makeCostlyReads("searches", searchTimeout, searchPlanning)

  const { publicCache } = yield* Settings
  /** Rows that have the words; if there are none and no target is named, rows with similar words. */
  const results = yield* Cache.makeWith(
    ({ keys, rest, words }: WordQuery) =>
      bounded(
        Effect.gen(function* () {
          const [foundAgents, foundEvents, posed] = yield* Effect.all([
            agentsWith(words),
            eventsWith(words),
            rest === "" ? Effect.succeed([]) : questionsWith(keys.length === 0 ? words : rest, keys)
          ])
          const isFound = keys.length + foundAgents.length + foundEvents.length + posed.length > 0
          const [nearAgents, nearEvents] = isFound ? [foundAgents, foundEvents] : yield* nearly(words)
          return { isFound, agents: nearAgents, events: nearEvents, questions: posed.map(({ id }) => id) }
        })
      ),
    {
      capacity: maxKept,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? publicCache : Duration.zero)
    }
  )

  const assets: Search["Service"]["assets"] = Effect.fn("Search.assets")(function* (sent) {
    const text = yield* textOf(sent)
    const all = yield* allTargets
    const named = targetsNamedIn(text, all).targets
    const nearest = named.length > 0 ? undefined : targetNearly(text, all)
    return nearest === undefined ? named : [nearest]
  })

  const find: Search["Service"]["find"] = Effect.fn("Search.find")(function* (sent) {
    const text = yield* textOf(sent)
    const all = yield* allTargets
    const { rest, targets: named } = targetsNamedIn(text, all)
    const words = wordsOf(text).join(" ")
    if (words === "") return { assets: named, agents: [], events: [], questions: [] }
    const keys = named.map(({ key }) => key)
    const { isFound, ...found } = yield* Cache.get(results, { words, rest: rest.join(" "), keys })
    if (isFound) return { ...found, assets: named }
    const nearest = targetNearly(text, all)
    return { ...found, assets: nearest === undefined ? [] : [nearest] }
  })

  return Search.of({ find, assets })
})

export const layer = Layer.effect(Search, make)
