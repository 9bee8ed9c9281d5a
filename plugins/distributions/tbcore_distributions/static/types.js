/**
 * Types of the distributions tab. The module is empty at run time, and pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/chart.js").Band} Band
 * @typedef {import("tbcore/chart.js").XAxis} XAxis
 *
 * @typedef {object} Percentiles  the percentiles of one series, as columns of equal length in the
 *   order of the file
 * @property {Float64Array} step
 * @property {Float64Array} wallTime  seconds since the epoch
 * @property {number[]} basisPoints  which percentiles, ascending
 * @property {Float64Array[]} values  one column per point: the value of that percentile, NaN at
 *   steps without samples
 * @property {boolean[]} empty  whether a step has no samples
 *
 * @typedef {Band & { percentiles: Percentiles }} PercentileBand
 *
 * @typedef {object} Options  how the tab shows distributions
 * @property {XAxis} x
 * @property {boolean} tails  show the minimum and the maximum
 * @property {boolean} own  whether each card has its own range of values, not that of all of its tag
 * @property {string} samples  how many steps to show, one of `SAMPLES`
 * @property {"medium" | "large"} size
 */
