/**
 * The options of the tab. `all`: whether rows are shown whose columns have the same. Besides them,
 * the setting `run` in the address is the name of the baseline, a run or a group.
 */

import { Options } from "tbcore/options.js";

export const options = new Options({ all: /** @type {boolean} */ (false) });
