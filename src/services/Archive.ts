/**
 * Tournaments that are over, each with its challenges. An administrator imports a tournament as a whole, once; from then on
 * it is read-only for ever. An archived challenge belongs to no arena and its subject is no target: no agent predicts it,
 * and no list of scopes has it.
 */
import { Context, DateTime, Schema } from "effect"
import type { Effect } from "effect"
import { apiError } from "./domain/errors.ts"
import type { FieldProblem, InvalidRequest, NotFound } from "./domain/errors.ts"
import { list, Instant, text, Timestamp } from "./domain/text.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"

/** The name of a tournament in addresses. */
export const TournamentSlug = Schema.String.check(
  Schema.isPattern(/^[a-z0-9]+(-[a-z0-9]+)*$/u, {
    message: "Expected lower-case words of a-z and 0-9 with single hyphens between them"
  }),
  Schema.isMaxLength(64)
)

const maxChallenges = 5000
const maxOutcomes = 100

const ArchivedOutcome = Schema.Struct({
  outcome: text({ minimum: 1, maximum: 200 }),
  prediction_count: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
})

interface Dated {
  readonly deadline: DateTime.Utc
}

interface ImportedChallenge extends Dated {
  readonly opened_at?: DateTime.Utc
  readonly resolved_at?: DateTime.Utc
  readonly result?: string
  readonly void_reason?: string
  readonly outcomes?: ReadonlyArray<typeof ArchivedOutcome.Type>
}

const problem = (when: boolean, path: ReadonlyArray<PropertyKey>, issue: string) =>
  when ? [{ path: [...path], issue }] : []

const endProblem = ({ outcomes, result, void_reason }: ImportedChallenge): string | undefined => {
  if (result !== undefined && void_reason !== undefined) return "Expected a result or a void_reason, not both"
  if (result === undefined) {
    return void_reason === undefined ? "Expected the result, or why there is none in void_reason" : undefined
  }
  const isOne = outcomes === undefined || outcomes.some(({ outcome }) => outcome === result)
  return isOne ? undefined : "Expected one of the outcomes"
}

/** The problems of a challenge whose single fields are valid. */
const isConsistent = Schema.makeFilter((challenge: ImportedChallenge) => {
  const { deadline, opened_at, outcomes = [], resolved_at } = challenge
  const end = endProblem(challenge)
  return [
    ...problem(
      opened_at !== undefined && DateTime.isGreaterThanOrEqualTo(opened_at, deadline),
      ["opened_at"],
      "Expected a time before the deadline"
    ),
    ...problem(
      resolved_at !== undefined && DateTime.isLessThan(resolved_at, deadline),
      ["resolved_at"],
      "Expected a time at or after the deadline"
    ),
    ...problem(end !== undefined, ["result"], end ?? ""),
    ...problem(
      new Set(outcomes.map(({ outcome }) => outcome)).size < outcomes.length,
      ["outcomes"],
      "Expected each outcome once"
    )
  ]
})

const ChallengeImport = Schema.Struct({
  stage: Schema.optionalKey(text({ minimum: 1, maximum: 100 })).annotate({
    description: "of the tournament, for example Group A"
  }),
  question: text({ minimum: 1, maximum: 500 }),
  resolution_criteria: Schema.optionalKey(text({ minimum: 1, maximum: 4000 })),
  opened_at: Schema.optionalKey(Instant),
  deadline: Instant,
  resolved_at: Schema.optionalKey(Instant),
  result: Schema.optionalKey(text({ minimum: 1, maximum: 200 })).annotate({
    description: "one of the outcomes, if these are given; absent of a void challenge"
  }),
  void_reason: Schema.optionalKey(text({ minimum: 1, maximum: 1000 })),
  outcomes: Schema.optionalKey(list(ArchivedOutcome, { minimum: 1, maximum: maxOutcomes }))
}).check(isConsistent)

