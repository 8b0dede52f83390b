/** Closer to a half than this, a product of doubles below 1e12 may lie on the other side of it: its error is below 2^-13. */
const doubt = 0.001

/**
 * `Number(figure.toPrecision(12))`: a square root in doubles leaves noise in the last digits (19.999999999999996), which
 * no figure means. Between 1 and 100, where most figures are, without the detour of a text, which takes sixty times as
 * long: the nearest whole number of the last digit's units, which a power of ten divides to the nearest double.
 */
export const twelveDigits = (figure: number): number => {
  if (figure >= 1 && figure < 100) {
    const units = figure < 10 ? 1e11 : 1e10
    const scaled = figure * units
    const whole = Math.round(scaled)
    if (Math.abs(scaled - whole) < 0.5 - doubt) return whole / units
  }
  return Number(figure.toPrecision(12))
}
