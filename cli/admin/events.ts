import { Console, Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { EventImport } from "../../src/services/Events.ts"
import type { MarketEvent } from "../../src/services/Events.ts"
import { CommandFailed } from "../client/connection.ts"
import { problemsOf } from "../client/failures.ts"
import { readText } from "../client/priceFile.ts"
import { moment } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session } from "./session.ts"

/** The maximum of one request. */
const chunkSize = 1000

const Several = Schema.Array(EventImport)
const EventFile = Schema.fromJsonString(Schema.Union([Schema.Struct({ events: Several }), Several]))
const decodeFile = Schema.decodeUnknownEffect(EventFile)

const columns: ReadonlyArray<Column<MarketEvent>> = [
  { title: "event_id", of: ({ event_id }) => event_id },
  { title: "published (UTC)", of: ({ published_at }) => moment(published_at) },
  { title: "assets", of: ({ assets }) => assets.join(" "), yields: "dropped" },
  { title: "title", of: ({ title }) => title, yields: "cut" }
]

const importEvents = Command.make(
  "import",
  {
    file: Argument.String("FILE").pipe(
      Argument.withDescription('A JSON file: [{ "title": ..., "event_id"?: ..., "assets"?: [...] }, ...]')
    )
  },
  Effect.fn("events.import")(function* ({ file }) {
    const session = yield* Session
    const read = yield* decodeFile(yield* readText(file)).pipe(
      Effect.mapError((error) => new CommandFailed({ message: `${file}: ${problemsOf(error)}` }))
    )
    const wanted = "events" in read ? read.events : read
    if (wanted.length === 0) return yield* new CommandFailed({ message: `${file} holds no events.` })
    const client = yield* session.administrator
    const stored: Array<MarketEvent> = []
    for (let start = 0; start < wanted.length; start += chunkSize) {
      const answer = yield* client.admin.importEvents({
        payload: { events: wanted.slice(start, start + chunkSize) }
      })
      stored.push(...answer.events)
      if (wanted.length > chunkSize) yield* Console.error(`${stored.length} of ${wanted.length} events sent`)
    }
    yield* session.show({ events: stored }, ({ events }) => session.fitted(events, columns))
  })
).pipe(Command.withDescription("Import market events; events with a known event_id are updated"))

export const events = Command.make("events").pipe(
  Command.withSubcommands([importEvents]),
  Command.withDescription("Market events")
)
