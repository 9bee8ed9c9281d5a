/**
 * Downloads of logged points.
 */

import { post } from "tbcore/requests.js";
import { save } from "tbcore/ui.js";

/** @import { Host } from "./types.js" */

/**
 * Saves all points of some tags and runs as a file.
 * @param {Host} host
 * @param {readonly string[]} tags
 * @param {readonly string[]} runs
 * @param {"csv" | "json"} format
 * @param {string} name  of the file, without its ending
 */
export async function saveNumbers(host, tags, runs, format, name) {
  const response = await post(host, "download", { tags, runs, format });
  save(await response.blob(), `${name}.${format}`);
}
