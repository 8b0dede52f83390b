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
  const queries = yield* makeQueries
  return Arenas.of({
    directional,
    macro,
    priceEvents,
    publishDue,
    ...queries
  })
})

export const layer = Layer.effect(Arenas, make)
