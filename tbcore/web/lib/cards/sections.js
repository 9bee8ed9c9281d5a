/** The list of sections of a long tab: to jump to one, and to collapse or expand all. Loaded for tabs with many. */

import { html } from "htm/preact";
import { useCallback, useLayoutEffect, useRef } from "preact/hooks";
import { formatName } from "../format.js";
import { Menu } from "../ui/controls.js";
import { adoptSheet, loadSheet } from "../ui/lazy.js";

const SHEET = await loadSheet(new URL("./sections.css", import.meta.url)).catch(console.warn);

/** @import { TagGroup } from "../text-names.js" */

/**
 * A button that stays in sight, and its list.
 * @param {object} props
 * @param {readonly TagGroup[]} props.groups
 * @param {ReadonlySet<string>} props.closed  as of `TagGroups`
 * @param {string} props.all  what stands there for all but the others
 * @param {(name: string, open: boolean) => void} props.onToggle
 */
export function Sections({ groups, closed, all, onToggle }) {
  /** @param {string} name */
  const isOpen = (name) => closed.has(name) === closed.has(all);
  /** @param {boolean} open */
  const onAll = (open) => {
    for (const name of closed) onToggle(name, true);
    if (!open) onToggle(all, false);
  };
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (box.current);
    const root = /** @type {ShadowRoot | Document} */ (element.getRootNode());
    adoptSheet(root, SHEET);
    // A toolbar that stays in sight covers what is below it.
    const toolbar = /** @type {HTMLElement | null} */ (root.querySelector(".tb-toolbar"));
    if (!toolbar) return undefined;
    const sizes = new ResizeObserver(() => {
      const height = getComputedStyle(toolbar).position === "sticky" ? toolbar.offsetHeight : 0;
      /** @type {HTMLElement} */ (element.parentElement).style.setProperty("--tb-toolbar-height", `${height}px`);
    });
    sizes.observe(toolbar);
    return () => sizes.disconnect();
  }, []);

  const close = () => /** @type {HTMLElement} */ (box.current?.querySelector("[popover]")).hidePopover();
  /** @param {string} name */
  const jump = (name) => {
    close();
    if (!isOpen(name)) onToggle(name, closed.has(name));
    const sections = /** @type {NodeListOf<HTMLElement>} */ (box.current?.parentElement?.querySelectorAll(".tb-group"));
    const section = [...sections].find(({ dataset }) => dataset.group === name);
    section?.scrollIntoView({ block: "start" });
    // After the menu has given the focus back, and after the Enter that would press the heading.
    setTimeout(() => section?.querySelector("button")?.focus({ preventScroll: true }));
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const items = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll("button")]);
    const at = items.findIndex((item) => item.matches(":focus"));
    const { key } = event;
    let next = -1;
    if (key === "ArrowDown") next = (at + 1) % items.length;
    else if (key === "ArrowUp") next = (Math.max(at, 0) + items.length - 1) % items.length;
    else if (key === "Home") next = 0;
    else if (key === "End") next = items.length - 1;
    else if (key.length === 1 && key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const order = items.map((_, i) => (at + 1 + i) % items.length);
      next = order.find((i) => items[i].textContent?.trim().toLowerCase().startsWith(key.toLowerCase())) ?? -1;
    }
    if (next < 0) return;
    event.preventDefault();
    items[next].focus();
  };

  /** Moves the focus into the list once it is open, for its keys. */
  const enter = useCallback((/** @type {HTMLElement | null} */ list) => list?.querySelector("button")?.focus(), []);
  return html`<nav class="tb-sections" aria-label="Sections" ref=${box}>
    <${Menu}
      icon="menu"
      label="${groups.length} sections"
      content=${() => html`<div class="tb-sections-list" onKeyDown=${onKeyDown} ref=${enter}>
        <p>
          <button type="button" class="tb-button" onClick=${() => onAll(false)}>Collapse all</button>
          <button type="button" class="tb-button" onClick=${() => onAll(true)}>Expand all</button>
        </p>
        <ul>
          ${groups.map(
            ({ name, tags }) => html`<li key=${name}>
              <button type="button" class=${isOpen(name) ? "" : "tb-dim"} onClick=${() => jump(name)}>
                <span>${name === "" ? "(no prefix)" : formatName(name)}</span><small>${tags.length}</small>
              </button>
            </li>`,
          )}
        </ul>
      </div>`}
    />
  </nav>`;
}
