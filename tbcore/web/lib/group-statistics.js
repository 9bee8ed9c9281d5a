/** Statistics of a value of each run of a group; tbcore/values/statistics.py is the same for the server, and tests/statistics.json has what both must do. No DOM. */

/**
 * The mean of the finite values, and the mean minus and plus the standard deviation of the sample,
 * over n - 1; that of a single value is 0.
 * @param {readonly number[]} values
 * @param {number} [live]  number of runs that are still being written
 * @returns {import("./group-figure.js").Statistics}
 */
export function statisticsOf(values, live = 0) {
  const finite = values.filter(Number.isFinite);
  const [count, nonfinite] = [finite.length, values.length - finite.length];
  if (count === 0) return { average: NaN, low: NaN, high: NaN, count, nonfinite, live };
  // Scaled to at most 1, no sum or square overflows.
  const scale = finite.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const mean = finite.reduce((sum, value) => sum + value / scale, 0) / count;
  const squares = finite.reduce((sum, value) => sum + (value / scale - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / Math.max(1, count - 1));
  const isSame = finite.every((value) => value === finite[0]);
  const [average, distance] = isSame ? [finite[0], 0] : [mean * scale, deviation * scale];
  return { average, low: average - distance, high: average + distance, count, nonfinite, live };
}
