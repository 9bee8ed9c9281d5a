/**
 * Types of the tab. Nothing is here at run time, so that pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/lib/chart-types.js").Line} Line
 * @typedef {import("tbcore/lib/chart-types.js").Band} Band
 * @typedef {import("tbcore/lib/chart-types.js").XAxis} XAxis
 *
 * @typedef {{ value: string, lower: string, upper: string }} Margin  tags
 *
 * @typedef {object} Chart  as the server has it
 * @property {string} title
 * @property {{ tag: string[] }} [multiline]  regular expressions
 * @property {{ series: Margin[] }} [margin]
 *
 * @typedef {{ version?: number, category?: { title: string, chart: Chart[], closed: boolean }[] }} Layout  empty when no
 *   run has one
 *
 * @typedef {object} Options  how the tab shows its charts
 * @property {XAxis} x
 * @property {boolean} logY
 * @property {number} smooth  0 to 0.999
 * @property {boolean} clip  leave outliers out of the range of the y axis
 * @property {boolean} legend  below every chart
 *
 * @typedef {object} Entry  of a line in an answer
 * @property {string} run
 * @property {string} [tag]  of a multiline chart
 * @property {number[]} [segments]
 * @property {string} [value]  of a margin chart, as are the next two
 * @property {string} [lower]
 * @property {string} [upper]
 *
 * @typedef {object} Answer  what the server has for a chart
 * @property {{ lines: Entry[], num_lines: number, invalid?: Record<string, string>, missing?: string[] }} header
 * @property {Record<string, Float64Array>[]} tables  one for each line
 */
