/**
 * The line at a step that stays marked, and its handle below the plot: dragged, moved by the arrow keys, taken away.
 */

/**
 * @typedef {object} PinTarget
 * @property {(left: number, settled: boolean) => void} drag  to a place in the plot, CSS pixels
 * @property {(direction: -1 | 1) => void} walk  to the next point
 * @property {() => void} remove
 */

export class ChartPin {
  #box = document.createElement("div");
  #handle = document.createElement("span");
  #plot;

  /** @param {HTMLElement} plot  between the axes @param {PinTarget} target */
  constructor(plot, target) {
    this.#plot = plot;
    const grip = document.createElement("span");
    const close = document.createElement("button");
    const handle = this.#handle;
    this.#box.className = "tb-chart-pin";
    grip.className = "tb-chart-grip";
    handle.setAttribute("role", "slider");
    handle.tabIndex = 0;
    handle.title = "Drag, or move with ← →";
    close.type = "button";
    close.textContent = "×";
    close.title = "Unpin (Delete)";
    close.setAttribute("aria-label", "Unpin");
    grip.append(handle, close);
    this.#box.append(grip);
    this.hide();
    plot.append(this.#box);
    close.addEventListener("click", target.remove);

    let isDragged = false;
    /** @param {PointerEvent} event */
    const leftOf = (event) => event.clientX - plot.getBoundingClientRect().left;
    /** @param {PointerEvent} event */
    const onDown = (event) => {
      event.stopPropagation(); // the chart would begin to select a part
      if (event.button !== 0 || event.target === close) return;
      isDragged = true;
      this.#box.setPointerCapture(event.pointerId);
    };
    /** @param {PointerEvent} event */
    const onMove = (event) => {
      if (!isDragged) return;
      event.stopPropagation();
      target.drag(leftOf(event), false);
    };
    /** @param {PointerEvent} event */
    const onEnd = (event) => {
      event.stopPropagation();
      if (isDragged) target.drag(leftOf(event), true);
      isDragged = false;
    };
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
      const { key } = event;
      if (key === "ArrowLeft" || key === "ArrowDown") target.walk(-1);
      else if (key === "ArrowRight" || key === "ArrowUp") target.walk(1);
      else if (key === "Delete" || key === "Backspace" || key === "Escape") target.remove();
      else return event.stopPropagation(); // not for the chart either
      event.preventDefault();
      event.stopPropagation();
    };
    this.#box.addEventListener("pointerdown", onDown);
    this.#box.addEventListener("pointermove", onMove);
    this.#box.addEventListener("pointerup", onEnd);
    this.#box.addEventListener("pointercancel", onEnd);
    this.#box.addEventListener("dblclick", (event) => event.stopPropagation());
    handle.addEventListener("keydown", onKey);
  }

  /**
   * @param {number} left  CSS pixels inside the plot
   * @param {number} x
   * @param {string} text  the same, written out
   * @param {string} what  `step` or `time`
   */
  place(left, x, text, what) {
    const width = this.#plot.clientWidth;
    this.#box.hidden = !(left >= -1 && left <= width + 1);
    if (this.#box.hidden) return;
    this.#box.style.left = `${left}px`;
    this.#box.classList.toggle("tb-at-end", left > width - 36);
    this.#handle.textContent = text;
    this.#handle.setAttribute("aria-label", `Pinned ${what}`);
    this.#handle.setAttribute("aria-valuenow", String(x));
    this.#handle.setAttribute("aria-valuetext", text);
  }

  hide() {
    this.#box.hidden = true;
  }
}
