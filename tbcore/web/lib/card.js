/**
 * A titled card with a button for full size, and a menu.
 */

import { html } from "htm/preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons.js";

const DRAGGED = "application/x-tbcore-card";

/**
 * @param {object} props
 * @param {string} props.title  a tag
 * @param {string} [props.label]  names the card where the title alone does not: a tag and a run
 * @param {number} [props.dimmed]  characters at the beginning that the group's heading says already
 * @param {boolean} props.expanded  full width and higher
 * @param {(expanded: boolean) => void} props.onExpand
 * @param {unknown} [props.actions]  more buttons
 * @param {(event: KeyboardEvent) => void} [props.onKeyDown]  of keys pressed anywhere in the card
 * @param {string} [props.dragged]  a name that the card's title carries when it is dragged onto another card
 * @param {(name: string) => void} [props.onDrop]  called with the name of a card that was dropped here
 * @param {unknown} props.children
 */
export function Card({ title, label = title, dimmed = 0, expanded, onExpand, actions, onKeyDown, dragged, onDrop, children }) {
  const [isTarget, setTarget] = useState(false);
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
    onKeyDown=${onKeyDown}
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
