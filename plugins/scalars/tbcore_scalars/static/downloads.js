/**
 * Downloads of logged points.
 */

import { post } from "tbcore/requests.js";
import { save } from "tbcore/ui.js";
import { axisOf } from "./lines.js";

/** @import { Host, Options } from "./types.js" */

/**
 * Saves all points of some tags and runs as a file, with those of a tag on the x axis.
 * @param {Host} host
 * @param {readonly string[]} tags
 * @param {readonly string[]} runs
 * @param {"csv" | "json"} format
 * @param {string} name  of the file, without its ending
 * @param {Options["x"]} [x]
 */
export async function saveNumbers(host, tags, runs, format, name, x = "step") {
  const { query } = axisOf(x);
  const all = typeof query === "string" ? tags : [...tags, query.tag];
  const response = await post(host, "download", { tags: all, runs, format });
  save(await response.blob(), `${name}.${format}`);
}
