import { Effect, Layer } from "effect"
import { Arenas } from "../../services/Arenas.ts"
import { makeDirectionalArena } from "./arenas/directional.ts"
import { makeMacroArena } from "./arenas/macro.ts"
import { makeRecordPrediction } from "./arenas/predictions.ts"
import { makePriceEventArena } from "./arenas/priceEvents.ts"
import { makeReads } from "./arenas/reads.ts"
import { makeManualSettlement } from "./scoring/manualSettlement.ts"

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
