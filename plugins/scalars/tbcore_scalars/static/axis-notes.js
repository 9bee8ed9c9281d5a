/**
 * What a chart by the values of a tag leaves out, or draws in another way. Loaded with such an axis.
 */

import { plural } from "tbcore/format.js";
import { axisOf, queryFor } from "./lines.js";

/**
 * Notes for a card; empty on other axes.
 * @param {import("./types.js").Tab} tab
 * @param {readonly import("./types.js").Part[]} parts  of the chart
 * @param {readonly (import("./types.js").Line & { turns?: boolean })[]} lines
 * @param {readonly import("./bands.js").GroupBand[]} bands
 */
export function axisNotes({ store, options }, parts, lines, bands) {
  const { query, xTitle: tag } = axisOf(options.x);
  if (typeof query === "string") return [];
  const withoutX = parts.flatMap(({ tag, runs }) => {
    const whole = queryFor(tag, options, null);
    return runs.filter(({ name }) => store.get(whole, name)?.numPoints === 0).map(({ name }) => name);
  });
  const turning = lines.filter(({ turns }) => turns).map(({ run }) => run);
  const inMeans = (/** @type {"withoutX" | "turning"} */ why) => bands.reduce((sum, band) => sum + (band[why] ?? 0), 0);
  /** @type {[count: number, what: string][]} */
  const notes = [
    [new Set(withoutX).size, `not drawn: ${tag} is missing or not finite at its steps`],
    [new Set(turning).size, `drawn in the order of steps: ${tag} goes back and forth`],
    [inMeans("withoutX"), `not in a mean: ${tag} is missing or not finite at its steps`],
    [inMeans("turning"), `not in a mean: ${tag} goes back and forth`],
  ];
  return notes.filter(([count]) => count > 0).map(([count, what]) => `${plural(count, "run")} ${what}`);
}
