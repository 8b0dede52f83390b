import { Effect, Layer } from "effect"
import { Arenas } from "../../../services/Arenas.ts"
import { makeDirectionalArena } from "./directional.ts"
import { makeMacroArena } from "./macro.ts"
import { makeRecordPrediction } from "./predictions.ts"
import { makePriceEventArena } from "./priceEvents.ts"
import { makeQueries } from "./queries.ts"

const make = Effect.gen(function* () {
  const record = yield* makeRecordPrediction
  const { arena: directional, publishDue } = yield* makeDirectionalArena(record)
  const macro = yield* makeMacroArena(record)
  const priceEvents = yield* makePriceEventArena(record)
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

  return Arenas.of({ directional, macro, priceEvents, publishDue, get, typeOf, ...queries })
})

export const layer = Layer.effect(Arenas, make)
