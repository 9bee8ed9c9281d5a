/**
 * Types of the tab. Nothing is here at run time, so that pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/lib/chart-types.js").Band} Band
 * @typedef {import("tbcore/lib/chart-types.js").XAxis} XAxis
 *
 * @typedef {object} Percentiles  of one series, as columns of equal length in order of arrival
 * @property {Float64Array} step
 * @property {Float64Array} wallTime  seconds since the epoch
 * @property {number[]} points  hundredths of a percent, rising
 * @property {Float64Array[]} values  so many samples are not above these: a column for each point, NaN without samples
 * @property {boolean[]} empty  whether a step has no samples
 *
 * @typedef {object} Options  how the tab shows distributions
 * @property {XAxis} x
 * @property {boolean} tails  with the least and the greatest sample
 * @property {string} samples  how many steps, as `SAMPLES` of the library has it
 * @property {"medium" | "large"} size
 */
