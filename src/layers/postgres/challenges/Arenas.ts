import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Arenas } from "../../../services/Arenas.ts"
import { Settings } from "../../../services/Settings.ts"
import { boundNow, execute } from "../sql.ts"
import { insertPublishedCounts } from "./countPublication.ts"
import { makeCreate } from "./create.ts"
import { makePaperSignals } from "./predictions/paperSignals.ts"
import { makePredict } from "./predictions/predict.ts"
import { makeResults } from "./results.ts"
import { makeSummaries } from "./summaries.ts"
import { makeViews } from "./views.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { countsEvery } = yield* Settings
  const createOf = yield* makeCreate
  const signals = yield* makePaperSignals
  const results = yield* makeResults
  const views = yield* makeViews
  const { getOf } = views

  const get: Arenas["Service"]["get"] = Effect.fn("Arenas.get")(function* (challengeId) {
    return yield* getOf(yield* results.typeOf(challengeId), challengeId)
  })

  const create: Arenas["Service"]["create"] = (type, wanted) =>
    createOf(type, wanted).pipe(
      Effect.flatMap((id) => Effect.orDie(getOf(type, id))),
      Effect.withSpan("Arenas.create")
    )

  const publishCounts = Effect.gen(function* () {
    if (Option.isNone(countsEvery)) return
    yield* execute(insertPublishedCounts(sql, countsEvery.value, yield* boundNow(sql)))
  }).pipe(Effect.withSpan("Arenas.publishCounts"))

  return Arenas.of({
    ...views,
    get,
    create,
    ...(yield* makePredict(signals.record)),
    paperSignals: signals.list,
    ...(yield* makeSummaries),
    ...results,
    publishCounts
  })
})

export const layer = Layer.effect(Arenas, make)
