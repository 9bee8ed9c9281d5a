/**
 * The small window beside the pointer that says what is under it, and says it aloud to those who cannot see. Plain DOM.
 */

/** Distance from the pointer, CSS pixels. */
const GAP = 14;

export class Tooltip {
  /** @type {HTMLElement} */ #owner;
  /** @type {HTMLElement | null} */ #box = null;
  /** @type {HTMLElement | null} */ #spoken = null;

  /** @param {HTMLElement} owner  the box is put beside its content, in the browser's top layer */
  constructor(owner) {
    this.#owner = owner;
  }

  /**
   * @param {readonly Node[]} content
   * @param {{ left: number, top: number }} anchor  in the viewport
   * @param {string | null} [spoken]  read aloud: for readers with the keyboard
   */
  show(content, anchor, spoken = null) {
    const box = (this.#box ??= this.#makeBox());
    box.replaceChildren(...content);
    if (!box.matches(":popover-open")) box.showPopover();
    place(box, anchor);
    if (spoken !== null) this.#speak(spoken);
  }

  hide() {
    if (this.#box?.matches(":popover-open")) this.#box.hidePopover();
  }

  destroy() {
    this.#box?.remove();
    this.#spoken?.remove();
    this.#box = this.#spoken = null;
  }

  #makeBox() {
    const box = document.createElement("div");
    box.className = "tb-chart-tooltip";
    box.popover = "manual";
    box.setAttribute("aria-hidden", "true"); // the status line says it to those who cannot see
    this.#owner.append(box);
    return box;
  }

  /** @param {string} text */
  #speak(text) {
    if (!this.#spoken) {
      this.#spoken = span("tb-hidden", "");
      this.#spoken.setAttribute("role", "status");
      this.#owner.append(this.#spoken);
    }
    this.#spoken.textContent = text;
  }
}

/**
 * What is said about one thing: its name with a dot of its colour, a table of two columns, and a line below.
 * @param {import("./chart-types.js").ReadOut} readOut
 * @returns {Node[]}
 */
export function readOutNodes({ name, color, rows, note }) {
  const heading = span("tb-chart-heading", "");
  const swatch = document.createElement("i");
  swatch.style.background = color;
  heading.append(swatch, span("", name));
  const table = document.createElement("table");
  table.className = "tb-chart-pairs";
  const body = table.createTBody();
  for (const [what, value] of rows) body.insertRow().append(cell("th", what), cell("td", value));
  const below = document.createElement("p");
  below.textContent = note;
  return [heading, table, ...(note === "" ? [] : [below])];
}

/**
 * Beside the anchor, wherever there is room.
 * @param {HTMLElement} box
 * @param {{ left: number, top: number }} anchor
 */
function place(box, anchor) {
  const { width, height } = box.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const right = anchor.left + GAP;
  const left = right + width <= room - 4 ? right : anchor.left - GAP - width;
  const below = anchor.top + GAP;
  const top = below + height <= window.innerHeight - 4 ? below : anchor.top - GAP - height;
  box.style.left = `${Math.max(4, Math.min(left, room - width - 4))}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

/**
 * @param {"td" | "th"} kind
 * @param {string} text
 */
export function cell(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

/**
 * @param {string} className
 * @param {string} text
 */
export function span(className, text) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}
