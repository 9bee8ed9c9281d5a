/**
 * The small window beside the pointer that says what is under it, and says it aloud to those who cannot see. Plain DOM.
 */

/** Distance from the pointer, CSS pixels. */
const GAP = 14;
/** Distance from what is not to be covered, and from the edge of the window. */
const EDGE = 4;

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
   * @param {readonly DOMRect[]} [kept]  what is not to be covered, the first of them that has room around it
   */
  show(content, anchor, spoken = null, kept = []) {
    const box = (this.#box ??= this.#makeBox());
    box.replaceChildren(...content);
    if (!box.matches(":popover-open")) box.showPopover();
    place(box, anchor, kept);
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
 * Below a rectangle that is kept free, or above it, or at its sides; beside the anchor where no rectangle has room.
 * @param {HTMLElement} box
 * @param {{ left: number, top: number }} anchor
 * @param {readonly DOMRect[]} kept
 */
function place(box, anchor, kept) {
  const { width, height } = box.getBoundingClientRect();
  const right = document.documentElement.clientWidth - EDGE;
  const bottom = window.innerHeight - EDGE;
  const below = anchor.top + GAP;
  let left = anchor.left + GAP + width <= right ? anchor.left + GAP : anchor.left - GAP - width;
  let top = below + height <= bottom ? below : anchor.top - GAP - height;
  for (const free of kept) {
    const isBelow = free.bottom + EDGE + height <= bottom;
    const isRight = free.right + EDGE + width <= right;
    if (isBelow || free.top - EDGE - height >= EDGE) {
      top = isBelow ? free.bottom + EDGE : free.top - EDGE - height;
      left = anchor.left - width / 2;
      break;
    }
    if (isRight || free.left - EDGE - width >= EDGE) {
      left = isRight ? free.right + EDGE : free.left - EDGE - width;
      top = Math.min(anchor.top - height / 2, bottom - height);
      break;
    }
  }
  box.style.left = `${Math.max(EDGE, Math.min(left, right - width))}px`;
  box.style.top = `${Math.max(EDGE, top)}px`;
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
