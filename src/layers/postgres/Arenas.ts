import { Effect, Layer } from "effect"
import { Arenas } from "../../services/Arenas.ts"
import { makeDirectionalArena } from "./arenas/directional.ts"
import { makeMacroArena } from "./arenas/macro.ts"
import { makeRecordPrediction } from "./arenas/predictions.ts"
import { makePriceEventArena } from "./arenas/priceEvents.ts"
import { makeReads } from "./arenas/reads.ts"

const make = Effect.gen(function* () {
  const record = yield* makeRecordPrediction
  const { arena: directional, publishDue } = yield* makeDirectionalArena(record)
  return Arenas.of({
    directional,
    macro: yield* makeMacroArena(record),
    priceEvents: yield* makePriceEventArena(record),
    publishDue,
    ...(yield* makeReads)
  })
})

export const layer = Layer.effect(Arenas, make)
