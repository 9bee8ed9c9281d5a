/**
 * The vertical line at a pinned x, and its handle below the plot. The handle can be dragged, moved
 * with the arrow keys, edited as text, and removed.
 */

/** A shorter drag counts as a click, CSS pixels. */
const MIN_DRAG_PX = 3;

/**
 * @typedef {object} PinTarget  callbacks of the chart
 * @property {(left: number, settled: boolean) => void} drag  moves the pin to a position in the
 *   plot, CSS pixels; `settled` is true when the drag ends
 * @property {(direction: -1 | 1) => void} walk  moves the pin to the next point
 * @property {(x: number) => void} write  moves the pin to a step that the user typed
 * @property {() => void} remove
 */

/** The pin of one chart. */
export class ChartPin {
  #box = document.createElement("div");
  #handle = document.createElement("span");
  #input = document.createElement("input");
  #plot;
  #left = 0;
  #x = NaN;
  /**
   * Whether x can be typed. A step can be typed; a time cannot, because it is not shown as a plain
   * number.
   */
  #isEditable = false;

  /** @param {HTMLElement} plot  the area between the axes @param {PinTarget} target */
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

    /**
     * The current drag, in CSS pixels: `from` is where it began, and `offset` the distance from
     * there to the pin's line. `isGrip`: whether it began at the handle, where a click edits the
     * step.
     * @type {{ from: number, offset: number, isGrip: boolean, moved: boolean } | null}
     */
    let drag = null;
    /** @param {PointerEvent} event */
    const onDown = (event) => {
      event.stopPropagation(); // the chart would start a zoom selection
      if (event.button !== 0 || event.target === close || event.target === input) return;
      const isGrip = grip.contains(/** @type {Node} */ (event.target));
      drag = { from: event.clientX, offset: this.#left - event.clientX, isGrip, moved: false };
      this.#box.setPointerCapture(event.pointerId);
    };
    /** @param {PointerEvent} event */
    const onMove = (event) => {
      if (!drag) return;
      event.stopPropagation();
      drag.moved ||= Math.abs(event.clientX - drag.from) >= MIN_DRAG_PX;
      if (drag.moved) target.drag(event.clientX + drag.offset, false);
    };
    /** @param {PointerEvent} event */
    const onEnd = (event) => {
      event.stopPropagation();
      if (drag?.moved) target.drag(event.clientX + drag.offset, true);
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
      else return event.stopPropagation(); // the chart must not handle it either
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
      this.#endEdit();
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
    input.addEventListener("blur", () => this.#endEdit());
  }

  /**
   * Shows the text box for a step.
   * @param {string} [text]  its initial text; by default the pinned step
   */
  #edit(text) {
    if (!this.#isEditable) return;
    const input = this.#input;
    input.value = text ?? String(this.#x);
    input.hidden = false;
    this.#handle.hidden = true;
    input.focus({ preventScroll: true });
    if (text === undefined) input.select();
  }

  /** Shows the handle again. */
  #endEdit() {
    this.#input.hidden = true;
    this.#handle.hidden = false;
  }

  /**
   * Moves the pin.
   * @param {number} left  CSS pixels inside the plot
   * @param {number} x
   * @param {string} text  x as formatted text
   * @param {string} what  what x is: `step` or `time`
   */
  place(left, x, text, what) {
    const width = this.#plot.clientWidth;
    this.#left = left;
    this.#x = x;
    this.#isEditable = what === "step";
    this.#box.hidden = !(left >= -1 && left <= width + 1);
    if (this.#box.hidden) return;
    this.#box.style.left = `${left}px`;
    this.#box.classList.toggle("tb-at-end", left > width - 36);
    this.#handle.textContent = text;
    this.#handle.title = `Drag or use ← → to move${this.#isEditable ? ". Click or type to enter a step" : ""}`;
    this.#handle.setAttribute("aria-label", `Pinned ${what}`);
    this.#handle.setAttribute("aria-valuenow", String(x));
    this.#handle.setAttribute("aria-valuetext", text);
  }

  hide() {
    this.#box.hidden = true;
  }
}
