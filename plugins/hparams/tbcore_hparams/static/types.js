/**
 * Types of the hyperparameters tab. The module is empty at run time, and pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 *
 * @typedef {string | number | boolean | null} Cell  null if missing
 * @typedef {"min" | "max"} Goal  whether small or large values of a metric are better
 * @typedef {"avg" | "min" | "max" | "median"} Aggregation  how the sessions of a group are combined
 *   into one value
 *
 * @typedef {object} Column  a column of the table, with a cell for each group of the sweep
 * @property {string} key  short and readable, for the page address
 * @property {"info" | "hparam" | "metric"} kind
 * @property {number} index  among the columns of its kind
 * @property {string} label
 * @property {string} description
 * @property {"number" | "string" | "bool" | "mixed" | "time" | "duration"} type  time and duration
 *   are numbers of seconds
 * @property {boolean} differs  whether it has more than one value; a missing value counts
 * @property {boolean} isUndeclared  whether the experiment declares others of its kind but not
 *   this; hidden by default
 * @property {boolean} [isDeclared]  of a metric: whether an experiment was logged that declares it
 * @property {readonly Cell[]} cells
 * @property {readonly string[]} [texts]  what regular expressions are matched with; the cells by
 *   default
 * @property {{ group: string, tag: string } | null} metric  null for other columns
 * @property {"lowest" | "highest"} [extreme]  which value over the steps the cells of a metric are;
 *   the last one by default
 * @property {string} [title]  of the metric's curve; the label by default
 * @property {readonly Cell[]} [steps]  of a metric: the step of each cell; the mean step if the cell
 *   is a mean of several sessions
 * @property {(row: number) => { text: string, title: string, average?: string } | null} [figure]  in a
 *   sweep by groups, and of a hyperparameter that differs inside one: what to show in place of a cell,
 *   its tooltip, and of a metric the average with its spread alone; null for the cell itself
 * @property {readonly (import("tbcore/groups.js").Statistics | null)[]} [statistics]  in a sweep by
 *   groups, of a metric: of the values of each group's sessions; null if there are none
 * @property {import("tbcore/groups.js").Average} [average]  of a metric with statistics: which average
 *   they have
 * @property {import("tbcore/host.js").Grouping["spread"]} [spread]  and what is beside it
 * @property {readonly ReadonlyMap<string, number>[]} [values]  and the values of each group's sessions
 * @property {readonly Cell[]} [sessionCells]  of a hyperparameter that differs inside a group: a cell
 *   for each session
 * @property {string} [heading]  in the table, if it differs from the label
 * @property {boolean} [isStep]  whether the cells are steps of the metric in the column before
 *
 * @typedef {object} Session  one training, with its run and the runs below it
 * @property {string} name  of its run
 * @property {string} label  the name to show
 * @property {number} index  in the sweep's `sessions`
 * @property {string} status
 * @property {number} start  seconds since the epoch; NaN if unknown
 * @property {number} end
 * @property {string} modelUri
 * @property {string} monitorUrl
 *
 * @typedef {object} Group  sessions with the same hyperparameters, or those of a group in the list of
 *   runs: a row of the table
 * @property {string} name
 * @property {string} label  the name to show: the label of the session if there is only one
 * @property {readonly Session[]} sessions
 * @property {number} [archived]  number of its sessions that were put away, and are not in `sessions`
 *
 * @typedef {object} SessionMetric  values of a metric, as columns with a row for each session
 * @property {Float64Array} value
 * @property {Float64Array} step
 * @property {Float64Array} wallTime
 *
 * @typedef {Pick<Column, "cells" | "steps" | "figure" | "statistics" | "average" | "spread" | "values"> & { sessionValues: SessionMetric }} MetricValues
 *   values of a metric, by group and by session, and their steps
 *
 * @typedef {{ aggregation: Aggregation, group?: string, tag?: string, by?: "lowest" | "highest", extremes?: string }} TableQuery
 *   parameters of the route `table`
 *
 * @typedef {object} Sweep
 * @property {readonly Column[]} columns  in default order: information, hyperparameters that
 *   differ, other ones, metrics
 * @property {ReadonlyMap<string, Column>} byKey
 * @property {readonly Column[]} metrics
 * @property {readonly Group[]} groups
 * @property {readonly Session[]} sessions
 * @property {readonly SessionMetric[]} sessionValues  one per metric
 * @property {readonly { lowest: MetricValues, highest: MetricValues }[] | null} extremes  one per
 *   metric; null if they were not requested
 * @property {string} description  of the experiment
 * @property {{ count: number, first: readonly string[] }} problems  messages that cannot be decoded: how many, and the first ones in words
 * @property {TableQuery} query  which values the rows of several sessions have
 * @property {Grouped | null} grouped  null unless it is by the groups in the list of runs
 *
 * @typedef {object} Grouped
 * @property {string} averageName  of the average that metrics have
 * @property {readonly { column: Column, cells: readonly Cell[] }[]} repeated  the hyperparameters that
 *   differ inside a group, with a cell for each session
 * @property {string | null} metric  the key of the metric that is optimised by default, over all sessions: the same
 *   for each filter
 * @property {number} numLeftOut  number of sessions that are in no group, since their runs are not shown
 *
 * @typedef {{ key: string, min: number | null, max: number | null }} IntervalFilter  a closed
 *   interval; null for no bound
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
 * @typedef {object} Scale  maps a column's cells to positions on an axis
 * @property {"linear" | "log" | "ordinal"} kind
 * @property {readonly Cell[]} categories  the values of an ordinal scale, in order
 * @property {(cell: Cell) => number} position  0 to 1; NaN if the cell has no position on the axis
 * @property {(maxTicks: number) => Tick[]} ticks  at most about this many
 * @property {(from: number, to: number) => { min: number | null, max: number | null } | { values: Cell[] } | null} filterBetween
 *   the filter for cells between two positions; null if it includes everything
 * @property {(filter: ColumnFilter) => [number, number] | null} intervalOf  the positions between
 *   which a filter's cells are; null if they are not an interval of the axis
 * @property {string} unplacedLabel  label for cells without a position; "" if there are none
 */
