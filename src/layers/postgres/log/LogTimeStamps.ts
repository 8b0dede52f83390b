import { createHash } from "node:crypto"
import { Duration, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../../services/errors.ts"
import { LogTimeStamps } from "../../../services/LogTimeStamps.ts"
import { Settings } from "../../../services/Settings.ts"
import { makePost } from "../../boundedPost.ts"
import { askTimeStamp } from "../../timeStamp/askTimeStamp.ts"
import { nonceOf } from "../../timeStamp/tokens.ts"
import { execute, findAll, findOption } from "../sql.ts"
import { makeAttestor } from "./attestors.ts"
import type { Turn } from "./attestors.ts"
import { parseNote } from "../../crypto/signedNote.ts"

const interval = Duration.hours(1)
const nonceLength = 16
/** A key has no spaces in its name, so no witness is called so. */
const attestor = "time stamp authority"
const maxListed = 1000

const textOf = (note: string): string => Option.getOrThrow(parseNote(note)).text

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const { logTimeStampUrl } = yield* Settings
  const post = yield* makePost
  const { attend } = yield* makeAttestor(attestor)
  const stampRow = findOption(Schema.Struct({ note: Schema.String, reply: Schema.Uint8Array }))
  const sizeRows = findAll(Schema.Struct({ size: Schema.Int }))

  const ask = Effect.fnUntraced(function* (url: string, { note, size }: Turn) {
    const hash = createHash("sha256").update(textOf(note)).digest()
    const nonce = nonceOf(yield* random.randomBytes(nonceLength))
    const reply = yield* askTimeStamp(post, url, { hash, nonce })
    yield* execute(
      sql`update log_checkpoints set time_stamp = ${reply} where size = ${size} and time_stamp is null`
    )
  })

  const stamp: LogTimeStamps["Service"]["stamp"] = Option.match(logTimeStampUrl, {
    onNone: () => Effect.void,
    onSome: (url) => attend(interval, (turn) => ask(url, turn))
  })

  const find: LogTimeStamps["Service"]["find"] = Effect.fn("LogTimeStamps.find")(function* (size) {
    const row = yield* stampRow(sql`
      select note, time_stamp as reply from log_checkpoints where size = ${size} and time_stamp is not null`)
    if (Option.isNone(row)) {
      return yield* new NotFound({
        detail: `There is no time stamp of a tree of ${size} entries; /log/timestamps lists those that there are.`
      })
    }
    return { text: textOf(row.value.note), reply: row.value.reply }
  })

  const sizes: LogTimeStamps["Service"]["sizes"] = Effect.fn("LogTimeStamps.sizes")(function* (before) {
    const rows = yield* sizeRows(sql`
      select size::float8 as size from log_checkpoints
       where time_stamp is not null
         and ${Option.match(before, { onNone: () => sql`true`, onSome: (end) => sql`size < ${end}` })}
       order by size desc limit ${maxListed}`)
    return rows.map(({ size }) => size)
  })

  return LogTimeStamps.of({ stamp, find, sizes })
})

export const layer = Layer.effect(LogTimeStamps, make)
