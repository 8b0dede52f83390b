/** Targets, the leaderboard, and the records that check them. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { AuditEntry } from "../../src/services/AdminAudit.ts"
import { Category } from "../../src/services/Targets.ts"
import type { Target } from "../../src/services/Targets.ts"
import { CommandFailed } from "../client/connection.ts"
import { counted, leaderboardColumns, moment } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session, pageFlags, pageQueryOf } from "./session.ts"

const targetColumns: ReadonlyArray<Column<Target>> = [
  { title: "key", of: ({ key }) => key },
  { title: "name", of: ({ name }) => name, yields: "cut" },
  { title: "category", of: ({ category }) => category },
  { title: "kind", of: ({ kind }) => kind, yields: "dropped" },
  { title: "paused", of: ({ paused }) => (paused ? "paused" : "") },
  { title: "dead zone %", of: ({ dead_zone_pct }) => dead_zone_pct }
]

const listTargets = Command.make(
  "list",
  {},
  Effect.fn("targets.list")(function* () {
    const session = yield* Session
    const catalog = yield* session.anyone.public.targets()
    yield* session.show(catalog, ({ categories }) =>
      session.fitted(
        categories.flatMap(({ targets }) => targets),
        targetColumns
      )
    )
  })
).pipe(Command.withDescription("Every target, with its live dead zone"))

const setTarget = Command.make(
  "set",
  {
    key: Argument.String("KEY").pipe(Argument.withDescription("For example GC")),
    paused: Flag.Literals("paused", ["true", "false"]).pipe(
      Flag.withDescription("A paused target gets no new challenges"),
      Flag.optional
    ),
    deadZone: Flag.Finite("dead-zone").pipe(
      Flag.withDescription("Percent; new challenges are frozen with it"),
      Flag.optional
    )
  },
  Effect.fn("targets.set")(function* ({ deadZone, key, paused }) {
    if (Option.isNone(paused) && Option.isNone(deadZone)) {
      return yield* new CommandFailed({
        message: "Expected a setting: --paused true|false, --dead-zone PERCENT."
      })
    }
    const session = yield* Session
    const client = yield* session.administrator
    const changed = yield* client.admin.changeTarget({
      params: { key },
      payload: {
        ...(Option.isSome(paused) && { paused: paused.value === "true" }),
        ...(Option.isSome(deadZone) && { dead_zone_pct: deadZone.value })
      }
    })
    yield* session.show(changed, (target) => session.fitted([target], targetColumns))
  })
).pipe(
  Command.withDescription("Pause a target, or change its dead zone for new challenges"),
  Command.withExamples([{ command: "npm run admin -- targets set GC --paused true --dead-zone 0.3" }])
)

export const targets = Command.make("targets").pipe(
  Command.withSubcommands([listTargets, setTarget]),
  Command.withDescription("The targets of predictions")
)

export const leaderboard = Command.make(
  "leaderboard",
  { category: Flag.Literals("category", Category.literals).pipe(Flag.optional), ...pageFlags },
  Effect.fn("leaderboard")(function* ({ category, ...page }) {
    const session = yield* Session
    const board = yield* session.anyone.public.leaderboard({
      query: { ...pageQueryOf(page), category: Option.getOrUndefined(category) }
    })
    yield* session.showPage(board, leaderboardColumns, "Nobody has been scored yet.")
  })
).pipe(Command.withDescription("Agents by average score, overall or in a category"))

const maxBody = 200

const bodyText = (body: unknown): string =>
  (typeof body === "string" ? body : JSON.stringify(body)).slice(0, maxBody)

const auditColumns: ReadonlyArray<Column<AuditEntry>> = [
  { title: "at (UTC)", of: ({ at }) => moment(at) },
  { title: "action", of: ({ action }) => action },
  { title: "status", of: ({ status }) => status },
  { title: "request", of: ({ request_id }) => request_id, yields: "dropped" },
  { title: "path", of: ({ path }) => path, yields: "dropped" },
  { title: "body", of: ({ body }) => bodyText(body), yields: "cut" }
]

export const audit = Command.make(
  "audit",
  pageFlags,
  Effect.fn("audit")(function* (page) {
    const session = yield* Session
    const client = yield* session.administrator
    const entries = yield* client.admin.audit({ query: pageQueryOf(page) })
    yield* session.showPage(entries, auditColumns, "No administrator has changed anything yet.")
  })
).pipe(Command.withDescription("Actions of administrators, newest first"))

const checkStats = Command.make(
  "check",
  {},
  Effect.fn("figures.check")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    const checked = yield* client.admin.checkFigures()
    yield* session.show(checked, ({ agents, differences }) =>
      [
        `${counted(agents, "agent")} recomputed from the scores, ${counted(differences.length, "difference")}.`,
        ...differences.map((difference) => `  ${difference}`)
      ].join("\n")
    )
    if (checked.differences.length > 0) {
      return yield* new CommandFailed({
        message: "The stored statistics differ from a recomputation from the scores: see above."
      })
    }
  })
).pipe(
  Command.withDescription("Recompute all stored statistics from the scores; exits with 1 if one differs")
)

export const stats = Command.make("figures").pipe(
  Command.withSubcommands([checkStats]),
  Command.withDescription("The statistics of the leaderboard")
)
