/**
 * `Card`: a titled box with a full-size button. The key f toggles full size, Escape leaves it.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../ui/icons.js";

/** MIME type of the drag data when a card's header is dragged. */
const DRAG_TYPE = "application/x-tbcore-card";

/**
 * A titled card.
 * @param {object} props
 * @param {string} props.title  usually a tag
 * @param {string} [props.label]  accessible name, such as a tag and a run; by default the title
 * @param {string} [props.group]  group whose heading already shows the start of the title
 * @param {number} [props.dimmed]  number of leading characters of the title to dim; by default
 *   those of the group
 * @param {boolean} props.expanded  whether the card has full width and more height
 * @param {(expanded: boolean) => void} props.onExpand
 * @param {unknown} [props.actions]  more buttons
 * @param {(event: KeyboardEvent) => void} [props.onKeyDown]  called for keys pressed anywhere in
 *   the card, before the card handles them
 * @param {string} [props.dragged]  drag data: passed to `onDrop` of the card that this one is
 *   dropped on. Without it the card cannot be dragged
 * @param {(name: string) => void} [props.onDrop]  called with `dragged` of a card that was dropped
 *   here
 * @param {unknown} props.children
 */
export function Card({ title, label = title, group = "", dimmed = groupPrefixLength(title, group), expanded, onExpand, actions, onKeyDown, dragged, onDrop, children }) {
  const article = useRef(/** @type {HTMLElement | null} */ (null));
  const [isTarget, setTarget] = useState(false);
  const wasExpanded = useRef(expanded);
  useEffect(() => {
    // Do not centre a card taller than the window: only its middle would be visible.
    const fits = article.current && article.current.offsetHeight <= innerHeight;
    if (fits && expanded !== wasExpanded.current) article.current?.scrollIntoView({ block: "center" });
    wasExpanded.current = expanded;
  }, [expanded]);
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    onKeyDown?.(event);
    const target = /** @type {Element} */ (event.target);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, select, textarea, audio, video, [popover]")) return;
    if (event.key === "f") onExpand(!expanded);
    else if (event.key === "Escape" && expanded) onExpand(false);
    else return;
    event.preventDefault();
  };
  /** @param {DragEvent} event */
  const onDragOver = (event) => {
    if (!onDrop || !event.dataTransfer?.types.includes(DRAG_TYPE)) return;
    event.preventDefault();
    setTarget(true);
  };
  /** @param {DragEvent} event */
  const onDropHere = (event) => {
    setTarget(false);
    const name = event.dataTransfer?.getData(DRAG_TYPE);
    if (!name) return;
    event.preventDefault();
    onDrop?.(name);
  };
  return html`<article
    class="tb-card ${expanded ? "tb-expanded" : ""} ${isTarget ? "tb-target" : ""}"
    aria-label=${label}
    ref=${article}
    onKeyDown=${onKey}
    onDragOver=${onDragOver}
    onDragLeave=${() => setTarget(false)}
    onDrop=${onDropHere}
  >
    <header
      draggable=${dragged !== undefined}
      onDragStart=${(/** @type {DragEvent} */ event) => event.dataTransfer?.setData(DRAG_TYPE, dragged ?? "")}
    >
      <h3 title=${title}>
        ${dimmed > 0 && html`<span class="tb-dim">${title.slice(0, dimmed)}</span>`}<span>${title.slice(dimmed)}</span>
      </h3>
      <div class="tb-card-actions">
        ${actions}
        <button
          type="button"
          class="tb-icon-button"
          aria-label="Full size: ${label}"
          title=${expanded ? "Normal size" : "Full size"}
          aria-pressed=${expanded}
          onClick=${() => onExpand(!expanded)}
        >
          <${Icon} name=${expanded ? "shrink" : "expand"} />
        </button>
      </div>
    </header>
    ${children}
  </article>`;
}

/**
 * Number of leading characters of a tag that repeat the name of its group, with the slash.
 * @param {string} title
 * @param {string} group
 */
function groupPrefixLength(title, group) {
  return group !== "" && title.startsWith(`${group}/`) ? group.length + 1 : 0;
}
