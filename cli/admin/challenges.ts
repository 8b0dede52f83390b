import { DateTime, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ChallengeStatus, DirectionalKind } from "../../src/services/domain/Challenge.ts"
import type { Challenge } from "../../src/services/domain/Challenge.ts"
import { EventId } from "../../src/services/domain/ids.ts"
import { numberIn } from "../../src/services/domain/numbers.ts"
import { CommandFailed } from "../client/connection.ts"
import { moment, record, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { amendDirectional, results } from "./results.ts"
import { Session, instantOf, pageFlags, pageQueryOf } from "./session.ts"

const challengeColumns: ReadonlyArray<Column<Challenge>> = [
  { title: "id", of: ({ id }) => id },
  { title: "asset", of: ({ asset }) => asset },
  { title: "status", of: ({ status }) => status },
  { title: "deadline (UTC)", of: ({ deadline }) => moment(deadline) },
  { title: "resolves (UTC)", of: ({ resolve_at }) => moment(resolve_at), yields: "dropped" },
  { title: "open price", of: ({ open_price }) => open_price, yields: "dropped" },
  { title: "predictions", of: ({ prediction_count }) => prediction_count, yields: "dropped" },
  { title: "question", of: ({ question }) => question, yields: "cut" }
]

const details = (challenge: Challenge): string =>
  record([
    ["id", challenge.id],
    ["question", challenge.question],
    ["status", challenge.status],
    ["deadline", utc(challenge.deadline)],
    ["resolves", utc(challenge.resolve_at)],
    ["open price", challenge.open_price],
    ["dead zone", challenge.dead_zone_pct === null ? "the target's, live" : `${challenge.dead_zone_pct} %`],
    ["criteria", challenge.resolution_criteria ?? null],
    ...(challenge.cancel_reason === null ? [] : [["cancelled", challenge.cancel_reason] as const])
  ])

const list = Command.make(
  "list",
  {
    status: Flag.Literals("status", ChallengeStatus.literals).pipe(Flag.optional),
    asset: Flag.String("asset").pipe(Flag.optional),
    ...pageFlags
  },
  Effect.fn("challenges.list")(function* ({ asset, status, ...page }) {
    const session = yield* Session
    const answer = yield* session.anyone.public.challenges({
      query: {
        ...pageQueryOf(page),
        status: Option.getOrUndefined(status),
        asset: Option.getOrUndefined(asset)
      }
    })
    const isFiltered = Option.isSome(status) || Option.isSome(asset)
    yield* session.showPage(
      answer,
      challengeColumns,
      isFiltered ? "No challenge is like that." : "There are no directional challenges yet."
    )
  })
).pipe(Command.withDescription("Challenges, newest first"))

const deadZoneOf = (text: string): number | null | undefined => {
  if (text === "none") return null
  return Option.getOrUndefined(Option.filter(numberIn(text), (value) => value >= 0))
}

const create = Command.make(
  "create",
  {
    asset: Flag.String("asset").pipe(Flag.withDescription("The target's key, for example GC")),
    deadline: Flag.String("deadline").pipe(
      Flag.withDescription('The end of predictions: ISO 8601, or from now ("in 2 hours")')
    ),
    resolveAt: Flag.String("resolve-at").pipe(
      Flag.withDescription("The first price observed from this instant on is the closing price; likewise")
    ),
    openPrice: Flag.Finite("open-price").pipe(
      Flag.withDescription("Default: the latest known price"),
      Flag.optional
    ),
    deadZone: Flag.String("dead-zone").pipe(
      Flag.withDescription("Percent; default: the target's. none: the target's live dead zone settles it"),
      Flag.optional
    ),
    question: Flag.String("question").pipe(Flag.optional),
    eventId: Flag.String("event-id").pipe(
      Flag.withDescription("The market event of the challenge"),
      Flag.withSchema(EventId),
      Flag.optional
    ),
    kind: Flag.Literals("kind", DirectionalKind.literals).pipe(Flag.optional)
  },
  Effect.fn("challenges.create")(function* (wanted) {
    const session = yield* Session
    const now = yield* DateTime.now
    const deadZone = Option.map(wanted.deadZone, deadZoneOf)
    if (Option.isSome(deadZone) && deadZone.value === undefined) {
      return yield* new CommandFailed({ message: "--dead-zone takes a percentage such as 0.3, or none." })
    }
    const dead_zone_pct = Option.getOrUndefined(deadZone)
    const client = yield* session.administrator
    const created = yield* client.admin.createChallenge({
      headers: {},
      payload: {
        asset: wanted.asset,
        deadline: yield* instantOf("deadline", wanted.deadline, now),
        resolve_at: yield* instantOf("resolve-at", wanted.resolveAt, now),
        ...(Option.isSome(wanted.openPrice) && { open_price: wanted.openPrice.value }),
        ...(dead_zone_pct !== undefined && { dead_zone_pct }),
        ...(Option.isSome(wanted.question) && { question: wanted.question.value }),
        ...(Option.isSome(wanted.eventId) && { event_id: wanted.eventId.value }),
        ...(Option.isSome(wanted.kind) && { kind: wanted.kind.value })
      }
    })
    yield* session.show(created, details)
  })
).pipe(
  Command.withDescription("Create a directional challenge"),
  Command.withExamples([
    {
      command:
        'npm run admin -- challenges create --asset ETH --deadline "in 2 hours" --resolve-at "in 3 hours"',
      description: "On the latest price known"
    }
  ])
)

const cancel = Command.make(
  "cancel",
  {
    id: Argument.String("ID"),
    reason: Flag.String("reason").pipe(Flag.withDescription("Shown to everybody"))
  },
  Effect.fn("challenges.cancel")(function* ({ id, reason }) {
    const session = yield* Session
    const client = yield* session.administrator
    const cancelled = yield* client.admin.cancelChallenge({
      params: { challenge_id: id },
      payload: { reason }
    })
    yield* session.show(cancelled, details)
  })
).pipe(Command.withDescription("Cancel a challenge that is not settled; nobody is scored by it"))

export const challenges = Command.make("challenges").pipe(
  Command.withSubcommands([list, create, cancel, amendDirectional, results]),
  Command.withDescription("Directional challenges")
)

const idLines = (ids: ReadonlyArray<string>): string => (ids.length === 0 ? "" : `\n  ${ids.join("\n  ")}`)

export const settle = Command.make(
  "settle",
  {},
  Effect.fn("settle")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    const report = yield* client.admin.settle()
    yield* session.show(report, ({ cancelled, closed, failed, resolved, waiting }) =>
      [
        `${closed} closed, ${waiting} waiting for a closing price`,
        `${resolved.length} settled${idLines(resolved)}`,
        `${cancelled.length} cancelled or void, because no price or value came in time${idLines(cancelled)}`,
        `${failed.length} failed; the server's log says why${idLines(failed)}`
      ].join("\n")
    )
  })
).pipe(Command.withDescription("Run every settlement job once, now"))
