/**
 * What the chart of histograms says in words. Pure functions.
 */

import { formatDuration, formatStep, formatTime, formatValue, plural } from "tbcore/format.js";
import { countBelow, densityOf, percentileOf } from "./buckets.js";

/** @typedef {import("./types.js").Histogram} Histogram */

/**
 * Notes on what the chart does not show.
 * @param {readonly Histogram[]} histograms
 * @param {number} trim  percent of the samples left out at each end
 * @param {number | null} [step]  that of all tabs
 */
export function notesOf(histograms, trim, step) {
  const notes = trim > 0 ? [`${formatValue(trim)} % of the samples left out at each end`] : [];
  const numUnplaced = histograms.reduce((sum, { buckets }) => sum + buckets.numUnplaced, 0);
  if (numUnplaced > 0) notes.push(`${plural(numUnplaced, "sample")} in buckets with infinite edges`);
  const numEmpty = histograms.filter(({ buckets }) => !(buckets.total > 0)).length;
  if (numEmpty === histograms.length) notes.push("no samples");
  else if (numEmpty > 0) notes.push(`${plural(numEmpty, "step")} without samples`);
  // First, since the end of a long note is cut.
  if (step != null) {
    const outlined = histograms[ridgeOf(histograms, step)]?.step;
    if (outlined === undefined) notes.unshift(`nothing up to step ${formatStep(step)}`);
    else notes.unshift(`outlined: step ${formatStep(outlined)}${outlined < step ? `, last up to ${formatStep(step)}` : ""}`);
  }
  return notes.join(", ");
}

/**
 * The index of the last histogram at or before a step; -1 if there is none.
 * @param {readonly Histogram[]} histograms  in the order of steps @param {number | null} [step]
 */
export function ridgeOf(histograms, step) {
  return step == null ? -1 : histograms.findLastIndex((histogram) => histogram.step <= step);
}

/**
 * The chart's contents, for screen readers.
 * @param {string} label  what the chart shows
 * @param {readonly Histogram[]} histograms
 * @param {import("./types.js").Range | null} range  of all values
 */
export function labelOf(label, histograms, range) {
  const first = histograms[0];
  const last = histograms[histograms.length - 1];
  const values = range ? `, values from ${formatValue(range[0])} to ${formatValue(range[1])}` : "";
  const steps = first ? `${plural(histograms.length, "histogram")} from step ${formatStep(first.step)} to ${formatStep(last.step)}` : "no histograms";
  return `${label}: ${steps}${values}`;
}

/**
 * The tooltip about a bucket or a bin.
 * @param {import("./types.js").Reading} reading
 * @param {readonly Histogram[]} histograms
 * @param {import("./types.js").Buckets} drawn  the bins of the histogram, or its buckets
 * @param {{ name: string, color: string }} run
 * @returns {import("tbcore/chart.js").ReadOut}
 */
export function readOutOf({ ridge, bucket, value }, histograms, drawn, run) {
  const { step, wallTime, min, max, num, buckets } = histograms[ridge];
  const start = histograms.reduce((first, other) => Math.min(first, other.wallTime), wallTime);
  const isBucket = bucket >= 0;
  const edges = isBucket ? `${formatValue(drawn.left[bucket])} to ${formatValue(drawn.right[bucket])}` : `none at ${formatValue(value, 4)}`;
  const count = isBucket ? drawn.count[bucket] : 0;
  /** A part of all samples, in percent. @param {number} part */
  const percent = (part) => `${formatValue((100 * part) / buckets.total, 3)} %`;
  const share = buckets.total > 0 ? ` (${percent(count)})` : "";
  const [low, median, high] = [0.05, 0.5, 0.95].map((part) => formatValue(percentileOf(histograms[ridge], part), 4));
  const isBinned = drawn !== buckets;
  return {
    ...run,
    rows: [
      ["Step", formatStep(step)],
      [isBinned ? "Bin" : "Bucket", edges],
      ["Count", `${isBinned ? formatValue(count, 4) : formatStep(count)}${share}`],
      ["Density", formatValue(isBucket ? densityOf(drawn, bucket) : 0, 4)],
      ...(buckets.left.length > 0
        ? /** @type {[string, string][]} */ ([
            [`Below ${formatValue(value, 4)}`, percent(countBelow(buckets, value))],
            ["Median", median],
            ["5 % to 95 %", `${low} to ${high}`],
          ])
        : []),
      ["Samples", `${formatStep(num)} from ${formatValue(min)} to ${formatValue(max)}`],
      ["Relative", formatDuration(wallTime - start)],
    ],
    note: formatTime(wallTime),
    spoken: `step ${formatStep(step)}, ${isBucket ? `${edges}: ${plural(Math.round(count), "sample")}` : "no bucket"}`,
  };
}
