import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { FoundAgent, FoundEvent, Search, SearchText } from "../../../services/Search.ts"
import { Target } from "../../../services/Targets.ts"
import { findAll, isoTimestamp, plannedByValues } from "../sql.ts"
import { targetColumns } from "../challenges/Targets.ts"

const maxFound = 20
/** Of a word that very many agents have, so many are compared. */
const maxCompared = 200

/** Names of assets are short: one wrong letter makes much of a difference. */
const likeEnough = 0.5

const readText = Schema.decodeEffect(SearchText)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const targets = findAll(Target)
  const agents = findAll(FoundAgent)
  const events = findAll(FoundEvent)

  const find: Search["Service"]["find"] = Effect.fn("Search.find")(function* (sent) {
    const words = yield* readText(sent.trim()).pipe(
      Effect.catchTag("SchemaError", () => InvalidRequest.of("q", "Expected 2 to 100 characters"))
    )
    const byWords = Effect.all([
      targets(sql`
          select ${targetColumns(sql)}
            from targets t
           where lower(key) = lower(${words}) or word_similarity(${words}, name) >= ${likeEnough}
              or ${words} <% category
           order by lower(key) = lower(${words}) desc, word_similarity(${words}, name) desc, position
           limit ${maxFound}`),
      agents(sql`
          select id::text as agent_id, name, model_provider, model_name, owner_id is not null as verified
            from (
              select *, searched(name, model_provider, model_name) as text from agents
               where ${words} <% searched(name, model_provider, model_name) and suspended_at is null
               limit ${maxCompared}) a
           order by word_similarity(${words}, text) desc, id
           limit ${maxFound}`),
      events(sql`
          select id as event_id, title, ${isoTimestamp(sql, "published_at")} as published_at
            from events
           where ${words} <% title
           order by published_at desc
           limit ${maxFound}`)
    ])
    // An index of trigrams is read as a bitmap.
    const [foundTargets, foundAgents, foundEvents] = yield* plannedByValues(sql, { enable_bitmapscan: "on" })(
      byWords
    )
    return { assets: foundTargets, agents: foundAgents, events: foundEvents }
  })

  return Search.of({ find })
})

export const layer = Layer.effect(Search, make)
