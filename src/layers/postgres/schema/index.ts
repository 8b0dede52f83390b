/**
 * The schema and its migrations. The baseline is the schema by area, each area after those that its tables refer to. Once released it
 * is not edited: a change is a migration of its own, added to the list below as 0002 and so on, that the version before can run
 * beside (expand first, contract in a later release).
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { agents } from "./agents.ts"
import { challenges } from "./challenges.ts"
import { community } from "./community.ts"
import { credit } from "./credit.ts"
import { gateway } from "./gateway.ts"
import { rejectChange } from "./guards.ts"
import { log } from "./log.ts"
import { minProgram } from "./migrations/0002_min_program.ts"
import { exactLimits } from "./migrations/0003_exact_limits.ts"
import { frozenRules } from "./migrations/0004_frozen_rules.ts"
import { heldNames } from "./migrations/0005_held_names.ts"
import { gatewayTokens } from "./migrations/0006_gateway_tokens.ts"
import { continuations } from "./migrations/0007_continuations.ts"
import { acceptedUses } from "./migrations/0008_accepted_uses.ts"
import { sharedWindows } from "./migrations/0009_shared_windows.ts"
import { keyLimits } from "./migrations/0010_key_limits.ts"
import { providerCosts } from "./migrations/0011_provider_costs.ts"
import { practice } from "./migrations/0013_practice.ts"
import { forms } from "./migrations/0014_forms.ts"
import { notices } from "./migrations/0015_notices.ts"
import { webhooks } from "./migrations/0016_webhooks.ts"
import { programByUse } from "./migrations/0017_program_by_use.ts"
import { skill } from "./migrations/0018_skill.ts"
import { ladder } from "./migrations/0019_ladder.ts"
import { consensus } from "./migrations/0020_consensus.ts"
import { trigrams } from "./migrations/0021_trigrams.ts"
import { ranks } from "./migrations/0023_ranks.ts"
import { databaseTime } from "./migrations/0024_database_time.ts"
import { instances } from "./migrations/0025_instances.ts"
import { wordFunctions } from "./migrations/0026_words.ts"
import { undatedEvents } from "./migrations/0027_undated_events.ts"
import { numbers } from "./migrations/0028_numbers.ts"
import { possiblePrices } from "./migrations/0029_possible_prices.ts"
import { webhookPages } from "./migrations/0030_webhooks.ts"
import { lookalikes } from "./migrations/0031_lookalikes.ts"
import { heldNamesByIndex } from "./migrations/0032_held_names.ts"
import { letterFunction } from "./migrations/0033_letters.ts"
import { heldAnew } from "./migrations/0034_held_anew.ts"
import { range } from "./migrations/0035_range.ts"
import { mailUrgency, operations } from "./operations.ts"
import { prices } from "./prices.ts"
import { settlement } from "./settlement.ts"

const baseline = Effect.gen(function* () {
  yield* rejectChange
  yield* agents
  yield* community
  yield* challenges
  yield* prices
  yield* settlement
  yield* credit
  yield* log
  yield* gateway
  yield* operations
})

/** An index that is built while others read and write its table. */
export interface Index {
  readonly name: string
  /** The text after the name: `on predictions (agent_id)`. */
  readonly definition: string
}

/** A step of the schema. */
export interface Migration {
  /** Functions are made before the indexes that use them, in any number of attempts: `create or replace`. */
  readonly functions?: Effect.Effect<unknown, SqlError.SqlError, SqlClient.SqlClient>
  /** Indexes are built before `run`, in any number of attempts: on large tables, and on columns that an earlier migration made. */
  readonly indexes?: ReadonlyArray<Index>
  readonly run: Effect.Effect<unknown, SqlError.SqlError, SqlClient.SqlClient>
  /** The oldest program, by the newest migration it knows, that may run beside this schema. */
  readonly minProgram: number
}

/** A step that leaves in place all that older programs use. */
const expand = (run: Migration["run"]): Migration => ({ run, minProgram: 1 })

