/** The sidebar with the run list. On a narrow page it slides in over the content. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { plural } from "../format.js";
import { Icon } from "../lib/ui/icons.js";
import { RunsPanel } from "./runs/panel.js";
import { openPreferences } from "./state/preferences.js";

const DEFAULT_WIDTH_PX = 280;
const MIN_WIDTH_PX = 180;
const MAX_WIDTH_PX = 720;
/** How far an arrow key moves the edge. */
const WIDTH_STEP_PX = 16;

/** The `#` cannot occur in the name of a plugin, so no plugin has the same preferences. */
const preferences = openPreferences("#sidebar");

/** @param {number} width */
const limited = (width) => Math.round(Math.min(MAX_WIDTH_PX, Math.max(MIN_WIDTH_PX, width)));

/**
 * The sidebar.
 * @param {object} props
 * @param {import("./state/reader-state.js").State} props.state
 * @param {boolean} props.isOpen  whether a narrow page shows the sidebar; wide pages always do
 * @param {() => void} props.onClose
 * @param {() => void} props.onInfo  opens the dialog about the log directory
 */
export function Sidebar({ state, isOpen, onClose, onInfo }) {
  const width = limited(Number(preferences.values.value.width ?? DEFAULT_WIDTH_PX)) || DEFAULT_WIDTH_PX;
  const aside = useRef(/** @type {HTMLElement | null} */ (null));
  const numUnshown = state.frontends.value?.unshown.reduce((sum, { num_tags }) => sum + num_tags, 0) ?? 0;

  useEffect(() => {
    if (!isOpen) return undefined;
    const before = document.activeElement;
    aside.current?.querySelector("input")?.focus();
    /** @param {KeyboardEvent} event */
    const onKey = (event) => event.key === "Escape" && onClose();
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      if (before instanceof HTMLElement) before.focus();
    };
  }, [isOpen]);

  return html`
    ${isOpen && html`<div class="backdrop" onClick=${onClose}></div>`}
    <aside id="runs" class=${isOpen ? "open" : ""} ref=${aside} style=${{ "--sidebar": `${width}px` }}>
      <${RunsPanel} state=${state} />
      <footer>
        ${numUnshown > 0 &&
        html`<button type="button" class="unshown" onClick=${onInfo}>
          <${Icon} name="info" />
          <span>${plural(numUnshown, "tag")} that no installed plugin shows</span>
        </button>`}
        <button type="button" class="logdir" title=${state.frontends.value?.logdir} onClick=${onInfo}>
          <bdi>${state.frontends.value?.logdir ?? ""}</bdi>
        </button>
      </footer>
      <${Handle} width=${width} />
    </aside>
  `;
}

/** The edge that changes the width. @param {{ width: number }} props */
function Handle({ width }) {
  /** @param {number} next */
  const change = (next) => preferences.set("width", String(limited(next)));
  /** @param {PointerEvent} event */
  const onPointerDown = (event) => {
    const handle = /** @type {HTMLElement} */ (event.currentTarget);
    const start = event.clientX - width;
    handle.setPointerCapture(event.pointerId);
    /** @param {PointerEvent} move */
    const onMove = (move) => change(move.clientX - start);
    const stop = () => handle.removeEventListener("pointermove", onMove);
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("lostpointercapture", stop, { once: true });
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const step = { ArrowLeft: -WIDTH_STEP_PX, ArrowRight: WIDTH_STEP_PX }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    change(width + step);
  };
  return html`<div
    class="handle"
    role="separator"
    aria-orientation="vertical"
    aria-label="Width of the run list"
    aria-valuemin=${MIN_WIDTH_PX}
    aria-valuemax=${MAX_WIDTH_PX}
    aria-valuenow=${width}
    tabindex="0"
    onPointerDown=${onPointerDown}
    onKeyDown=${onKeyDown}
  ></div>`;
}
