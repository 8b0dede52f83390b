/** The one figure that a prompt asks for, and its detection in the texts of an answer. */

/** `unit` tells the other spellings in texts: 0.3 points are 30 basis points, 1.2 million are 1 200 000. */
export interface Figure {
  readonly value: number
  readonly unit?: "points" | "basis points" | "thousand" | "million" | "billion"
}

/** A list of guesses is no figure: with this many numbers that are not in the prompt, none of them counts. */
const maxForeign = 8
/** Texts round: by this share, or to their own decimals if that changes it by no more. */
const closeEnough = 0.012
const roundedEnough = 0.04

const unitScale = { points: 1, "basis points": 1, thousand: 1e3, million: 1e6, billion: 1e9 }

const numberPattern =
  /(\d{1,3}(?:[, \u00a0\u202f'’]\d{3})+(?!\d)|\d+)(?:([.,])(\d+))?\s{0,2}(thousand|million|billion|trillion|percentage|basis|bps?\b|pp\b|mn\b|bn\b|[km]\b|[%％]|个?基点|个?百分点|万亿|百万|千|万|亿)?/giu

const scaleOfSuffix: Readonly<Record<string, number>> = {
  thousand: 1e3,
  k: 1e3,
  千: 1e3,
  万: 1e4,
  million: 1e6,
  mn: 1e6,
  m: 1e6,
  百万: 1e6,
  亿: 1e8,
  billion: 1e9,
  bn: 1e9,
  trillion: 1e12,
  万亿: 1e12
}

interface Written {
  readonly value: number
  readonly decimals: number
  readonly suffix: string
}

const numbersIn = (text: string): ReadonlyArray<Written> =>
  [...text.replace(/(?<!\d)\.(?=\d)/g, "0.").matchAll(numberPattern)].flatMap(
    ([, whole = "", mark, fraction, suffix = ""]) => {
      const rest = { suffix: suffix.toLowerCase() }
      const decimals = fraction?.length ?? 0
      const plain = whole.replace(/\D/g, "")
      const read = { value: Number(`${plain}.${fraction ?? 0}`), decimals, ...rest }
      // "1,400" is 1 400, or 1.4 if a comma is the decimal mark.
      const groups = whole.split(",")
      if (mark !== undefined || groups.length !== 2) return [read]
      return [read, { value: Number(groups.join(".")), decimals: 3, ...rest }]
    }
  )

const matches = (value: number, decimals: number, wanted: number): boolean => {
  const error = Math.abs(value - wanted)
  const rounding = 0.5 * 10 ** -decimals * 1.0001
  return error <= closeEnough * wanted || (error <= rounding && error <= roundedEnough * wanted)
}

const isFigure = ({ decimals, suffix, value }: Written, { unit, value: signed }: Figure): boolean => {
  const wanted = Math.abs(signed)
  const isBasis = suffix.startsWith("b") && !suffix.startsWith("bi") && suffix !== "bn"
  if (isBasis || suffix.endsWith("基点")) {
    return matches(value, decimals, unit === "points" ? wanted * 100 : wanted)
  }
  if (unit === "basis points" && /^(%|％|percentage|pp|个?百分点)$/.test(suffix)) {
    return matches(value * 100, Math.max(0, decimals - 2), wanted)
  }
  const scale = scaleOfSuffix[suffix]
  const full = wanted * (unit === undefined ? 1 : unitScale[unit])
  if (scale !== undefined && unit !== undefined) {
    return matches((value * scale) / unitScale[unit], decimals, wanted)
  }
  return matches(value, decimals, wanted) || matches(value, decimals, full)
}

/** True if one of the texts has the figure, among few other numbers that are not the prompt's. */
export const statesFigure = (figure: Figure, prompt: string, texts: ReadonlyArray<string>): boolean => {
  const given = new Set(numbersIn(prompt).map(({ value }) => value))
  const written = texts.flatMap(numbersIn)
  const foreign = new Set(written.map(({ value }) => value).filter((value) => !given.has(value)))
  return foreign.size <= maxForeign && written.some((each) => isFigure(each, figure))
}

/** True if a text has the figure already, so that a copy of the text would suffice. */
export const hasFigure = (text: string, figure: Figure): boolean =>
  numbersIn(text).some((each) => isFigure({ ...each, suffix: "" }, figure) || isFigure(each, figure))
