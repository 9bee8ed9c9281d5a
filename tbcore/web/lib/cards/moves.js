/** Moves sections of cards: by dragging their headings, or with Alt and an arrow key. Loaded when a heading is reached. */

import { formatName } from "../format.js";
import { arranged } from "../text-names.js";
import { adoptStyles } from "../ui/lazy.js";

/** @typedef {import("../text-names.js").TagGroup} TagGroup */

/** MIME type of the drag data when a heading is dragged. */
const DRAG_TYPE = "application/x-tbcore-section";

/**
 * @typedef {object} Sections  those of a tab
 * @property {readonly TagGroup[]} given  in the order without any moves
 * @property {readonly string[]} order
 * @property {(order: readonly string[]) => void} onOrder
 */

/** The contents whose sections can be moved. @type {WeakMap<Element, Sections>} */
const watched = new WeakMap();

/**
 * The order after a section was moved, for `arranged`.
 * @param {readonly TagGroup[]} groups  those shown, in the order without any moves
 * @param {readonly string[]} order  before; may have names of groups that are not shown
 * @param {string} name  of the section that is moved
 * @param {string | null} before  the section that it is then before; null for the end
 * @returns {string[]} no longer than necessary: [] for the order without any moves
 */
export function moved(groups, order, name, before) {
  const shown = arranged(groups, order).map((group) => group.name);
  const all = [...order, ...shown.filter((other) => !order.includes(other))].filter((other) => other !== name);
  const place = before === null ? -1 : all.indexOf(before);
  all.splice(place < 0 ? all.length : place, 0, name);
  const wanted = all.filter((other) => shown.includes(other)).join("\n");
  // Names that are not shown keep their places.
  let length = all.findLastIndex((other) => !shown.includes(other)) + 1;
  while (arranged(groups, all.slice(0, length)).map((group) => group.name).join("\n") !== wanted) length++;
  return all.slice(0, length);
}

/**
 * Makes the sections of a tab movable.
 * @param {HTMLElement | undefined} content  none if the tab was left while this module was loaded
 * @param {Sections} latest
 */
export function watchMoves(content, latest) {
  if (!content) return;
  const sectionsOf = () => /** @type {HTMLElement[]} */ ([...content.querySelectorAll(":scope > [data-group]")]);
  for (const section of sectionsOf()) offerMove(section);
  const isWatched = watched.has(content);
  watched.set(content, latest);
  if (isWatched) return;
  adoptStyles(/** @type {ShadowRoot} */ (content.getRootNode()), new URL("./moves.css", import.meta.url)).catch(console.warn);
  const status = Object.assign(document.createElement("p"), { className: "tb-hidden", role: "status" });
  content.append(status);
  /** The section that is dragged. @type {HTMLElement | null} */
  let dragged = null;

  /** @param {HTMLElement} section @param {Element | null | undefined} before */
  const move = (section, before) => {
    const sections = /** @type {Sections} */ (watched.get(content));
    const hadFocus = section.matches(":focus-within");
    const name = section.dataset.group ?? "";
    sections.order = moved(sections.given, sections.order, name, /** @type {HTMLElement | undefined} */ (before)?.dataset.group ?? null);
    sections.onOrder(sections.order);
    requestAnimationFrame(() => {
      const sections = sectionsOf();
      status.textContent = `${formatName(name) || "(no prefix)"}: ${sections.indexOf(section) + 1} of ${sections.length}`;
      // Moving an element takes the focus from it; by now another may have it.
      const { activeElement } = /** @type {ShadowRoot} */ (content.getRootNode());
      if (!hadFocus || (activeElement && !section.contains(activeElement))) return;
      section.querySelector("button")?.focus({ preventScroll: true });
      section.querySelector("h2")?.scrollIntoView({ block: "nearest" });
    });
  };
  /** The section of an event, and the one that what is dropped there is then before. @param {MouseEvent} event */
  const targetOf = ({ target, clientX, clientY }) => {
    const section = /** @type {Element} */ (target).closest("[data-group]");
    if (!dragged || !section) return null;
    const sections = sectionsOf();
    const { left, top, width, height } = section.getBoundingClientRect();
    const isBeside = width < content.clientWidth / 1.5;
    const isAfter = isBeside ? clientX > left + width / 2 : clientY > top + height / 2;
    return { section, isAfter, before: isAfter ? sections[sections.indexOf(/** @type {HTMLElement} */ (section)) + 1] : section };
  };
  const clear = () => content.querySelectorAll(".tb-drop").forEach((section) => section.classList.remove("tb-drop", "tb-after"));

  content.addEventListener("dragstart", (event) => {
    const heading = /** @type {Element} */ (event.target).closest("h2");
    dragged = heading && heading.closest("[data-group]");
    if (dragged) event.dataTransfer?.setData(DRAG_TYPE, dragged.dataset.group ?? "");
  });
  content.addEventListener("dragover", (event) => {
    const target = targetOf(event);
    clear();
    if (!target) return;
    event.preventDefault();
    target.section.classList.add("tb-drop");
    target.section.classList.toggle("tb-after", target.isAfter);
  });
  content.addEventListener("drop", (event) => {
    const target = targetOf(event);
    if (!target || !dragged) return;
    event.preventDefault();
    if (target.before !== dragged) move(dragged, target.before);
  });
  content.addEventListener("dragend", () => {
    clear();
    dragged = null;
  });
  content.addEventListener("keydown", (event) => {
    const section = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("h2 > button")?.closest("[data-group]"));
    if (!section || !event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    const sections = sectionsOf();
    const place = sections.indexOf(section) + (event.key === "ArrowUp" ? -1 : 2);
    if (place >= 0 && place <= sections.length) move(section, sections[place]);
  });
}

/** Shows that a section can be moved. @param {HTMLElement} section */
function offerMove(section) {
  const [heading] = section.getElementsByTagName("h2");
  heading.draggable = true;
  const button = heading.querySelector("button");
  button?.setAttribute("aria-keyshortcuts", "Alt+ArrowUp Alt+ArrowDown");
  if (button) button.title = "Drag the heading to move this section, or press Alt and ↑ or ↓";
}
