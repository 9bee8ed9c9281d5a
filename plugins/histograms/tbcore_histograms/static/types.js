/**
 * Types of the histograms tab. The module is empty at run time, and pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/chart.js").Range} Range
 * @typedef {Exclude<import("tbcore/chart.js").XAxis, "number">} XAxis
 *
 * @typedef {object} Buckets  the logged buckets, without the empty ones at both ends
 * @property {Float64Array} left  edges, ascending
 * @property {Float64Array} right  edges, ascending unless buckets overlap
 * @property {Float64Array} count  samples in the bucket
 * @property {number} total  samples in all buckets
 * @property {number} numUnplaced  samples in buckets without finite edges, which the arrays leave
 *   out
 *
 * @typedef {object} Histogram  the histogram of one step
 * @property {number} wallTime  seconds since the epoch
 * @property {number} step
 * @property {number} min  smallest sample
 * @property {number} max  largest sample
 * @property {number} num  number of samples
 * @property {Buckets} buckets
 *
 * @typedef {object} Options  how the tab shows histograms
 * @property {"offset" | "overlay"} mode
 * @property {XAxis} y  quantity of the vertical axis
 * @property {number} trim  percent of the samples left out at each end
 * @property {boolean} root  heights are square roots of densities
 * @property {"equal" | "logged"} bins  what is drawn: about 50 bins of equal width, or the buckets
 * @property {boolean} own  whether each card has its own range of values, not that of all of its tag
 * @property {string} samples  how many steps to show, one of `SAMPLES`
 * @property {"medium" | "large"} size  of the cards
 *
 * @typedef {object} Reading  the bin or bucket that the tooltip describes
 * @property {number} ridge  index of the histogram, in drawing order
 * @property {number} bucket  index of the bin or bucket as drawn; -1 between or beyond them
 * @property {number} value  on the x axis
 */
