import { Effect, Layer } from "effect"
import { Arenas } from "../../services/Arenas.ts"
import { makeDirectionalArena } from "./challenges/directional.ts"
import { makeMacroArena } from "./challenges/macro.ts"
import { makeRecordPrediction } from "./challenges/predictions.ts"
import { makePriceEventArena } from "./challenges/priceEvents.ts"
import { makeReads } from "./challenges/queries.ts"
import { makeManualSettlement } from "./settlement/manualSettlement.ts"

const make = Effect.gen(function* () {
  const record = yield* makeRecordPrediction
  const { arena: directional, publishDue } = yield* makeDirectionalArena(record)
  const macro = yield* makeMacroArena(record)
  const priceEvents = yield* makePriceEventArena(record)
  const ends = yield* makeManualSettlement({ macro, priceEvents })
  const reads = yield* makeReads
  return Arenas.of({
    directional,
    macro: { ...macro, ...ends.macro },
    priceEvents: { ...priceEvents, ...ends.priceEvents },
    publishDue,
    ...reads
  })
})

export const layer = Layer.effect(Arenas, make)
