/** The calendar of macro releases. */
import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { NewReleaseCalendar } from "../../src/services/Schedules.ts"
import type { Releases } from "../../src/services/Schedules.ts"
import { CommandFailed } from "../client/connection.ts"
import { problemsOf } from "../client/failures.ts"
import { readText } from "../client/priceFile.ts"
import { moment } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session } from "./session.ts"

const decodeFile = Schema.decodeUnknownEffect(Schema.fromJsonString(NewReleaseCalendar), { errors: "all" })

const columns: ReadonlyArray<Column<Releases["releases"][number]>> = [
  { title: "asset", of: ({ asset }) => asset },
  { title: "period", of: ({ period }) => period },
  { title: "unit", of: ({ unit = null }) => unit, yields: "dropped" },
  { title: "release (UTC)", of: ({ release_at }) => moment(release_at) },
  {
    title: "deadline (UTC)",
    of: ({ deadline = null }) => moment(deadline),
    yields: "dropped"
  },
  { title: "pool", of: ({ reward_pool }) => reward_pool, yields: "dropped" },
  { title: "challenge", of: ({ challenge_id = null }) => challenge_id, yields: "dropped" }
]

const print = Effect.fnUntraced(function* (calendar: Releases) {
  const session = yield* Session
  yield* session.show(calendar, ({ releases }) =>
    releases.length === 0 ? "No release is planned." : session.fitted(releases, columns)
  )
})

const show = Command.make(
  "show",
  {},
  Effect.fn("releaseCalendar.show")(function* () {
    const session = yield* Session
    const client = yield* session.administrator
    yield* print(yield* client.admin.releaseCalendar())
  })
).pipe(Command.withDescription("Planned releases, and the challenges made of them"))

const set = Command.make(
  "set",
  {
    file: Argument.String("FILE").pipe(
      Argument.withDescription(
        'A JSON file, as show --json prints it: { "releases": [{ "asset", "period", "release_at", ... }] }'
      )
    )
  },
  Effect.fn("releaseCalendar.set")(function* ({ file }) {
    const session = yield* Session
    const payload = yield* decodeFile(yield* readText(file)).pipe(
      Effect.mapError((error) => new CommandFailed({ message: `${file}: ${problemsOf(error)}` }))
    )
    const client = yield* session.administrator
    yield* print(yield* client.admin.replaceReleaseCalendar({ payload }))
  })
).pipe(
  Command.withDescription("Replace the whole calendar; existing challenges stay as they are"),
  Command.withExamples([
    {
      command: "npm run admin -- release-calendar show --json > calendar.json",
      description: "Take it to an editor, and set it again"
    }
  ])
)

export const releaseCalendar = Command.make("release-calendar").pipe(
  Command.withSubcommands([show, set]),
  Command.withDescription("Macro releases; each becomes challenges some days before")
)
