/**
 * Types of the tab. Nothing is here at run time, so that pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/lib/chart-types.js").Range} Range
 * @typedef {import("tbcore/lib/chart-types.js").XAxis} XAxis
 *
 * @typedef {object} Buckets  those that were logged, without the empty ones at both ends
 * @property {Float64Array} left
 * @property {Float64Array} right
 * @property {Float64Array} count
 * @property {number} total  of the counts
 * @property {number} numUnplaced  samples in buckets without finite edges
 *
 * @typedef {object} Histogram  one step
 * @property {number} wallTime  seconds since the epoch
 * @property {number} step
 * @property {number} min  of the samples
 * @property {number} max
 * @property {number} num  of the samples
 * @property {Buckets} buckets
 *
 * @typedef {object} Options  how the tab shows histograms
 * @property {"offset" | "overlay"} mode
 * @property {XAxis} y  what the histograms are placed by
 * @property {number} trim  percent of the samples left out at both ends
 * @property {boolean} root  heights are square roots
 * @property {string} samples  how many steps, as `SAMPLES` of the library has it
 * @property {"medium" | "large"} size
 *
 * @typedef {object} Reading  a bucket of a histogram that is read just now
 * @property {number} row
 * @property {number} bucket  -1: between or beyond the buckets
 * @property {number} value  on the x axis
 */
