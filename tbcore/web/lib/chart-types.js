/**
 * Types of the chart and of what it is made of. Nothing is here at run time, so that pages do not load it.
 */

export {};

/**
 * @typedef {object} Columns  one series as columns of equal length, in the order in which it was written
 * @property {Float64Array} step
 * @property {Float64Array} wallTime  seconds since the epoch
 * @property {Float64Array} value  NaN and infinities included
 *
 * @typedef {"step" | "relative" | "wall_time"} XAxis
 * @typedef {{ moveTo(x: number, y: number): void, lineTo(x: number, y: number): void }} PathLike
 * @typedef {{ from: number, to: number, rising: boolean }} Part  points from .. to - 1, which are joined
 * @typedef {[min: number, max: number]} Range
 * @typedef {"linear" | "log"} Scale
 *
 * @typedef {object} LineOptions
 * @property {string} name  shown on hover
 * @property {string} [run]  the run it is of, where the name says more; the name unless told
 * @property {string} color
 * @property {Float64Array | null} [smoothed]  drawn strong, with `value` faint behind it
 * @property {ArrayLike<number>} [segments]  first rows of segments, such as restarts; no line joins two
 * @property {number} [startTime]  when relative time begins, seconds since the epoch; at the first row unless told
 * @property {readonly number[]} [dash]  pixels on, pixels off
 * @property {Columns} [overview]  rows of the whole series, when these are a part of it: "everything" reaches as far
 * @property {string} [key]  tells lines of one name apart
 * @property {boolean} [faint]  drawn thin behind all others, and without a say in what the axes show; of smoothed lines
 *   only these
 * @typedef {Columns & LineOptions} Line
 *
 * @typedef {object} Band  the mean of a group of runs, and how far they are apart
 * @property {string} name
 * @property {string} color
 * @property {Float64Array} x  in units of the x axis
 * @property {Float64Array} mean
 * @property {Float64Array} low
 * @property {Float64Array} high
 * @property {Float64Array} count  of runs in the mean
 * @property {number} [numRuns]  of the group, where `count` may be less
 * @property {Float64Array} [nonfinite]  how many runs have a value there that is not finite; where they become more it is
 *   marked
 * @property {[low: Float64Array, high: Float64Array][]} [inner]  narrower bands inside it, drawn over it
 * @property {string} [label]  what low and high are
 * @property {Float64Array} [overview]  x of the whole band, when this is a part of it
 * @property {readonly number[]} [dash]  of the mean: pixels on, pixels off
 * @property {string} [key]  tells bands of one name apart
 *
 * @typedef {object} ReadOut  what is said about one thing
 * @property {string} name
 * @property {string} color
 * @property {readonly (readonly [what: string, value: string])[]} rows
 * @property {string} note  a line below; may be empty
 * @property {string} spoken  read aloud when the keyboard is used
 *
 * @typedef {object} Axes
 * @property {XAxis} xAxis  "step" unless told
 * @property {Scale} xScale  "linear" unless told; wall time always is
 * @property {Scale} yScale  "linear" unless told
 * @property {boolean} clip  leaves outliers out of the y range, and marks lines that are cut off; false unless told
 *
 * @typedef {object} Callbacks
 * @property {string} label  what the chart shows, for those who cannot see it
 * @property {(view: Range | null, settled: boolean) => void} [onView]  the reader zooms or moves; `settled` at the end of
 *   a gesture
 * @property {(hits: Hit[]) => void} [onHover]  what is pointed at, the nearest first; empty: nothing any more
 * @property {(hits: readonly Hit[]) => ReadOut} [readOut]  what to say of what is pointed at, instead of a table of values
 * @property {Cursor} [cursor]  shared with other charts
 * @property {(x: number | null, settled: boolean, here: boolean) => void} [onPin]  an x was pinned, moved or let go, here
 *   or in a chart with the same cursor; `settled` at the end of a gesture. Without it the reader can pin nothing
 * @property {(x: number, direction: -1 | 1) => Promise<number | null> | null} [nextX]  where the next point of all that
 *   were logged is, for a pin that is walked; null: there is none, and instead of a promise: all points are drawn
 * @property {(isZoomed: boolean) => void} [onZoom]
 * @typedef {Callbacks & Partial<Axes>} LineChartOptions
 *
 * @typedef {object} Item  a line or band on the axes
 * @property {Line | null} line
 * @property {Band | null} band
 * @property {string} name
 * @property {string} run  of a band: its name
 * @property {string} color
 * @property {Float64Array} xs
 * @property {Float64Array} ys  drawn strong
 * @property {Float64Array | null} raw  drawn faint
 * @property {Float64Array[]} columns  all that is drawn
 * @property {Part[]} parts
 * @property {Range | null} ends  of x in these rows
 * @property {Range | null} xExtent  of the whole series
 * @property {Range | null} yExtent
 * @property {{ index: number, beside: number }[]} nonFinite
 *
 * @typedef {object} Hit  a point that is read just now
 * @property {Line} [line]
 * @property {Band} [band]  instead of a line
 * @property {string} name
 * @property {string} run  of a band: its name
 * @property {string} color
 * @property {number} index  of the point
 * @property {number} left  CSS pixels inside the plot
 * @property {number} top  NaN: has no place
 *
 * @typedef {object} Axis
 * @property {XAxis | "value"} kind
 * @property {boolean} log
 * @property {Range} range  what is shown; logarithms where `log`
 *
 * @typedef {{ share: number, label: string }} Tick  share of the axis' length
 *
 * @typedef {object} Layout  CSS pixels inside the chart
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 * @property {Tick[]} xTicks
 * @property {Tick[]} yTicks
 *
 * @typedef {object} Pointed  CSS pixels inside the plot
 * @property {number} left
 * @property {number} top
 * @property {boolean} [isTouch]  by a finger, which cannot click: it moves the page
 *
 * @typedef {object} GestureTarget  what gestures act on
 * @property {() => Range | null} range  of the x axis, as it is laid out; null while there is nothing
 * @property {(range: Range | null, settled: boolean) => void} show  null: everything; `settled` at the end of a gesture
 * @property {(point: Pointed | null) => void} point  pointed at
 * @property {(point: { left: number, top: number }) => void} [click]  clicked once, CSS pixels inside the plot
 * @property {(event: KeyboardEvent) => boolean} key  whether a key was of use otherwise
 *
 * @typedef {object} Picture
 * @property {string} label  the title
 * @property {number} width
 * @property {number} height
 * @property {Layout} layout
 * @property {Axis} x
 * @property {Axis} y
 * @property {readonly Item[]} items
 * @property {readonly { color: string, fill: string, stroke: string }[]} marks
 * @property {string} note  what is not shown
 * @property {{ text: string, grid: string, surface: string }} colors
 *
 * @typedef {object} CursorMember  a chart
 * @property {(x: number | null, run: string | null) => void} showCursor  another chart is pointed at, at this x and at
 *   a line of this run; null: no longer
 * @property {(run: string | null) => void} highlight
 * @property {(x: number | null, settled: boolean, here: boolean) => void} showPin  marks an x; null: none. `here`: it was
 *   done in this chart
 *
 * @typedef {object} Cursor
 * @property {(member: CursorMember) => () => void} join  returns what leaves again
 * @property {(x: number | null, run: string | null, from: CursorMember) => void} move  tells all others
 * @property {(x: number | null, settled: boolean, from?: CursorMember) => void} pin  tells all, also those that join later
 * @property {(run: string | null) => void} highlight  draws the lines of a run strong in all charts, others faint
 */
