/**
 * The line at a step that stays marked, and its handle below the plot: dragged, moved by the arrow keys, written over,
 * taken away.
 */

/** A drag shorter than this is a click, CSS pixels. */
const DRAG = 3;

/**
 * @typedef {object} PinTarget
 * @property {(left: number, settled: boolean) => void} drag  to a place in the plot, CSS pixels
 * @property {(direction: -1 | 1) => void} walk  to the next point
 * @property {(x: number) => void} write  a step that was typed
 * @property {() => void} remove
 */

export class ChartPin {
  #box = document.createElement("div");
  #handle = document.createElement("span");
  #input = document.createElement("input");
  #plot;
  #left = 0;
  #x = NaN;
  /** Whether it can be typed: steps can, times are said in other words than numbers. */
  #isNumber = false;

  /** @param {HTMLElement} plot  between the axes @param {PinTarget} target */
  constructor(plot, target) {
    this.#plot = plot;
    const grip = document.createElement("span");
    const close = document.createElement("button");
    const handle = this.#handle;
    const input = this.#input;
    this.#box.className = "tb-chart-pin";
    grip.className = "tb-chart-grip";
    handle.setAttribute("role", "slider");
    handle.tabIndex = 0;
    input.hidden = true;
    input.inputMode = "decimal";
    input.setAttribute("aria-label", "Step");
    close.type = "button";
    close.textContent = "×";
    close.title = "Unpin (Delete)";
    close.setAttribute("aria-label", "Unpin");
    grip.append(handle, input, close);
    this.#box.append(grip);
    this.hide();
    plot.append(this.#box);
    close.addEventListener("click", target.remove);

    /** @type {{ from: number, beside: number, isGrip: boolean, moved: boolean } | null} where it was taken, how far from its line */
    let drag = null;
    /** @param {PointerEvent} event */
    const onDown = (event) => {
      event.stopPropagation(); // the chart would begin to select a part
      if (event.button !== 0 || event.target === close || event.target === input) return;
      const isGrip = grip.contains(/** @type {Node} */ (event.target));
      drag = { from: event.clientX, beside: this.#left - event.clientX, isGrip, moved: false };
      this.#box.setPointerCapture(event.pointerId);
    };
    /** @param {PointerEvent} event */
    const onMove = (event) => {
      if (!drag) return;
      event.stopPropagation();
      drag.moved ||= Math.abs(event.clientX - drag.from) >= DRAG;
      if (drag.moved) target.drag(event.clientX + drag.beside, false);
    };
    /** @param {PointerEvent} event */
    const onEnd = (event) => {
      event.stopPropagation();
      if (drag?.moved) target.drag(event.clientX + drag.beside, true);
      else if (drag && event.type === "pointerup" && drag.isGrip) this.#edit();
      drag = null;
    };
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
      const { key } = event;
      if (key === "ArrowLeft" || key === "ArrowDown") target.walk(-1);
      else if (key === "ArrowRight" || key === "ArrowUp") target.walk(1);
      else if (key === "Delete" || key === "Backspace" || key === "Escape") target.remove();
      else if (key === "Enter" || key === "F2") this.#edit();
      else if (/^[-\d]$/.test(key) && !event.ctrlKey && !event.metaKey && !event.altKey) this.#edit(key);
      else return event.stopPropagation(); // not for the chart either
      event.preventDefault();
      event.stopPropagation();
    };
    /** @param {KeyboardEvent} event */
    const onInputKey = (event) => {
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      const x = Number(input.value.replace(/[\s,_]/g, "") || NaN);
      if (event.key === "Enter" && !Number.isFinite(x)) return input.select();
      this.#leave();
      handle.focus({ preventScroll: true });
      if (event.key === "Enter" && x !== this.#x) target.write(x);
    };
    this.#box.addEventListener("pointerdown", onDown);
    this.#box.addEventListener("pointermove", onMove);
    this.#box.addEventListener("pointerup", onEnd);
    this.#box.addEventListener("pointercancel", onEnd);
    this.#box.addEventListener("dblclick", (event) => event.stopPropagation());
    handle.addEventListener("keydown", onKey);
    input.addEventListener("keydown", onInputKey);
    input.addEventListener("blur", () => this.#leave());
  }

  /** Takes a step in place of the one that is there. @param {string} [text]  what was typed already */
  #edit(text) {
    if (!this.#isNumber) return;
    const input = this.#input;
    input.value = text ?? String(this.#x);
    input.hidden = false;
    this.#handle.hidden = true;
    input.focus({ preventScroll: true });
    if (text === undefined) input.select();
  }

  #leave() {
    this.#input.hidden = true;
    this.#handle.hidden = false;
  }

  /**
   * @param {number} left  CSS pixels inside the plot
   * @param {number} x
   * @param {string} text  the same, written out
   * @param {string} what  `step` or `time`
   */
  place(left, x, text, what) {
    const width = this.#plot.clientWidth;
    this.#left = left;
    this.#x = x;
    this.#isNumber = what === "step";
    this.#box.hidden = !(left >= -1 && left <= width + 1);
    if (this.#box.hidden) return;
    this.#box.style.left = `${left}px`;
    this.#box.classList.toggle("tb-at-end", left > width - 36);
    this.#handle.textContent = text;
    this.#handle.title = `Drag, or move with ← →${this.#isNumber ? ". Click or type to set a step" : ""}`;
    this.#handle.setAttribute("aria-label", `Pinned ${what}`);
    this.#handle.setAttribute("aria-valuenow", String(x));
    this.#handle.setAttribute("aria-valuetext", text);
  }

  hide() {
    this.#box.hidden = true;
  }
}
