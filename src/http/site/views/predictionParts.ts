/** What a prediction of any type says, and what it earned, as people read it. */
import type { PredictionValues, PredictionVerdict } from "../../../services/Challenges.ts"
import { badge } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"

export const said = (values: typeof PredictionValues.Type): string =>
  values.direction === null
    ? `${values.predicted_value} ± ${values.predicted_std}`
    : `${values.direction} at ${values.confidence}`

const verdictBadge = (isCorrect: boolean) =>
  isCorrect ? badge("success", "Right") : badge("problem", "Wrong")

/** Nothing before the settlement. Of numeric forecasts none is right or wrong: they have their CRPS. */
export const earned = ({ crps, is_correct, score, skill }: typeof PredictionVerdict.Type): Html => {
  if (score === null) return null
  return html`${is_correct === null ? null : verdictBadge(is_correct)}
    ${
      crps === null || skill === null
        ? null
        : html`<span class="quiet">CRPS ${Number(crps.toPrecision(3))}, skill ${skill.toFixed(2)}</span>`
    } <strong class="figure">${score.toFixed(2)} points</strong>`
}
