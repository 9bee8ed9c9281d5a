/** Types of the line chart and its parts. The module has no code, so no page loads it. */

export {};

/**
 * @typedef {object} Columns  one series as columns of equal length, in the order it was written
 * @property {Float64Array} step
 * @property {Float64Array} [wallTime]  seconds since the epoch; needed for the axes of times
 * @property {Float64Array} value  may contain NaN and infinities
 * @property {Float64Array} [x]  positions on an axis of numbers; they may go back and forth
 *
 * @typedef {"step" | "relative" | "wall_time" | "number"} XAxis  `number`: all lines have `x`
 * @typedef {{ moveTo(x: number, y: number): void, lineTo(x: number, y: number): void }} PathLike
 * @typedef {{ from: number, to: number, rising: boolean, fewer?: boolean }} Segment
 *   points from .. to - 1, joined by a line; `rising`: their x never decreases; `fewer`: the mean of
 *   a band is over fewer runs than before
 * @typedef {[min: number, max: number]} Range
 * @typedef {readonly [from: number | null, to: number | null]} Limits  values; null for the end of the data
 * @typedef {"linear" | "log" | "symlog"} Scale  `symlog`: logarithmic on both sides of 0, and linear
 *   near it, up to what \`linearPart\` finds
 *
 * @typedef {object} LineOptions
 * @property {string} name
 * @property {string} [label]  shown in place of the name
 * @property {string} [run]  name of the run; defaults to `name`
 * @property {string} color  a CSS color
 * @property {Float64Array | null} [smoothed]  drawn opaque, with `value` faint behind it
 * @property {ArrayLike<number>} [segments]  index of the first row of each segment; a restart
 *   begins a segment, and no line joins two segments
 * @property {number} [startTime]  zero of relative time, seconds since the epoch; defaults to the
 *   time of the first row
 * @property {readonly number[]} [dash]  pixels on, pixels off
 * @property {Columns} [overview]  rows of the whole series, needed if the line's own rows are only
 *   those of a view: they determine the full range of the x axis
 * @property {string} [key]  distinguishes lines with the same name
 * @property {string} [group]  key of the band of its group, which legends of pictures name in its
 *   place
 * @property {boolean} [faint]  draws the line thin and behind all others, and excludes it from the
 *   range of the axes. If the line is smoothed, only its smoothed values are drawn
 * @typedef {Columns & LineOptions} Line
 *
 * @typedef {object} Band  the mean of a group of runs, and their spread
 * @property {string} name
 * @property {string} [run]  name of the group; defaults to `name`
 * @property {string} color
 * @property {Float64Array} x  in units of the x axis
 * @property {Float64Array} mean
 * @property {Float64Array} low
 * @property {Float64Array} high
 * @property {Float64Array} count  number of runs in the mean at each x. Where there are fewer than
 *   before, the mean is dotted, and the band is not drawn
 * @property {number} [numRuns]  number of runs in the group; `count` may be lower
 * @property {number} [archived]  number of its runs that were put away, and are not in `numRuns`
 * @property {Float64Array} [nonfinite]  number of runs with a non-finite value at each x; the chart
 *   marks where it increases
 * @property {[low: Float64Array, high: Float64Array][]} [inner]  narrower bands, drawn over this
 *   one
 * @property {string} [average]  what `mean` is, such as "median"; default "mean"
 * @property {string} [label]  what low and high are, such as "min and max"
 * @property {boolean} [bar]  draws the only point of the band as a bar from low to high
 * @property {import("../group-figure.js").Statistics} [final]  of the last values of the runs, for the table
 * @property {Float64Array} [overview]  x of the whole band, needed if `x` is only that of a view
 * @property {Float64Array} [overviewCount]  `count` at the x of `overview`
 * @property {readonly number[]} [dash]  dash of the mean: pixels on, pixels off
 * @property {string} [key]  distinguishes bands with the same name
 *
 * @typedef {object} ReadOut  the content of a tooltip about one thing
 * @property {string} name
 * @property {string} color
 * @property {readonly (readonly [what: string, value: string])[]} rows
 * @property {string} note  a line below the rows; may be empty
 * @property {string} spoken  text for screen readers, announced during keyboard navigation
 *
 * @typedef {object} Axes
 * @property {XAxis} xAxis  default "step"
 * @property {string} xTitle  what an axis of numbers shows, such as a tag; default ""
 * @property {Scale} xScale  default "linear"; ignored for wall time, which is always linear
 * @property {Scale} yScale  default "linear"
 * @property {boolean} clip  excludes outliers from the range of the y axis, and marks where lines
 *   are cut off; default false. All lines count alike
 * @property {boolean} [tail]  gives the y axis the range of the last 20 % of the visible x axis, and
 *   marks where lines are cut off
 * @property {Limits | null} [limits]  the ends of the y axis; lines are marked where they are cut off
 * @property {Range | null} [include]  what the y axis covers at least, unless the chart is zoomed:
 *   the range of several charts that are compared; of a logarithmic axis the log10 of its ends
 * @property {Range | null} [includeX]  the same for the full range of the x axis; with it, `include`
 *   also counts while the chart is zoomed
 *
 * @typedef {object} Callbacks
 * @property {string} label  what the chart shows; its accessible name
 * @property {(view: Range | null, settled: boolean) => void} [onView]  called when the user zooms
 *   or pans; `settled` is true at the end of a gesture
 * @property {(hits: Hit[]) => void} [onHover]  called with the points under the pointer, nearest
 *   first; with an empty array when the pointer leaves
 * @property {(hits: readonly Hit[]) => ReadOut} [readOut]  makes the tooltip's content, in place of
 *   the table of values
 * @property {Cursor} [cursor]  shared with other charts
 * @property {(x: number | null, settled: boolean, here: boolean) => void} [onPin]  called when an x
 *   is pinned, moved or unpinned (null); `settled` is true at the end of a gesture, `here` is false
 *   if it happened in another chart with the same cursor. Without this callback, users cannot pin
 * @property {(x: number, direction: -1 | 1) => Promise<number | null> | null} [nextX]  finds the x
 *   of the next logged point after x (1) or before it (-1), for moving a pin with the keys. The
 *   promise resolves to null if there is none; null in place of a promise means that the chart has
 *   all points
 * @property {(isZoomed: boolean) => void} [onZoom]
 * @property {(names: string[]) => void} [onFar]  called with the names of the lines and bands that
 *   reach far out of the range of all others, at first and when these names change; `clip` leaves them out
 * @typedef {Callbacks & Partial<Axes>} LineChartOptions
 *
 * @typedef {object} FigureWishes  what a figure for a paper has in place of its own
 * @property {string} [legend]  the place of the legend: "outside", which is the default, "top left", "top
 *   right", "bottom left", "bottom right", or "none"
 * @property {(kind: "name" | "x" | "y", text: string, color?: string) => string} [rename]  called for each
 *   name of a line or group and for the titles of both axes; "" keeps the text
 *
 * @typedef {object} Item  a line or band, converted to axis coordinates
 * @property {Line | null} line
 * @property {Band | null} band
 * @property {string} name
 * @property {string} run  the run's name; for a band, that of its group
 * @property {string} color
 * @property {Float64Array} xs
 * @property {Float64Array} ys  drawn opaque
 * @property {Float64Array | null} raw  unsmoothed values, drawn faint; null if not drawn
 * @property {Float64Array[]} columns  all columns that set the range: `ys` and `raw` of a line; of a
 *   band the mean, then low and high of the band and of each inner band, NaN over fewer runs
 * @property {Segment[]} segments
 * @property {Range | null} ends  smallest and largest x of these rows
 * @property {Range | null} xExtent  smallest and largest x of the whole series
 * @property {Range | null} yExtent
 * @property {number[]} nonFinite  as `nonFinitePoints` returns them
 *
 * @typedef {object} Hit  a point under the pointer, or the point selected with the keys
 * @property {Line} [line]
 * @property {Band} [band]  set in place of `line` for a point of a band
 * @property {string} name
 * @property {string} run  the run's name; for a band, that of its group
 * @property {string} color
 * @property {number} index  row of the point
 * @property {number} left  CSS pixels inside the plot
 * @property {number} top  CSS pixels inside the plot; NaN if the value cannot be drawn
 *
 * @typedef {object} Axis
 * @property {XAxis | "value"} kind
 * @property {string} [title]  of an axis of numbers
 * @property {boolean | number} log  true for a logarithmic axis; for a symmetric-logarithmic one the
 *   end of its linear part
 * @property {Range} range  the visible range, in axis coordinates
 * @property {boolean} [isEmpty]  whether none of the values is on the axis: its range then means
 *   nothing, and it has no ticks
 *
 * @typedef {{ value: number, share: number, label: string }} Tick  `share`: position on the axis,
 *   from 0 to 1; a minor tick has no label
 *
 * @typedef {object} Layout  the plot's position in the chart, CSS pixels
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 * @property {Tick[]} xTicks
 * @property {Tick[]} yTicks
 *
 * @typedef {object} PointerPosition  the pointer's position inside the plot, CSS pixels
 * @property {number} left
 * @property {number} top
 * @property {boolean} [isTouch]  whether the pointer is a finger; tapping does not pin
 *
 * @typedef {object} GestureTarget  what gestures control
 * @property {() => Range | null} range  returns the visible range of the x axis; null if there is
 *   none
 * @property {() => Range | null} full  returns the full range, which gestures do not leave; null if
 *   it is not known
 * @property {(range: Range | null, settled: boolean) => void} show  sets the visible range, null
 *   for the full range; `settled` is true at the end of a gesture
 * @property {(point: PointerPosition | null) => void} point  called when the pointer moves; null
 *   when it leaves
 * @property {(point: { left: number, top: number }) => void} [click]  called after a single click,
 *   with CSS pixels inside the plot
 * @property {(event: KeyboardEvent) => boolean} key  called for any other key; returns whether it
 *   handled the key
 *
 * @typedef {(yTicks: (height: number) => Tick[], xTicks: (width: number) => Tick[], extra?: { hasDates?: boolean, right?: number }) => Layout} Place
 *   places the plot and its ticks, which depend on the plot's size. `hasDates` reserves space
 *   for a second line of the x axis' labels; `right` is the space beside the plot, CSS pixels
 *
 * @typedef {object} Drawn  what a `ChartFrame` calls to draw a chart
 * @property {() => boolean} isEmpty  whether there is nothing to draw
 * @property {(place: Place, isResized: boolean) => Layout} layOut  makes the ticks, and places them
 * @property {(context: CanvasRenderingContext2D, layout: Layout) => number} draw  draws what is
 *   inside the axes, not clipped, in CSS pixels of the plot. Returns how many milliseconds the
 *   browser will need afterwards to paint it
 * @property {() => void} update  updates what depends on the pointer, after each drawing
 * @property {() => void} hideTooltip
 * @typedef {GestureTarget & Drawn} Framed
 *
 * @typedef {object} Scene  a chart as it was last drawn; the functions that draw it and that find
 *   its points depend on nothing else
 * @property {readonly Item[]} items  in the order of the legend: see `linesOf`
 * @property {readonly Item[]} axisItems  those that determine the ranges of the axes
 * @property {Axis & { kind: XAxis }} x
 * @property {Axis} y
 * @property {number} width  of the plot, CSS pixels
 * @property {number} height
 * @property {boolean} clip  whether outliers are clipped
 * @property {typeof import("./bands.js") | null} bandCode  null without bands
 * @property {boolean} isMoving  whether a zoom or pan gesture is in progress
 * @property {{ text: string, surface: string }} colors
 *
 * @typedef {{ key: string, index: number }} Selection  the point selected with the keys: the key of
 *   its item, and its row
 *
 * @typedef {object} CursorMember  one of the charts that share a cursor
 * @property {(x: number | null, run: string | null) => void} showCursor  marks the pointer's
 *   position in another chart, and the run it is nearest to; null removes the mark
 * @property {Cursor["highlight"]} highlight
 * @property {(x: number | null, settled: boolean, here: boolean) => void} showPin  marks an x; null
 *   removes the mark. `here`: whether it was pinned in this chart
 *
 * @typedef {object} Cursor  what charts with the same x axis share
 * @property {(member: CursorMember) => () => void} join  adds a chart; returns a function that
 *   removes it
 * @property {(x: number | null, run: string | null, from: CursorMember) => void} move  notifies all
 *   members but `from`
 * @property {(x: number | null, settled: boolean, from?: CursorMember) => void} pin  pins an x in
 *   all members, including those that join later
 * @property {(name: string | null, runs?: readonly Pick<import("tbcore/host.js").Run, "name" | "group">[]) => void} highlight
 *   draws a run's lines opaque in all members, and all others faint; null ends it. Of `runs`, the name may be that of a group
 */
