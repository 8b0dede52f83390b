/** Macro challenges, and their proposed values. */
import { DateTime, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { MacroProposal } from "../../src/services/MacroSource.ts"
import { MacroStatus } from "../../src/services/domain/Challenge.ts"
import type { MacroChallenge } from "../../src/services/domain/Challenge.ts"
import { numberIn } from "../../src/services/domain/numbers.ts"
import { CommandFailed } from "../client/connection.ts"
import { moment, record, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { amendMacro, results } from "./results.ts"
import { Session, instantOf, pageFlags, pageQueryOf } from "./session.ts"

const columns: ReadonlyArray<Column<MacroChallenge>> = [
  { title: "id", of: ({ id }) => id },
  { title: "asset", of: ({ asset }) => asset },
  { title: "period", of: ({ period }) => period },
  { title: "status", of: ({ status }) => status },
  { title: "deadline (UTC)", of: ({ deadline }) => moment(deadline) },
  { title: "release (UTC)", of: ({ release_at }) => moment(release_at), yields: "dropped" },
  { title: "value", of: ({ actual_value }) => actual_value, yields: "dropped" },
  { title: "predictions", of: ({ prediction_count }) => prediction_count, yields: "dropped" },
  { title: "question", of: ({ question }) => question, yields: "cut" }
]

const edgesOf = ({ bins }: MacroChallenge): string =>
  bins.flatMap(({ low }) => (low === null ? [] : [String(low)])).join(", ")

const details = (challenge: MacroChallenge): string =>
  record([
    ["id", challenge.id],
    ["question", challenge.question],
    ["status", challenge.status],
    ["deadline", utc(challenge.deadline)],
    ["release", utc(challenge.release_at)],
    ["unit", challenge.unit],
    ["reference scale", challenge.reference_scale],
    ["decimal step", challenge.decimal_step],
    ["bin edges", edgesOf(challenge)],
    ["reward pool", challenge.reward_pool],
    ["published value", challenge.actual_value],
    ["criteria", challenge.resolution_criteria ?? null],
    ...(challenge.void_reason === null ? [] : [["void", challenge.void_reason] as const])
  ])

const confirm = Flag.Boolean("confirm").pipe(
  Flag.withDescription("Accept the value although it looks mistyped"),
  Flag.withoutNegation,
  Flag.withDefault(false)
)

const list = Command.make(
  "list",
  {
    status: Flag.Literals("status", [...MacroStatus.literals, "all"]).pipe(
      Flag.withDescription("Default: all"),
      Flag.withDefault("all" as const)
    ),
    ...pageFlags
  },
  Effect.fn("macro.list")(function* ({ status, ...page }) {
    const session = yield* Session
    const answer = yield* session.anyone.public.macroChallenges({ query: { ...pageQueryOf(page), status } })
    const { challenges, next_cursor } = answer
    yield* session.showPage(
      { items: challenges, next_cursor },
      columns,
      status === "all" ? "There are no macro challenges yet." : `No macro challenge is ${status}.`
    )
  })
).pipe(Command.withDescription("Macro challenges, newest first"))

const numbersOf = (text: string): ReadonlyArray<number> | undefined => {
  return Option.getOrUndefined(Option.all(text.split(",").map((part) => numberIn(part.trim()))))
}

const scaleOf = (text: string): number | null | undefined => {
  if (text === "none") return null
  return Option.getOrUndefined(Option.filter(numberIn(text), (value) => value >= 0))
}

const create = Command.make(
  "create",
  {
    asset: Flag.String("asset").pipe(
      Flag.withDescription("A macro series of the target catalog, for example CPI")
    ),
    period: Flag.String("period").pipe(Flag.withDescription("The period of the value, for example 2026-03")),
    deadline: Flag.String("deadline").pipe(
      Flag.withDescription('When forecasts end: ISO 8601, or from now ("in 2 hours")')
    ),
    releaseAt: Flag.String("release-at").pipe(
      Flag.withDescription("The time of publication; default: the deadline"),
      Flag.optional
    ),
    binEdges: Flag.String("bin-edges").pipe(
      Flag.withDescription(
        'Ascending, for example "2.9, 3.0, 3.1": a bin below the first, one from the last on; below zero as --bin-edges=-0.1,0'
      )
    ),
    rewardPool: Flag.Finite("reward-pool").pipe(
      Flag.withDescription("Credits; default 0"),
      Flag.withDefault(0)
    ),
    referenceScale: Flag.String("reference-scale").pipe(
      Flag.withDescription("Default: computed from the earlier prints of the series. none: no frozen scale"),
      Flag.optional
    ),
    decimalStep: Flag.Finite("decimal-step").pipe(
      Flag.withDescription("The step between neighbouring published values, for example 0.1"),
      Flag.optional
    ),
    unit: Flag.String("unit").pipe(Flag.withDescription("For example %"), Flag.optional),
    question: Flag.String("question").pipe(Flag.optional)
  },
  Effect.fn("macro.create")(function* (wanted) {
    const session = yield* Session
    const now = yield* DateTime.now
    const bin_edges = numbersOf(wanted.binEdges)
    if (bin_edges === undefined) {
      return yield* new CommandFailed({ message: '--bin-edges takes numbers such as "2.9, 3.0, 3.1".' })
    }
    const scale = Option.map(wanted.referenceScale, scaleOf)
    if (Option.isSome(scale) && scale.value === undefined) {
      return yield* new CommandFailed({ message: "--reference-scale takes a number such as 0.12, or none." })
    }
    const reference_scale = Option.getOrUndefined(scale)
    const client = yield* session.administrator
    const created = yield* client.admin.createMacroChallenge({
      headers: {},
      payload: {
        asset: wanted.asset,
        period: wanted.period,
        deadline: yield* instantOf("deadline", wanted.deadline, now),
        bin_edges,
        reward_pool: wanted.rewardPool,
        ...(Option.isSome(wanted.releaseAt) && {
          release_at: yield* instantOf("release-at", wanted.releaseAt.value, now)
        }),
        ...(reference_scale !== undefined && { reference_scale }),
        ...(Option.isSome(wanted.decimalStep) && { decimal_step: wanted.decimalStep.value }),
        ...(Option.isSome(wanted.unit) && { unit: wanted.unit.value }),
        ...(Option.isSome(wanted.question) && { question: wanted.question.value })
      }
    })
    yield* session.show(created, details)
  })
).pipe(
  Command.withDescription("Create a macro challenge"),
  Command.withExamples([
    {
      command:
        'npm run admin -- macro create --asset CPI --period 2026-11 --deadline "in 2 days" --unit % --bin-edges "2.9, 3.0, 3.1" --reference-scale 0.12'
    }
  ])
)

const id = Argument.String("ID")

const resolve = Command.make(
  "resolve",
  {
    id,
    value: Flag.Finite("value").pipe(Flag.withDescription("The first print; below zero as --value=-0.1")),
    confirm
  },
  Effect.fn("macro.resolve")(function* ({ confirm, id: challenge_id, value: actual_value }) {
    const session = yield* Session
    const client = yield* session.administrator
    const resolved = yield* client.admin.resolveMacroChallenge({
      params: { challenge_id },
      payload: { actual_value, confirm }
    })
    yield* session.show(resolved, details)
  })
).pipe(Command.withDescription("Record the published value and settle; the same value again changes nothing"))

const voided = Command.make(
  "void",
  { id, reason: Flag.String("reason").pipe(Flag.withDescription("Shown to everybody")) },
  Effect.fn("macro.void")(function* ({ id: challenge_id, reason }) {
    const session = yield* Session
    const client = yield* session.administrator
    yield* session.show(
      yield* client.admin.voidMacroChallenge({ params: { challenge_id }, payload: { reason } }),
      details
    )
  })
).pipe(Command.withDescription("Void a challenge after its deadline; nobody is scored by it"))

const proposalColumns: ReadonlyArray<Column<MacroProposal>> = [
  { title: "challenge", of: ({ challenge_id }) => challenge_id },
  { title: "asset", of: ({ asset }) => asset },
  { title: "period", of: ({ period }) => period },
  { title: "value", of: ({ value }) => value },
  { title: "unit", of: ({ unit }) => unit, yields: "dropped" },
  { title: "released", of: ({ released_on }) => released_on },
  { title: "source", of: ({ source }) => source },
  { title: "fetched (UTC)", of: ({ fetched_at }) => moment(fetched_at), yields: "dropped" }
]

const listProposals = Command.make(
  "list",
  {},
  Effect.fn("macro.proposals")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    const { items } = yield* client.admin.macroProposals()
    yield* session.showPage(
      { items, next_cursor: null },
      proposalColumns,
      "No first print waits for an administrator."
    )
  })
).pipe(Command.withDescription("First prints found for challenges without a value, oldest first"))

