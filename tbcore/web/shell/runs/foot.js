/**
 * What stands below the list of runs: the meaning of their colours, and one line of those that say what
 * was just done, which groups are not shown as a whole, what the notes put away, and offer to average
 * over seeds; foot.css says which. The others are behind a button. Below the list, none of this moves
 * a row. Loaded when there is something to show.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Lazy } from "../../lib/ui/lazy.js";
import { SeedsOffer } from "./seeds-offer.js";

/** @import { State } from "../state/reader-state.js" */

/** The legend, and the first of the lines. @param {{ state: State }} props */
export function RunsFoot({ state }) {
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
      ${state.groupOf.value && html`<${Lazy} load=${() => import("./part-note.js")} of="PartNote" state=${state} />`}
      ${state.notes.value?.foot.value}
      <${SeedsOffer} state=${state} />
      ${count > 1 && html`<button type="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "fewer" : `${count - 1} more`}</button>`}
    </div>`;
}
