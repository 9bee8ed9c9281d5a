/**
 * Types of the custom scalars tab. The module is empty at run time, and pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/chart.js").Line} Line
 * @typedef {import("tbcore/chart.js").Band} Band
 * @typedef {import("tbcore/chart.js").XAxis} XAxis
 *
 * @typedef {{ value: string, lower: string, upper: string }} Margin  its three tags
 *
 * @typedef {{ step: Float64Array, wallTime?: Float64Array } & Partial<Margin>} MarginSource
 * @typedef {Band & { source: MarginSource }} MarginBand  with the names of its tags and the columns
 *   that it does not draw
 *
 * @typedef {object} Chart  a chart of the layout, as the server sends it
 * @property {string} title
 * @property {{ tag: string[] }} [multiline]  regular expressions
 * @property {{ series: Margin[] }} [margin]
 *
 * @typedef {{ version?: number, category?: { title: string, chart: Chart[], closed: boolean }[] }} Layout
 *   empty if no run has one
 *
 * @typedef {object} Options  how the tab shows its charts
 * @property {XAxis} x
 * @property {"" | "true" | "symlog"} logY  the scale of the y axis: linear, logarithmic or symmetric-logarithmic
 * @property {number} smooth  0 to 0.99999
 * @property {"exponential" | "window" | "gaussian"} smoothKind
 * @property {boolean} clip  leave outliers out of the range of the y axis
 * @property {boolean} legend  show a table below every chart
 *
 * @typedef {object} Entry  describes one line of a response
 * @property {string} run
 * @property {string} [tag]  in a multiline chart
 * @property {number[]} [segments]  index of each segment's first row; a restart begins a segment
 * @property {string} [value]  tag of the middle line, in a margin chart
 * @property {string} [lower]  tag of the lower edge, in a margin chart
 * @property {string} [upper]  tag of the upper edge, in a margin chart
 *
 * @typedef {object} ChartData  the server's response for a chart
 * @property {{ lines: Entry[], num_lines: number, invalid?: Record<string, string>, missing?: string[], untimed?: string[] }} header
 * @property {Record<string, Float64Array>[]} tables  one for each line
 */
