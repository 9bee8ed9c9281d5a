/**
 * A titled card with a button for full size, and a menu. The key f in a card gives it full size too, and Escape takes it back.
 */

import { html } from "htm/preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons.js";

const DRAGGED = "application/x-tbcore-card";

/**
 * @param {object} props
 * @param {string} props.title  a tag
 * @param {string} [props.label]  names the card where the title alone does not: a tag and a run
 * @param {string} [props.group]  whose heading says the beginning of the title already
 * @param {number} [props.dimmed]  so many characters of it; those of the group unless told
 * @param {boolean} props.expanded  full width and higher
 * @param {(expanded: boolean) => void} props.onExpand
 * @param {unknown} [props.actions]  more buttons
 * @param {(event: KeyboardEvent) => void} [props.onKeyDown]  of keys pressed anywhere in the card, before it looks at them
 * @param {string} [props.dragged]  a name that the card's title carries when it is dragged onto another card
 * @param {(name: string) => void} [props.onDrop]  called with the name of a card that was dropped here
 * @param {unknown} props.children
 */
export function Card({ title, label = title, group = "", dimmed = numSaid(title, group), expanded, onExpand, actions, onKeyDown, dragged, onDrop, children }) {
  const article = useRef(/** @type {HTMLElement | null} */ (null));
  const [isTarget, setTarget] = useState(false);
  const wasExpanded = useRef(expanded);
  useEffect(() => {
    // One that is higher than the page is left where it is: its middle would say nothing.
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
    if (!onDrop || !event.dataTransfer?.types.includes(DRAGGED)) return;
    event.preventDefault();
    setTarget(true);
  };
  /** @param {DragEvent} event */
  const onDropHere = (event) => {
    setTarget(false);
    const name = event.dataTransfer?.getData(DRAGGED);
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
      onDragStart=${(/** @type {DragEvent} */ event) => event.dataTransfer?.setData(DRAGGED, dragged ?? "")}
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

/** How many characters of a tag the heading of its group says. @param {string} title @param {string} group */
function numSaid(title, group) {
  return group !== "" && title.startsWith(`${group}/`) ? group.length + 1 : 0;
}

/**
 * The button of a zoomed chart that shows everything again.
 * @param {{ label: string, onClick: () => void }} props  `label`: of the chart
 */
export function ShowAll({ label, onClick }) {
  return html`<button type="button" class="tb-icon-button" aria-label="Show all of ${label}" title="Show all (double-click)" onClick=${onClick}>
    <${Icon} name="unzoom" />
  </button>`;
}

/**
 * A button that opens a small window below it. The content is made when it opens.
 * @param {object} props
 * @param {string} props.label
 * @param {Parameters<typeof Icon>[0]["name"]} [props.icon]
 * @param {unknown} [props.text]  on the button, which is an icon alone otherwise
 * @param {string} [props.className]  of the button
 * @param {() => unknown} props.content
 */
export function Menu({ label, icon, text, className = text ? "tb-button" : "tb-icon-button", content }) {
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const id = useId();
  const [open, setOpen] = useState(false);

  /** @param {ToggleEvent} event */
  const onToggle = (event) => setOpen(event.newState === "open");

  // Below the button, ending where it ends unless that leaves the page. Again when the size changes: content may come late.
  useLayoutEffect(() => {
    const { current: menu } = box;
    if (!open || !button.current || !menu) return undefined;
    const anchor = button.current.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const place = () => {
      const { width, height } = menu.getBoundingClientRect();
      menu.style.top = `${Math.max(4, Math.min(anchor.bottom + 4, clientHeight - height - 4))}px`;
      menu.style.right = `${Math.max(4, Math.min(clientWidth - anchor.right, clientWidth - width - 4))}px`;
    };
    place();
    const sizes = new ResizeObserver(place);
    sizes.observe(menu);
    return () => sizes.disconnect();
  }, [open]);

  return html`<button
      type="button"
      class=${className}
      ref=${button}
      aria-label=${label}
      title=${label}
      popovertarget=${id}
    >
      ${icon && html`<${Icon} name=${icon} />`}${text}
    </button>
    <div class="tb-menu" id=${id} popover="auto" ref=${box} onToggle=${onToggle}>${open && content()}</div>`;
}
