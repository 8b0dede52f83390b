import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Arenas } from "../../../services/Arenas.ts"
import { makeDirectionalArena } from "./directional.ts"
import { makeMacroArena } from "./macro.ts"
import { makePaperSignals } from "./predictions/paperSignals.ts"
import { makePredict } from "./predictions/predict.ts"
import { makePriceEventArena } from "./priceEvents.ts"
import { makeQueries } from "./queries.ts"
import { transaction } from "../sql.ts"

const make = Effect.gen(function* () {
  const together = transaction(yield* SqlClient.SqlClient)
  const signals = yield* makePaperSignals
  const { arena, publishDue } = yield* makeDirectionalArena
  const directional = { ...arena, paperSignals: signals.list }
  const macro = yield* makeMacroArena
  const priceEvents = yield* makePriceEventArena
  const predict = yield* makePredict(signals.record)
  const { typeOf, ...queries } = yield* makeQueries

  const get: Arenas["Service"]["get"] = Effect.fn("Arenas.get")(function* (challengeId) {
    const type = yield* typeOf(challengeId)
    switch (type) {
      case "directional":
        return yield* directional.get(challengeId)
      case "macro":
        return { type, ...(yield* macro.get(challengeId)) }
      case "price_event":
        return { type, ...(yield* priceEvents.get(challengeId)) }
    }
  })

  return Arenas.of({
    directional,
    macro,
    priceEvents,
    predict,
    together,
    publishDue,
    get,
    typeOf,
    ...queries
  })
})

export const layer = Layer.effect(Arenas, make)
