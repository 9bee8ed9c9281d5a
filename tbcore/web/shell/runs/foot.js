/**
 * What stands below the list of runs: the meaning of their colours, and one line of those that say what
 * was just done, which groups are not shown as a whole, what the notes put away, and offer to average
 * over seeds; foot.css says which. The others are behind a button. Below the list, none of this moves
 * a row. Loaded when there is something to show.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../lib/format.js";
import { Lazy } from "../../lib/ui/lazy.js";
import { notShown } from "../state/not-shown.js";
import { SeedsOffer } from "./seeds-offer.js";

/** @import { State } from "../state/reader-state.js" */

/** The legend, and the first of the lines. @param {{ state: State }} props */
export function RunsFoot({ state }) {
  const text = partText(state);
  const lines = useRef(/** @type {HTMLElement | null} */ (null));
  const [count, setCount] = useState(0);
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => {
    const box = /** @type {HTMLElement} */ (lines.current);
    // The notes' lines are not known here.
    const measure = () => setCount(box.querySelectorAll(":scope > div").length);
    const observer = new MutationObserver(measure);
    observer.observe(box, { childList: true });
    measure();
    return () => observer.disconnect();
  }, []);
  return html`${state.colorLegend.value && html`<${Lazy} load=${() => import("./color-legend.js")} of="ColorLegend" state=${state} />`}
    <div class="tb-foot ${isOpen ? "" : "tb-one"}" ref=${lines}>
      ${text && html`<div class="tb-legend" role="status">${text}</div>`}
      ${state.notes.value?.foot.value}
      <${SeedsOffer} state=${state} />
      ${count > 1 && html`<button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "fewer" : `${count - 1} more`}</button>`}
    </div>`;
}

/** How many runs are hidden of the groups that are shown in part; "" if all groups are whole. @param {State} state */
function partText(state) {
  if (!state.groupOf.value) return "";
  const { groups, inPart: { unchecked, older, unmatched } } = notShown(state);
  if (groups.size === 0) return "";
  const hidden = unchecked + older;
  const reasons = [hidden > 0 && `${plural(hidden, "run is", "runs are")} unchecked`, unmatched > 0 && `${plural(unmatched, "run does", "runs do")} not match`];
  const text = reasons.filter(Boolean).join(", and ");
  return `${plural(groups.size, "group is", "groups are")} shown in part: ${text}.`;
}