/** Migrations by number and name, in order. */
export const migrations = {
  "0001_baseline": expand(baseline),
  "0002_min_program": expand(minProgram),
  "0003_exact_limits": expand(exactLimits),
  // An older program would settle by the old rules a challenge that is frozen with others.
  "0004_frozen_rules": { run: frozenRules, minProgram: 4 },
  "0005_held_names": expand(heldNames),
  "0006_gateway_tokens": expand(gatewayTokens),
  "0007_continuations": expand(continuations),
  "0008_accepted_uses": expand(acceptedUses),
  "0009_shared_windows": expand(sharedWindows),
  "0010_key_limits": expand(keyLimits),
  "0011_provider_costs": {
    // Calls of the same time are stored together, in the order of their start: an index of blocks costs inserts next to nothing.
    indexes: [
      {
        name: "gateway_calls_created_at",
        definition: "on gateway_calls using brin (created_at) with (autosummarize = on)"
      }
    ],
    ...expand(providerCosts)
  },
  "0012_price_lists": {
    indexes: [
      {
        name: "price_points_candles",
        definition: "on price_points (asset, interval, time desc, source, revision desc)"
      },
      {
        name: "challenges_releases",
        definition: `on challenges (target, resolve_at desc, (id::text collate "C") desc) where type = 'macro' and cancelled_at is null`
      }
    ],
    ...expand(Effect.void)
  },
  "0013_practice": expand(practice),
  "0014_forms": expand(forms),
  "0015_notices": expand(notices),
  "0016_webhooks": expand(webhooks),
  "0017_program_by_use": expand(programByUse),
  "0018_skill": {
    indexes: [{ name: "agents_suspended", definition: "on agents (id) where suspended_at is not null" }],
    ...expand(skill)
  },
  "0019_ladder": expand(ladder),
  "0020_consensus": expand(consensus),
  "0021_trigrams": expand(trigrams),
  "0022_search": {
    indexes: [
      {
        name: "agents_search",
        definition: "on agents using gin (searched(name, model_provider, model_name) gin_trgm_ops)"
      },
      { name: "events_search", definition: "on events using gin (title gin_trgm_ops)" },
      {
        name: "challenges_target_void",
        definition: "on challenges (target, id desc) where cancelled_at is not null"
      },
      {
        name: "challenges_target_settled",
        definition: "on challenges (target, id desc) where resolved_at is not null"
      },
      {
        name: "challenges_target_price_events",
        definition: `on challenges (target, id desc) where type = 'price_event' and resolved_at is not null`
      }
    ],
    ...expand(Effect.void)
  },
  "0023_ranks": {
    indexes: [
      {
        name: "agents_provider",
        definition: "on agents (lower(model_provider)) where model_provider is not null"
      }
    ],
    ...expand(ranks)
  },
  "0024_database_time": expand(databaseTime),
  "0025_instances": {
    indexes: [
      {
        name: "mails_waiting",
        definition: `on mails (${mailUrgency}, due_at, id) where sent_at is null and failed_at is null`
      }
    ],
    ...expand(instances)
  },
  "0026_words": {
    functions: wordFunctions,
    indexes: [
      {
        name: "agents_words",
        definition: "on agents using gin (search_grams(searched(name, model_provider, model_name)))"
      },
      { name: "events_words", definition: "on events using gin (search_grams(title))" },
      { name: "challenges_words", definition: "on challenges using gin (search_grams(question))" }
    ],
    ...expand(Effect.void)
  },
  "0027_undated_events": expand(undatedEvents),
  "0028_numbers": expand(numbers),
  "0029_possible_prices": expand(possiblePrices),
  "0030_webhooks": expand(webhookPages),
  "0031_lookalikes": expand(lookalikes),
  "0032_held_names": expand(heldNamesByIndex),
  "0033_letters": {
    functions: letterFunction,
    indexes: [
      {
        name: "agents_letters",
        definition: "on agents using gin (search_letters(searched(name, model_provider, model_name)))"
      },
      { name: "events_letters", definition: "on events using gin (search_letters(title))" },
      { name: "challenges_letters", definition: "on challenges using gin (search_letters(question))" }
    ],
    ...expand(Effect.void)
  },
  "0034_held_anew": expand(heldAnew),
  "0035_range": expand(range)
}

/** The migration that first stores in `instance` which programs may run. */
export const firstWithMinProgram = 2