/** A finished tournament to import; pages show its challenges in this order. */
export const TournamentImport = Schema.Struct({
  slug: TournamentSlug,
  title: text({ minimum: 1, maximum: 200 }),
  summary: Schema.optionalKey(text({ minimum: 1, maximum: 4000 })),
  ended_at: Instant,
  challenges: list(ChallengeImport, { minimum: 1, maximum: maxChallenges })
}).check(
  Schema.makeFilter(
    ({
      challenges,
      ended_at
    }: {
      readonly challenges: ReadonlyArray<Dated>
      readonly ended_at: DateTime.Utc
    }) =>
      challenges.flatMap(({ deadline }, index) =>
        problem(
          DateTime.isGreaterThan(deadline, ended_at),
          ["challenges", index, "deadline"],
          "Expected a time at or before ended_at"
        )
      )
  )
)
export type TournamentImport = typeof TournamentImport.Type

/** The times in an import that have not passed yet. */
export const unfinished = (wanted: TournamentImport, now: DateTime.Utc): ReadonlyArray<FieldProblem> => {
  const message = "Expected a time that has passed: only what is over is archived"
  const isToCome = (moment: DateTime.Utc) => DateTime.isGreaterThan(moment, now)
  return [
    ...(isToCome(wanted.ended_at) ? [{ path: "ended_at", message }] : []),
    ...wanted.challenges.flatMap(({ resolved_at }, index) =>
      resolved_at !== undefined && isToCome(resolved_at)
        ? [{ path: `challenges.${index}.resolved_at`, message }]
        : []
    )
  ]
}

export const Tournament = Schema.Struct({
  slug: TournamentSlug,
  title: Schema.String,
  summary: Schema.NullOr(Schema.String),
  ended_at: Timestamp,
  archived_at: Timestamp,
  challenge_count: Schema.Int
}).annotate({ identifier: "Tournament" })
export type Tournament = typeof Tournament.Type

export const Tournaments = pageSchema(Tournament)

export const ArchivedChallenge = Schema.Struct({
  position: Schema.Int.annotate({ description: "1 for the first" }),
  stage: Schema.NullOr(Schema.String),
  question: Schema.String,
  resolution_criteria: Schema.NullOr(Schema.String),
  opened_at: Schema.NullOr(Timestamp),
  deadline: Timestamp,
  resolved_at: Schema.NullOr(Timestamp),
  status: Schema.Literals(["resolved", "void"]),
  result: Schema.NullOr(Schema.String),
  void_reason: Schema.NullOr(Schema.String),
  outcomes: Schema.Array(Schema.Struct({ outcome: Schema.String, prediction_count: Schema.Int })).annotate({
    description: "what could be predicted, and how many did; empty where that was not recorded"
  })
}).annotate({ identifier: "ArchivedChallenge" })
export type ArchivedChallenge = typeof ArchivedChallenge.Type

export const ArchivedTournament = Schema.Struct({
  ...Tournament.fields,
  challenges: Schema.Array(ArchivedChallenge),
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "ArchivedTournament" })
export type ArchivedTournament = typeof ArchivedTournament.Type

/** 409: the slug belongs to a tournament with other contents, and an archived tournament never changes. */
export class AlreadyArchived extends apiError("AlreadyArchived", 409, "already_archived") {}

export class Archive extends Context.Service<
  Archive,
  {
    /** Administration. Imports everything or nothing; importing the same again changes nothing. */
    readonly import: (
      tournament: TournamentImport
    ) => Effect.Effect<Tournament, InvalidRequest | AlreadyArchived>
    /** The tournament that ended last comes first. */
    readonly list: (page: Page) => Effect.Effect<PageOf<Tournament>, InvalidRequest>
    /** A tournament with a page of its challenges, in the order of the import. */
    readonly get: (slug: string, page: Page) => Effect.Effect<ArchivedTournament, NotFound | InvalidRequest>
  }
>()("auspex/services/Archive") {}
