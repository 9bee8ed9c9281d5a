/** TensorBoard's smoothing: the debiased exponential moving average. */

/** The largest weight that users can choose. With a weight of 1 the curve would stay at its first value. */
export const MAX_SMOOTHING = 0.999;

/**
 * Smooths a column. A server that smooths a series before sampling it gets the same numbers.
 *
 *     average[i] = weight * average[i - 1] + (1 - weight) * value[i]        average[-1] = 0
 *     smoothed[i] = average[i] / (1 - weight ** (i + 1))
 *
 * Non-finite values are skipped and returned unchanged. A constant series is returned unchanged,
 * too.
 * @param {ArrayLike<number>} values
 * @param {number} weight  from 0 (no smoothing) to below 1
 * @returns {Float64Array} same length as `values`
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
