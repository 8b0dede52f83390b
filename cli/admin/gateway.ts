/** The gateway to language models: its file, its routes, and the report of its usage. */
import { DateTime, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { checkFile } from "../../src/layers/gateway/checkFile.ts"
import type { TriedRoute } from "../../src/layers/gateway/checkFile.ts"
import type { RouteHealth } from "../../src/services/Gateway.ts"
import { UsageGroup, UsageReport } from "../../src/services/GatewayUsage.ts"
import { CommandFailed } from "../client/connection.ts"
import { counted, moment, utc } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session, instantOf } from "./session.ts"

const triedColumns: ReadonlyArray<Column<TriedRoute>> = [
  { title: "route", of: ({ route }) => route },
  { title: "key", of: ({ key }) => key, yields: "dropped" },
  { title: "status", of: ({ status }) => status },
  { title: "ms", of: ({ millis }) => millis },
  { title: "what is wrong", of: ({ problem }) => problem ?? "nothing" }
]

const check = Command.make(
  "check",
  { file: Argument.String("FILE").pipe(Argument.withDescription("The gateway's file")) },
  Effect.fn("gateway.check")(function* ({ file }) {
    const session = yield* Session
    const tried = yield* checkFile(file).pipe(
      Effect.mapError(
        (problems) => new CommandFailed({ message: `${file} cannot be used: ${problems.join("; ")}.` })
      )
    )
    yield* session.show({ items: tried }, ({ items }) => session.fitted(items, triedColumns))
    const failed = tried.filter(({ problem }) => problem !== null).length
    if (failed > 0) {
      return yield* new CommandFailed({
        message: `${failed} of ${counted(tried.length, "request")} failed: see above.`
      })
    }
  })
).pipe(
  Command.withDescription(
    "Request one token from each route of a file, from this machine and with the keys set here; exits with 1 if one fails"
  )
)

const cooling = ({ cooling_until, health }: RouteHealth): string =>
  cooling_until === null ? health : `${health} until ${moment(cooling_until)}`

const routeColumns: ReadonlyArray<Column<RouteHealth>> = [
  { title: "model", of: ({ model }) => model },
  { title: "route", of: ({ provider, route }) => `${provider}/${route}` },
  { title: "health (UTC)", of: cooling },
  { title: "ms", of: ({ latency_ms }) => latency_ms },
  { title: "first byte", of: ({ first_byte_ms }) => first_byte_ms },
  { title: "attempts", of: ({ attempts }) => attempts },
  { title: "failed", of: ({ failed_attempts }) => failed_attempts },
  { title: "last failure", of: ({ last_failure }) => last_failure, yields: "dropped" },
  {
    title: "keys cooling",
    of: ({ keys, keys_cooling }) => (keys > 1 ? `${keys_cooling} of ${keys}` : null),
    yields: "dropped"
  }
]

const routes = Command.make(
  "routes",
  {},
  Effect.fn("gateway.routes")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    yield* session.show(yield* client.admin.gatewayRoutes(), ({ items }) =>
      items.length === 0 ? "This instance has no gateway." : session.fitted(items, routeColumns)
    )
  })
).pipe(
  Command.withDescription(
    "The routes of every model: health, cooldown and latency at the answering instance since its start"
  )
)

const encodeReport = Schema.encodeSync(UsageReport)
type ReportRow = (typeof UsageReport.Encoded)["items"][number]

/** Costs are known only if the gateway's file gives them. */
const known = (amount: number, { calls_without_cost, provider_cost }: ReportRow): number | string =>
  provider_cost === 0 && calls_without_cost > 0 ? "not known" : amount

const usageColumns: ReadonlyArray<Column<ReportRow>> = [
  { title: "", of: ({ name }) => name },
  { title: "calls", of: ({ calls }) => calls },
  { title: "failed", of: ({ failed_calls }) => failed_calls, yields: "dropped" },
  { title: "prompt", of: ({ prompt_tokens }) => prompt_tokens },
  { title: "cached", of: ({ cached_tokens }) => cached_tokens, yields: "dropped" },
  { title: "completion", of: ({ completion_tokens }) => completion_tokens },
  { title: "charged", of: ({ charged }) => charged },
  { title: "provider", of: (row) => known(row.provider_cost, row) },
  { title: "margin", of: (row) => known(row.margin, row) },
  { title: "without cost", of: ({ calls_without_cost }) => calls_without_cost, yields: "dropped" }
]

const usage = Command.make(
  "usage",
  {
    by: Flag.Literals("by", UsageGroup.literals).pipe(
      Flag.withDescription("The attribute that groups calls (default model)"),
      Flag.withDefault("model")
    ),
    from: Flag.String("from").pipe(
      Flag.withDescription("Calls from this instant on (default: 30 days before --to)"),
      Flag.optional
    ),
    to: Flag.String("to").pipe(
      Flag.withDescription("Calls before this instant (default: now)"),
      Flag.optional
    ),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription("The maximum number of rows, 1 to 1000"),
      Flag.optional
    )
  },
  Effect.fn("gateway.usage")(function* ({ by, from, limit, to }) {
    const session = yield* Session
    const now = yield* DateTime.now
    const instant = (flag: string, text: Option.Option<string>) =>
      Option.isNone(text) ? Effect.undefined : instantOf(flag, text.value, now)
    const client = yield* session.administrator
    const query = {
      by,
      since: yield* instant("from", from),
      until: yield* instant("to", to),
      max_items: Option.getOrUndefined(limit)
    }
    const report = encodeReport(yield* client.admin.gatewayUsage({ query }))
    yield* session.show(report, ({ groups, items, since, totals, until }) => {
      const rest = groups - items.length
      return [
        `${utc(since)} to ${utc(until)}, in credits:`,
        session.fitted([...items, { name: "all", ...totals }], usageColumns),
        ...(rest > 0 ? [`and ${counted(rest, "row")} more, which are in the sums: --limit shows them`] : [])
      ].join("\n")
    })
  })
).pipe(
  Command.withDescription(
    "Sums of calls by model, provider, agent or day, with the providers' charges if the gateway's file gives them"
  )
)

export const gateway = Command.make("gateway").pipe(
  Command.withSubcommands([check, routes, usage]),
  Command.withDescription("The gateway to language models")
)
