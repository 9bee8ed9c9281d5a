/**
 * The options of the tab. `all`: whether rows are shown whose columns have the same. Besides them,
 * the setting `base` in the address is the name of the baseline.
 */

import { Options } from "tbcore/options.js";

export const options = new Options({ all: /** @type {boolean} */ (false) });
