/**
 * Types of the tab. Nothing is here at run time, so that pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/host.js").RunGroup} RunGroup
 * @typedef {import("tbcore/lib/chart-types.js").Line} Line
 * @typedef {import("tbcore/lib/chart-types.js").XAxis} XAxis
 * @typedef {[from: number, to: number]} View  a part of the x axis
 * @typedef {Record<string, string[]>} RunToTags  as the server lists them
 *
 * @typedef {"range" | "deviation" | "quartiles"} Spread
 *
 * @typedef {object} Options  how the tab shows its charts
 * @property {XAxis} x
 * @property {boolean} logX
 * @property {boolean} logY
 * @property {number} smooth  0 to 0.999
 * @property {boolean} clip  leave outliers out of the range of the y axis
 * @property {boolean} legend  below every chart
 * @property {boolean} link  charts of a section zoom together
 * @property {"small" | "medium" | "large"} size
 * @property {Spread} spread  of a group of runs
 *
 * @typedef {object} Part  one tag of a chart, and the runs that have it
 * @property {string} tag
 * @property {readonly Run[]} runs
 *
 * @typedef {object} Shown  what there is to draw just now
 * @property {Line[]} lines
 * @property {number} numShown  points drawn
 * @property {number} numInside  points logged, in the same part of the axis
 *
 * @typedef {object} ShownBands  of groups of runs
 * @property {import("tbcore/lib/chart-types.js").Band[]} bands
 * @property {number} numShown  means drawn, of those groups that have more points than these
 * @property {number} numInside  points logged, of these groups, in the same part of the axis
 *
 * @typedef {object} Question  what a chart shows; equal questions have equal answers while a run does not change
 * @property {string} tag
 * @property {"step" | "relative" | "wall"} x
 * @property {"linear" | "log"} scale
 * @property {View | null} view  null: everything
 * @property {number} pixels
 * @property {number} smoothing  0 to below 1
 *
 * @typedef {object} Rows  of one run and tag, in drawing order
 * @property {string} generation  of the run
 * @property {Float64Array} step
 * @property {Float64Array} wallTime
 * @property {Float64Array} value
 * @property {Float64Array | null} smoothed
 * @property {number} weight  that `smoothed` was made with
 * @property {number} pixels  that they were asked for
 * @property {number[]} segments
 * @property {number} startTime
 * @property {number} numPoints  of the whole series
 * @property {number} numInside  those in the view
 * @property {number} numShown  rows in the view
 *
 * @typedef {object} Tab  what the cards of the tab share
 * @property {Host} host
 * @property {import("./lines-store.js").LinesStore} store
 * @property {Options} options
 * @property {import("tbcore/lib/chart-types.js").Cursor} cursor
 * @property {readonly RunGroup[] | null} groups  null: every run has its own line
 * @property {string[]} tags  all tags, to choose from
 * @property {(card: string) => View | null} viewOf  of a chart, as a link has it
 * @property {(card: string, view: View | null) => void} onView
 * @property {(card: string) => string[]} shapeOf  words that the address has of a card: `full` size, `table` or `plain`
 *   without one, the order of its table: `max-` falls, `max+` rises
 * @property {(card: string, kind: RegExp, word: string | null) => void} onShape  the word in place of those of its kind
 * @property {(tag: string) => void} onPin
 * @property {(tags: readonly string[], other: string) => void} onCombine  draws another tag in the same chart
 * @property {(tags: readonly string[]) => void} onSplit
 *
 * @typedef {(view: View | null, settled: boolean) => void} Move
 *
 * @typedef {object} Link  charts that zoom together
 * @property {View | null} view  of all of them
 * @property {(follow: { current: Move }) => () => void} join  returns what leaves again
 * @property {(view: View | null, settled: boolean, from: { current: Move }) => void} move  tells the other charts
 */
