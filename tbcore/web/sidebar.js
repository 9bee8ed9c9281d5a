/**
 * The column with the run list: its width can be changed, and on a narrow page it slides over the content.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "./lib/format.js";
import { Icon } from "./lib/icons.js";
import { RunsPanel } from "./lib/runs-panel.js";

const WIDTH_KEY = "tbcore.sidebar";
const LEAST = 180;
const MOST = 720;

/**
 * @param {object} props
 * @param {import("./state.js").State} props.state
 * @param {boolean} props.isOpen  matters on narrow pages only
 * @param {() => void} props.onClose
 * @param {() => void} props.onInfo
 */
export function Sidebar({ state, isOpen, onClose, onInfo }) {
  const [width, setWidth] = useState(storedWidth);
  const aside = useRef(/** @type {HTMLElement | null} */ (null));
  const unshown = state.frontends.value?.unshown ?? [];

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
        ${unshown.length > 0 &&
        html`<button type="button" class="unshown" onClick=${onInfo}>
          <${Icon} name="info" />
          <span>
            ${plural(
              unshown.reduce((sum, { num_tags }) => sum + num_tags, 0),
              "tag",
            )} that no installed plugin shows
          </span>
        </button>`}
        <button type="button" class="logdir" title=${state.frontends.value?.logdir} onClick=${onInfo}>
          <bdi>${state.frontends.value?.logdir ?? ""}</bdi>
        </button>
      </footer>
      <${Handle} width=${width} onWidth=${setWidth} />
    </aside>
  `;
}

/**
 * The edge that is dragged; arrow keys move it too.
 * @param {object} props
 * @param {number} props.width
 * @param {(width: number) => void} props.onWidth
 */
function Handle({ width, onWidth }) {
  /** @param {number} next */
  const change = (next) => {
    const allowed = Math.round(Math.min(MOST, Math.max(LEAST, next)));
    onWidth(allowed);
    try {
      localStorage.setItem(WIDTH_KEY, String(allowed));
    } catch {
      // storage is blocked: the width holds for this page
    }
  };
  /** @param {PointerEvent} event */
  const onPointerDown = (event) => {
    const handle = /** @type {HTMLElement} */ (event.currentTarget);
    const start = event.clientX - width;
    handle.setPointerCapture(event.pointerId);
    /** @param {PointerEvent} move */
    const onMove = (move) => change(move.clientX - start);
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", onMove), { once: true });
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    change(width + step);
  };
  return html`<div
    class="handle"
    role="separator"
    aria-orientation="vertical"
    aria-label="Width of the run list"
    aria-valuemin=${LEAST}
    aria-valuemax=${MOST}
    aria-valuenow=${width}
    tabindex="0"
    onPointerDown=${onPointerDown}
    onKeyDown=${onKeyDown}
  ></div>`;
}

function storedWidth() {
  try {
    const stored = Number(localStorage.getItem(WIDTH_KEY));
    return stored >= LEAST && stored <= MOST ? stored : 280;
  } catch {
    return 280;
  }
}
