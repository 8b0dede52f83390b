import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { TournamentImport } from "../../src/services/Archive.ts"
import type { Tournament } from "../../src/services/Archive.ts"
import { CommandFailed } from "../client/connection.ts"
import { problemsOf } from "../client/failures.ts"
import { readText } from "../client/priceFile.ts"
import { moment } from "../client/table.ts"
import type { Column } from "../client/table.ts"
import { Session, pageFlags, pageQueryOf } from "./session.ts"

const decodeFile = Schema.decodeUnknownEffect(Schema.fromJsonString(TournamentImport), { errors: "all" })

const columns: ReadonlyArray<Column<Tournament>> = [
  { title: "slug", of: ({ slug }) => slug },
  { title: "title", of: ({ title }) => title, yields: "cut" },
  { title: "ended (UTC)", of: ({ ended_at }) => moment(ended_at) },
  { title: "challenges", of: ({ challenge_count }) => challenge_count },
  { title: "archived (UTC)", of: ({ archived_at }) => moment(archived_at), yields: "dropped" }
]

const importTournament = Command.make(
  "import",
  {
    file: Argument.String("FILE").pipe(
      Argument.withDescription(
        'A JSON file: { "slug", "title", "ended_at", "challenges": [{ "question", "deadline", "result" or "void_reason", ... }] }'
      )
    )
  },
  Effect.fn("archive.import")(function* ({ file }) {
    const session = yield* Session
    const payload = yield* decodeFile(yield* readText(file)).pipe(
      Effect.mapError((error) => new CommandFailed({ message: `${file}: ${problemsOf(error)}` }))
    )
    const client = yield* session.administrator
    const stored = yield* client.admin.importTournament({ payload })
    yield* session.show(stored, (tournament) => session.fitted([tournament], columns))
  })
).pipe(
  Command.withDescription(
    "Archive a finished tournament, as a whole and for ever; the same file again changes nothing"
  )
)

const list = Command.make(
  "list",
  pageFlags,
  Effect.fn("archive.list")(function* (flags) {
    const session = yield* Session
    const page = yield* session.anyone.public.archive({ query: pageQueryOf(flags) })
    yield* session.showPage(page, columns, "Nothing is archived.")
  })
).pipe(Command.withDescription("Archived tournaments, the last ended first"))

export const archive = Command.make("archive").pipe(
  Command.withSubcommands([importTournament, list]),
  Command.withDescription("Finished tournaments")
)
