/** The newest checkpoint is taken to each witness on its own, and to the time stamp authority. */
import { Duration, Effect } from "effect"
import { LogTimeStamps } from "../services/LogTimeStamps.ts"
import { LogWitnesses } from "../services/LogWitnesses.ts"
import { poll } from "./schedule.ts"

/** While the log grows there is a checkpoint every second: the newest should have its cosignatures most of that time. */
const witnessInterval = Duration.millis(250)
const timeStampInterval = Duration.seconds(15)

export const attestations = Effect.gen(function* () {
  const witnesses = yield* LogWitnesses
  const timeStamps = yield* LogTimeStamps
  for (const { ask, name } of witnesses.all) {
    yield* Effect.forkScoped(poll(`log witness ${name}`, witnessInterval, ask))
  }
  yield* Effect.forkScoped(poll("log time stamps", timeStampInterval, timeStamps.stamp))
})
