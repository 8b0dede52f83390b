/** Price events, which candles decide. */
import { DateTime, Effect, Option, Record, Struct } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { PriceEventKind, PriceEventStatus } from "../../src/services/domain/Challenge.ts"
import type { PriceEvent } from "../../src/services/domain/Challenge.ts"
import { eachLevel, inWords, levelNames } from "../../src/services/domain/kinds.ts"
import { moment, record, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { amendPriceEvent, levelsOf, results } from "./results.ts"
import { Session, instantOf, pageFlags, pageQueryOf } from "./session.ts"

const columns: ReadonlyArray<Column<PriceEvent>> = [
  { title: "id", of: ({ id }) => id },
  { title: "asset", of: ({ asset }) => asset },
  { title: "kind", of: ({ kind }) => kind },
  { title: "status", of: ({ status }) => status },
  { title: "deadline (UTC)", of: ({ deadline }) => moment(deadline) },
  { title: "resolves (UTC)", of: ({ resolve_at }) => moment(resolve_at), yields: "dropped" },
  { title: "outcome", of: ({ actual_value, result }) => result ?? actual_value, yields: "dropped" },
  { title: "predictions", of: ({ prediction_count }) => prediction_count, yields: "dropped" },
  { title: "question", of: ({ question }) => question, yields: "cut" }
]

const details = (event: PriceEvent): string =>
  record([
    ["id", event.id],
    ["question", event.question],
    ["kind", event.kind],
    ["status", event.status],
    ["deadline", utc(event.deadline)],
    ...(event.window_from === null ? [] : [["window from", utc(event.window_from)] as const]),
    ["resolves", utc(event.resolve_at)],
    ...levelsOf(event),
    ...(event.reference_scale === null ? [] : [["reference scale", event.reference_scale] as const]),
    ["outcome", event.result ?? event.actual_value],
    ["criteria", event.resolution_criteria ?? null],
    ...(event.void_reason === null ? [] : [["void", event.void_reason] as const])
  ])

const list = Command.make(
  "list",
  {
    status: Flag.Literals("status", [...PriceEventStatus.literals, "all"]).pipe(
      Flag.withDescription("Default: all"),
      Flag.withDefault("all" as const)
    ),
    ...pageFlags
  },
  Effect.fn("priceEvents.list")(function* ({ status, ...page }) {
    const session = yield* Session
    const answer = yield* session.anyone.public.priceEvents({ query: { ...pageQueryOf(page), status } })
    yield* session.showPage(
      answer,
      columns,
      status === "all" ? "There are no price events yet." : `No price event is ${status}.`
    )
  })
).pipe(Command.withDescription("Price events, newest first"))

const create = Command.make(
  "create",
  {
    kind: Flag.Literals("kind", PriceEventKind.literals),
    asset: Flag.String("asset").pipe(
      Flag.withDescription(`BTC or ETH; for ${inWords.onDailyCloses} any asset with daily closes`)
    ),
    deadline: Flag.String("deadline").pipe(
      Flag.withDescription('The end of predictions: ISO 8601, or from now ("in 2 hours")')
    ),
    resolveAt: Flag.String("resolve-at").pipe(
      Flag.withDescription(
        "The midnight (UTC) that ends the day, or on a Monday the week; for a barrier any hour"
      )
    ),
    ...eachLevel((name) =>
      Flag.Finite(name).pipe(Flag.withDescription(`The ${name} of ${inWords.withLevel(name)}`), Flag.optional)
    ),
    windowFrom: Flag.String("window-from").pipe(
      Flag.withDescription("The first hour that counts for a barrier; default: the next one"),
      Flag.optional
    ),
    referenceScale: Flag.Finite("reference-scale").pipe(
      Flag.withDescription("The scale of numeric_close and count_days; default: computed"),
      Flag.optional
    ),
    question: Flag.String("question").pipe(Flag.optional)
  },
  Effect.fn("priceEvents.create")(function* (wanted) {
    const session = yield* Session
    const now = yield* DateTime.now
    const client = yield* session.administrator
    const created = yield* client.admin.createPriceEvent({
      headers: {},
      payload: {
        kind: wanted.kind,
        asset: wanted.asset,
        deadline: yield* instantOf("deadline", wanted.deadline, now),
        resolve_at: yield* instantOf("resolve-at", wanted.resolveAt, now),
        ...Record.getSomes(Struct.pick(wanted, levelNames)),
        ...(Option.isSome(wanted.windowFrom) && {
          window_from: yield* instantOf("window-from", wanted.windowFrom.value, now)
        }),
        ...(Option.isSome(wanted.referenceScale) && { reference_scale: wanted.referenceScale.value }),
        ...(Option.isSome(wanted.question) && { question: wanted.question.value })
      }
    })
    yield* session.show(created, details)
  })
).pipe(
  Command.withDescription("Create a question about a future price"),
  Command.withExamples([
    {
      command:
        'npm run admin -- price-events create --kind threshold --asset BTC --level 100000 --deadline "in 2 hours" --resolve-at 2027-01-01T00:00:00Z'
    }
  ])
)

const voided = Command.make(
  "void",
  {
    id: Argument.String("ID"),
    reason: Flag.String("reason").pipe(Flag.withDescription("Shown to everybody"))
  },
  Effect.fn("priceEvents.void")(function* ({ id: challenge_id, reason }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* session.show(
      yield* client.admin.voidPriceEvent({ params: { challenge_id }, payload: { reason } }),
      details
    )
  })
).pipe(Command.withDescription("Void a question after its deadline; nobody is scored by it"))

export const priceEvents = Command.make("price-events").pipe(
  Command.withSubcommands([list, create, voided, amendPriceEvent, results]),
  Command.withDescription("Price events: closes, barriers, counts of days, thresholds and ranges")
)
