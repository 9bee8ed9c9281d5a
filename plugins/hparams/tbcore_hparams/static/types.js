/**
 * Types of the tab of hyperparameters. Nothing is here at run time, so that pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 *
 * @typedef {string | number | boolean | null} Cell  null: missing
 * @typedef {"min" | "max"} Goal  which values of a metric are better: the smallest, the greatest
 * @typedef {"avg" | "min" | "max" | "median"} Aggregation  of the sessions of a group
 *
 * @typedef {object} Column  of the table: a row each for the groups of the sweep
 * @property {string} key  short and readable: stands in the address
 * @property {"info" | "hparam" | "metric"} kind
 * @property {number} index  among its kind
 * @property {string} label
 * @property {string} description
 * @property {"number" | "string" | "bool" | "mixed" | "time" | "duration"} type  time and duration are numbers of seconds
 * @property {boolean} differs  has more than one value, a missing one included
 * @property {boolean} isExtra  sessions have it, and the experiment declares others: shown where it is asked for
 * @property {readonly Cell[]} cells
 * @property {readonly string[]} [texts]  what patterns are matched with, where these are not the cells
 * @property {{ group: string, tag: string } | null} metric
 * @property {"lowest" | "highest"} [of]  a metric's values over the steps, whose cells these are; the last one where it is not there
 * @property {string} [title]  of the curve of a metric, where that is not the label
 *
 * @typedef {object} Session  one training run, with the runs below it
 * @property {string} name  of its run
 * @property {number} index
 * @property {string} status
 * @property {number} start  seconds since the epoch; NaN: unknown
 * @property {number} end
 * @property {string} modelUri
 * @property {string} monitorUrl
 *
 * @typedef {object} Group  sessions with the same hyperparameters: a row of the table
 * @property {string} name
 * @property {string} label  what is shown: the session's name where there is one only
 * @property {readonly Session[]} sessions
 *
 * @typedef {object} SessionMetric  columns with a row for each session
 * @property {Float64Array} value
 * @property {Float64Array} step
 * @property {Float64Array} wallTime
 *
 * @typedef {{ cells: readonly Cell[], ofSessions: SessionMetric }} MetricValues  of one metric, in groups and in sessions
 *
 * @typedef {object} Sweep
 * @property {readonly Column[]} columns  in their natural order: information, hyperparameters that differ, others, metrics
 * @property {ReadonlyMap<string, Column>} byKey
 * @property {readonly Column[]} metrics
 * @property {readonly Group[]} groups
 * @property {readonly Session[]} sessions
 * @property {readonly SessionMetric[]} ofSessions  for each metric
 * @property {readonly { lowest: MetricValues, highest: MetricValues }[] | null} extremes  likewise; null: nobody asked for them
 * @property {string} description  of the experiment
 *
 * @typedef {{ key: string, min: number | null, max: number | null }} IntervalFilter  closed; null: no bound
 * @typedef {{ key: string, values: readonly Cell[] }} ValuesFilter
 * @typedef {{ key: string, text: string }} TextFilter  a regular expression
 * @typedef {IntervalFilter | ValuesFilter | TextFilter} ColumnFilter
 *
 * @typedef {{ key: string, descending: boolean }} Sort
 *
 * @typedef {object} Tick
 * @property {number} share  of the axis, 0 to 1
 * @property {string} label
 *
 * @typedef {object} Scale  places a column's cells on an axis
 * @property {"linear" | "log" | "ordinal"} kind
 * @property {readonly Cell[]} categories  of an ordinal one, in their order
 * @property {(cell: Cell) => number} place  0 to 1; NaN: has no place
 * @property {(most: number) => Tick[]} ticks  at most about so many
 * @property {(from: number, to: number) => { min: number | null, max: number | null } | { values: Cell[] } | null} part  what
 *   lies between two shares, as a filter; null: everything
 * @property {(filter: ColumnFilter) => [number, number] | null} span  of a filter, as shares; null: it is no interval there
 * @property {string} unplaced  what to say of cells without a place; "": there are none
 */
