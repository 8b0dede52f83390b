/** Looks up the first prints of macro challenges. They are proposals for administrators, or settle the challenges by themselves. */
import { DateTime, Duration, Effect, Layer, Option, Result } from "effect"
import { Scoring } from "../services/Scoring.ts"
import { MacroProposals, MacroSource } from "../services/MacroSource.ts"
import { Settings } from "../services/Settings.ts"
import { singletonCron } from "./scheduler.ts"

/** Values are published at a known minute, and are in the source within an hour or so. */
const interval = Duration.minutes(15)

export const proposeAndResolve = Effect.gen(function* () {
  const settings = yield* Settings
  const source = yield* MacroSource
  const proposals = yield* MacroProposals
  const scoring = yield* Scoring
  for (const { asset, challengeId, deadline, period, unit } of yield* proposals.due) {
    const about = Effect.annotateLogs({ challenge_id: challengeId, asset, period })
    const found = yield* Effect.result(source.firstPrint({ asset, period, unit }))
    if (Result.isFailure(found)) {
      yield* Effect.logWarning("the first print could not be looked up").pipe(
        Effect.annotateLogs({ reason: found.failure.reason }),
        about
      )
      continue
    }
    const print = Option.getOrUndefined(found.success)
    if (print === undefined) continue
    // A value that was public before the deadline is not the one that the challenge is about.
    if (print.releasedOn < DateTime.formatIsoDateUtc(deadline)) {
      yield* Effect.logWarning("the first print is older than the deadline and is not proposed").pipe(about)
      continue
    }
    yield* proposals.record(challengeId, print)
    yield* Effect.logInfo("a first print is proposed").pipe(
      Effect.annotateLogs({ value: print.value, source: print.source }),
      about
    )
  }
  if (!settings.macroAutoResolve) return
  for (const { challenge_id, value } of yield* proposals.waiting) {
    yield* scoring
      .resolveMacro(challenge_id, value)
      .pipe(
        Effect.catch(({ detail }) =>
          Effect.logWarning("a macro challenge was not settled by its first print").pipe(
            Effect.annotateLogs({ challenge_id, detail })
          )
        )
      )
  }
})

const start = Effect.gen(function* () {
  const context = yield* Effect.context<Settings | MacroSource | MacroProposals | Scoring>()
  yield* Effect.forkScoped(
    singletonCron("macro values", interval, Effect.provideContext(proposeAndResolve, context))
  )
})

/** The job is for instances with the role `jobs`, if there is a source of macro series. */
export const layer = Layer.effectDiscard(start)
