/** TensorBoard's smoothing: the debiased exponential moving average. */

/** The greatest weight that a reader may choose: with 1 a curve would never leave its first value. */
export const MAX_SMOOTHING = 0.999;

/**
 * Smooths a column. Servers that smooth before they leave points out come to the same numbers.
 *
 *     average[i] = weight * average[i - 1] + (1 - weight) * value[i]        average[-1] = 0
 *     smoothed[i] = average[i] / (1 - weight ** (i + 1))
 *
 * Values that are not finite take no part and stay what they are, and a constant series stays itself.
 * @param {ArrayLike<number>} values
 * @param {number} weight  for each point; 0 leaves values as they are; below 1
 * @returns {Float64Array} of the same length
 */
export function smoothed(values, weight) {
  const result = Float64Array.from(values);
  const first = result.find(Number.isFinite);
  if (weight === 0 || result.every((value) => value === first || !Number.isFinite(value))) return result;
  let average = 0;
  let power = 1;
  for (let i = 0; i < result.length; i++) {
    if (!Number.isFinite(result[i])) continue;
    average = weight * average + (1 - weight) * result[i];
    power *= weight;
    result[i] = average / (1 - power);
  }
  return result;
}
