/*
 * One quantile does not pay for a statistics library: the candidate brought a tree of 230 packages.
 *
 * Table: the closed form of the distribution for whole degrees of freedom (Abramowitz and Stegun 1964, 26.7.3
 * and 26.7.4) solved to 40 digits, rounded to a double.
 */
const table = [
  12.706204736174705, 4.302652729749464, 3.1824463052837095, 2.7764451051977943, 2.5705818356363155,
  2.44691185114497, 2.3646242515927853, 2.3060041352041667, 2.2621571627982053, 2.228138851986275,
  2.2009851600916397, 2.178812829667229, 2.1603686564627926, 2.144786687917804, 2.1314495455597755,
  2.1199052992212546, 2.109815577833317, 2.1009220402410387, 2.0930240544083096, 2.085963447265865,
  2.0796138447276804, 2.0738730679040263, 2.0686576104190486, 2.063898561628026, 2.0595385527532977,
  2.055529438642873, 2.0518305164802855, 2.048407141795245, 2.0452296421327043, 2.042272456301238
]

/*
 * Beyond the table: t = z + g1(z) / df + g2(z) / df^2 + ..., the Cornish-Fisher expansion (Abramowitz and Stegun
 * 26.7.5, there up to g4) with z = 1.959963984540054. The polynomials g1 to g8 were derived in rational
 * arithmetic (g1 to g4 are those of 26.7.5) and are given as their values at z, highest first, z last.
 */
const expansion = [
  -1.7139281826235218, 0.12881285359619749, 0.6274804609510736, 0.7328982119816057, 1.5895340533938236,
  2.5558496795077232, 2.8224986157396117, 2.372271230298563, 1.9599639845400543
]

/**
 * The 0.975 quantile of Student's t distribution: the half-width of a 95 % interval in standard errors.
 *
 * Against 40-digit values the error is below 1e-12 for every df: rounding of the double in the table (df to
 * 30), at most 1e-13 beyond it (largest at df 31).
 *
 * @param df degrees of freedom, a whole number >= 1 (else RangeError)
 */
export const studentT975 = (df: number): number => {
  if (!Number.isInteger(df) || df < 1) {
    throw new RangeError(`degrees of freedom must be a whole number from 1 on, got ${df}`)
  }
  return table[df - 1] ?? expansion.reduce((sum, coefficient) => sum / df + coefficient, 0)
}
