/**
 * Types of the scalars tab. The module is empty at run time, and pages do not load it.
 */

export {};

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/host.js").RunGroup} RunGroup
 * @typedef {import("tbcore/chart.js").Line} Line
 * @typedef {import("tbcore/chart.js").XAxis} XAxis
 * @typedef {[from: number, to: number]} View  visible range of the x axis
 * @typedef {Record<string, string[]>} RunToTags  the server's list of each run's tags
 *
 * @typedef {import("tbcore/groups.js").Average} Average
 *
 * @typedef {"" | "true" | "symlog"} LogOption  the scale of an axis, as it is in links: linear,
 *   logarithmic or symmetric-logarithmic
 *
 * @typedef {object} Options  how the tab shows its charts
 * @property {string} x  `step`, `relative_step`, `relative`, `wall_time`, or `tag:` and a tag
 * @property {LogOption} logX
 * @property {LogOption} logY
 * @property {number} smooth  0 to 0.99999
 * @property {"exponential" | "window" | "gaussian"} smoothKind
 * @property {boolean} clip  leave outliers out of the range of the y axis
 * @property {boolean} legend  show a table below every chart
 * @property {boolean} link  zoom all charts of a section together
 * @property {"small" | "medium" | "large"} size  of the cards
 * @property {Average} average  what the line of a group of runs is: that of the page
 * @property {string} averageName  in words
 * @property {import("tbcore/host.js").Grouping["spread"]} spread  what the band of a group of runs covers: that of the page
 * @property {boolean} ends  end the mean of a group where the first of its runs ends
 *
 * @typedef {Omit<Options, "average" | "averageName" | "spread">} OwnOptions  those that the tab sets itself
 * @typedef {<Name extends keyof OwnOptions>(name: Name, value: Options[Name]) => void} SetOption
 *
 * @typedef {object} Part  one tag in a chart, and the runs that have it
 * @property {string} tag
 * @property {readonly Run[]} runs
 *
 * @typedef {object} ShownLines  the lines that a chart currently draws
 * @property {Line[]} lines
 * @property {boolean} isReduced  whether points that were logged in the view are not drawn
 *
 * @typedef {object} Query  what rows a chart needs; equal queries get equal rows until a run
 *   changes
 * @property {string} tag
 * @property {"step" | "relative" | "wall" | "relative_step" | { tag: string }} x
 * @property {"linear" | "log" | "symlog"} scale
 * @property {number | null} from  of the view; null: everything
 * @property {number | null} to
 * @property {number} pixels  the width of the chart in device pixels
 * @property {number} smoothing  0 to below 1
 * @property {Options["smoothKind"]} smoothing_kind
 *
 * @typedef {object} Rows  the fetched points of one run and tag, in drawing order
 * @property {string} generation  the run's, according to the server
 * @property {string} known  what the server said to send it when the run has changed
 * @property {string} requested  the run's generation that the page knew at the request
 * @property {Float64Array} step
 * @property {Float64Array} wallTime
 * @property {Float64Array} value
 * @property {Float64Array | null} smoothed
 * @property {string} smoothing  kind and weight of `smoothed`; empty if it is null
 * @property {number} pixels  the chart width in the request
 * @property {number[]} segments  index of each segment's first row; a restart begins a segment
 * @property {number} startTime  wall time of the first point of the whole series
 * @property {Float64Array} [x]  positions on an axis of numbers
 * @property {boolean} turns  whether x goes back and forth
 * @property {number} numPoints  logged in the whole series; those that have x
 * @property {number} numInside  points logged in the view
 * @property {number} numShown  rows in the view
 *
 * @typedef {object} DashboardProps
 * @property {Host} host
 * @property {import("./lines.js").LinesStore} store
 * @property {import("@preact/signals-core").ReadonlySignal<RunToTags>} tags
 *
 * @typedef {object} TabState  what all cards of the tab share
 * @property {Host} host
 * @property {import("./lines.js").LinesStore} store
 * @property {Options} options
 * @property {import("tbcore/chart.js").Cursor} cursor
 * @property {import("@preact/signals-core").Signal<string>} pinnedIn  the card in which the user pinned an
 *   x, and which shows its table; "" for none
 * @property {typeof import("./axis-notes.js").axisNotes | null} axisNotes  null until an axis needs it
 * @property {boolean} isGrouped  whether groups of runs are drawn as bands
 * @property {string[]} tags  all tags that can be added to a chart
 * @property {RunToTags} runTags
 * @property {string} [facet]  of a card of small multiples: the name of its part of the runs, before its title
 * @property {(run: string) => boolean} [isInPart]  of such a card: whether it is a run of its part
 * @property {(feed: import("./chart-feed.js").ChartFeed) => { include: import("tbcore/chart.js").Range | null, includeX: import("tbcore/chart.js").Range | null }} [sharedAxes]
 *   of such a card: the ranges that its axes have in common with those of the others
 *
 * @typedef {object} StateOfCards  what the page address has about each card, and functions that
 *   change it
 * @property {(tag: string) => View | null} viewOf  the view of a tag's cards in the page address
 * @property {(tag: string, view: View | null) => void} onView
 * @property {(card: string) => string[]} flagsOf  the card's flags in the page address: `full`
 *   (full size), `table` or `plain` (without a table), `clip` (without outliers), `tail` (the range of
 *   the last part), `y:log` and `range:0:1` (see `yAxisOf`), and the sort order of the table (`max-`
 *   descending, `max+` ascending)
 * @property {(card: string, kind: RegExp, flag: string | null) => void} onFlag  replaces the flags
 *   that match `kind`
 * @property {(tag: string) => void} onPin  pins the tag's card to the top, or unpins it
 * @property {(tag: string) => string[]} tagsOf  the tags of the chart in the place of this tag
 * @property {(tags: readonly string[], other: string) => void} onCombine  draws another tag in the
 *   same chart
 * @property {(tags: readonly string[]) => void} onSplit  gives each tag its own chart again
 *
 * @typedef {TabState & StateOfCards} Tab
 *
 * @typedef {object} CardProps  the props of a card with a chart
 * @property {string} id  of the card in the page address
 * @property {Tab} tab
 * @property {readonly Part[]} parts
 * @property {string} group  name of the section, which the title omits
 * @property {boolean} pinned
 * @property {Link | null} link  null if the chart zooms alone
 *
 * @typedef {{ view: View | null, feeds: Set<import("./chart-feed.js").ChartFeed>, isOfTag?: boolean }} Link  charts that
 *   zoom together, as all those of one tag do
 */
