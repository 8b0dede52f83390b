/** The three audits. Only `layer.ts` imports this area, so recording and settling never depend on it. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../../../services/Audit.ts"
import { LogSequencer } from "../../../services/LogSequencer.ts"
import { Settings } from "../../../services/Settings.ts"
import { verifyLedger } from "./verifyLedger.ts"
import { verifyLog } from "./verifyLog.ts"
import { verifyStats } from "./verifyStats.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const sequencer = yield* LogSequencer
  return Audit.of({
    verifyLog: verifyLog.pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.provideService(Settings, settings),
      Effect.provideService(LogSequencer, sequencer),
      Effect.withSpan("Audit.verifyLog")
    ),
    verifyStats: verifyStats.pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.withSpan("Audit.verifyStats")
    ),
    verifyLedger: verifyLedger.pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.withSpan("Audit.verifyLedger")
    )
  })
})

export const layer = Layer.effect(Audit, make)
