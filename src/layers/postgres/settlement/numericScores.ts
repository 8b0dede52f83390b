/**
 * How a numeric forecast is scored, from its decimals to the decimals that are stored. Settlement and audits share it;
 * the arithmetic is in doubles that come out the same on every machine.
 */
import { calibrationRow } from "../../../scoring/calibration.ts"
import type { CalibrationRow } from "../../../scoring/calibration.ts"
import { crps, crpsScore } from "../../../scoring/crps.ts"
import { decimal } from "../sql.ts"

/** What a settlement scores its forecasts by; decimal texts. */
export interface Outcome {
  readonly actual_value: string
  readonly reference_scale: string
}

/** A forecast as it is stored; decimal texts. */
export interface Forecast {
  readonly predicted_value: string
  readonly predicted_std: string
}

const normal = (forecast: Forecast) => ({
  mean: Number(forecast.predicted_value),
  sd: Number(forecast.predicted_std)
})

export const numericScore = (forecast: Forecast, outcome: Outcome) => {
  const value = crps(normal(forecast), Number(outcome.actual_value))
  const { score, skill } = crpsScore(value, Number(outcome.reference_scale))
  return { crps: decimal(value), skill: decimal(skill), score: decimal(score) }
}

export const calibrationOf = (
  forecast: Forecast,
  outcome: Outcome,
  decimalStep: string | null
): CalibrationRow =>
  calibrationRow(
    normal(forecast),
    Number(outcome.actual_value),
    Number(outcome.reference_scale),
    decimalStep === null ? null : Number(decimalStep)
  )