const acceptProposal = Command.make(
  "accept",
  { id: Argument.String("ID").pipe(Argument.withDescription("The challenge's id")), confirm },
  Effect.fn("macro.accept")(function* ({ confirm, id: challenge_id }) {
    const session = yield* Session
    const client = yield* session.administrator
    const { items } = yield* client.admin.macroProposals()
    const proposal = items.find((each) => each.challenge_id === challenge_id.toLowerCase())
    if (proposal === undefined) {
      return yield* new CommandFailed({
        message: `Nothing is proposed for ${challenge_id}: see npm run admin -- macro proposals list.`
      })
    }
    const resolved = yield* client.admin.resolveMacroChallenge({
      params: { challenge_id },
      payload: { actual_value: proposal.value, confirm }
    })
    yield* session.show(resolved, details)
  })
).pipe(
  Command.withDescription(
    "Settle a challenge by its proposed value; if that is wrong, resolve it by the right one, or void it"
  )
)

const proposals = Command.make("proposals").pipe(
  Command.withSubcommands([listProposals, acceptProposal]),
  Command.withDescription("First prints that a source shows, until a value is recorded")
)

export const macro = Command.make("macro").pipe(
  Command.withSubcommands([list, create, resolve, proposals, voided, amendMacro, results]),
  Command.withDescription("Macro challenges, about values that will be published")
)
