/** What a prediction of any type says, as people read it. */
import type { PredictionValues } from "../../services/Challenges.ts"
import { badge } from "./components.ts"

export const said = (values: typeof PredictionValues.Type): string =>
  values.direction === null
    ? `${values.predicted_value} ± ${values.predicted_std}`
    : `${values.direction} at ${values.confidence}`

export const verdictBadge = (isCorrect: boolean) =>
  isCorrect ? badge("success", "Right") : badge("problem", "Wrong")
