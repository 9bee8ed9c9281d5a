/**
 * What stands below the list of runs: the meaning of their colours, and once the offer to average
 * over seeds. Below the list, neither moves a row. Loaded when there is something to show.
 */

import { html } from "htm/preact";
import { ColorLegend } from "./color-legend.js";
import { SeedsOffer } from "./seeds-offer.js";

/** @import { State } from "../state/reader-state.js" */

/** The legend and the offer. @param {{ state: State }} props */
export function RunsFoot({ state }) {
  return html`<${ColorLegend} state=${state} /><${SeedsOffer} state=${state} />`;
}
