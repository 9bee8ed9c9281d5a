/** The options of the tab, in the page address and in the browser. */

import { Options } from "tbcore/options.js";

/** @type {[value: boolean, title: string, why: string][]} */
export const PRECISION_RANGES = [
  [false, "0 to 1", "The same axis in all cards"],
  [true, "Range of the curves", "The part of the axis where the curves are, so that high curves can be told apart"],
];

/** `fit`: whether the precision axis has the range of the curves; `auc`: how tables are sorted by average precision, by its name in links. */
export const OPTIONS = new Options(
  { fit: /** @type {boolean} */ (false), auc: /** @type {"" | "ascending" | "descending"} */ ("") },
  { auc: ["", "ascending", "descending"] },
);
