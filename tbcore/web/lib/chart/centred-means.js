/**
 * Moving averages that are centred, so that they do not lag behind the values. The module is loaded
 * when one is chosen. The server's `tbcore/store/smoothing.py` gives the same numbers.
 */

/** @typedef {import("./series.js").Average} Average */

/** The lag of the exponential average of this weight, in points. @param {number} weight */
const lagOf = (weight) => weight / (1 - weight);

/** The mean of the values up to the lag of the exponential average away. @type {Average} */
export function window(values, weight) {
  return windowMean(values, lagOf(weight));
}

/** Four windows in a row, which is nearly a Gaussian. They spread a value as far as `window` does. @type {Average} */
export function gaussian(values, weight) {
  // The variance of a window is half * (half + 1) / 3, and variances add up.
  const half = (Math.sqrt(1 + lagOf(weight) * (lagOf(weight) + 1)) - 1) / 2;
  return [1, 2, 3, 4].reduce((average) => windowMean(average, half), values);
}

/**
 * The means of the values up to `half` points away. If it is not an integer, the outermost two values
 * count in part.
 * @param {Float64Array} values @param {number} half
 */
function windowMean(values, half) {
  const whole = Math.floor(half);
  return values.map((_, i) => {
    let [sum, count] = [0, 0];
    const last = Math.min(values.length - 1, i + whole + 1);
    for (let j = Math.max(0, i - whole - 1); j <= last; j++) {
      const share = Math.min(1, half + 1 - Math.abs(i - j));
      sum += share * values[j];
      count += share;
    }
    return sum / count;
  });
}
