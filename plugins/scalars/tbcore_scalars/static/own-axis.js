/** The y axis of one chart, in the menu of its card: its scale and its ends. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { SCALES, yAxisOf } from "./lines.js";

/** @type {[flag: string, title: string][]} */
const CHOICES = [["", "As all charts"], ["linear", "Linear"], ["log", "Log"], ["symlog", "Symlog"]];

/** @typedef {{ scale: string, from: string, to: string }} Axis  as flags and as typed; an empty end is that of the values */

/**
 * Why an axis cannot be like this, as a sentence; "" if it can.
 * @param {Axis} axis
 */
export function refusalOf({ scale, from, to }) {
  for (const end of [from, to]) {
    if (!Number.isFinite(Number(end))) return `${end} is not a number.`;
    if (scale === "log" && end && Number(end) <= 0) return `${end} is not on a log axis: its ends are above 0.`;
  }
  return from && to && Number(from) >= Number(to) ? `${from} is not less than ${to}.` : "";
}

/**
 * The ends of an axis for all means and lines, also where a mean is over fewer runs than before, as
 * typed: with a margin, and in few digits.
 * @param {readonly ArrayLike<number>[]} columns @param {boolean} isLog
 * @returns {[from: string, to: string]} empty without a value
 */
export function endsOfAll(columns, isLog) {
  let [min, max] = [Infinity, -Infinity];
  for (const column of columns) {
    for (const value of Array.from(column)) {
      if (!Number.isFinite(value) || (isLog && value <= 0)) continue;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  }
  if (min > max) return ["", ""];
  if (isLog) return [String(Number((min / 1.2).toPrecision(3))), String(Number((max * 1.2).toPrecision(3)))];
  const margin = (max - min || Math.abs(max) || 1) * 0.06;
  const unit = 10 ** Math.floor(Math.log10(margin));
  const rounded = (/** @type {number} */ units) => String(Number((units * unit).toPrecision(12)));
  return [rounded(Math.floor((min - margin) / unit)), rounded(Math.ceil((max + margin) / unit))];
}

/**
 * The fields for scale and ends. A choice, Enter and leaving a field apply all of them, or say why not;
 * Escape forgets what was typed. A button fits the ends to all, where means may leave the chart.
 * @param {{ tab: import("./types.js").Tab, id: string, feed: import("./chart-feed.js").ChartFeed }} props  `id`: of the card
 */
export function OwnAxis({ tab, id, feed }) {
  const flags = tab.flagsOf(id);
  const { yScale, limits } = yAxisOf(flags, tab.options.logY);
  const [from, to] = [0, 1].map((i) => String(limits?.[i] ?? ""));
  /** @type {Axis} */
  const applied = { scale: flags.includes(`y:${yScale}`) ? yScale : "", from, to };
  const [typed, setTyped] = useState(applied);
  /** With the scale of all charts if the card has none. @param {Axis} axis */
  const refusal = (axis) => refusalOf({ ...axis, scale: axis.scale || SCALES[tab.options.logY] });
  const [error, setError] = useState(() => refusal(applied));
  /** @param {Event} event @returns {Axis} */
  const read = ({ currentTarget }) => /** @type {any} */ (Object.fromEntries([...new FormData(/** @type {HTMLFormElement} */ (currentTarget))].map(([name, value]) => [name, String(value).trim()])));
  const onChange = (/** @type {Event} */ event) => {
    const axis = read(event);
    const why = refusal(axis);
    setTyped(axis);
    setError(why);
    if (why) return;
    tab.onFlag(id, /^y:/, axis.scale && `y:${axis.scale}`);
    const [from, to] = [axis.from, axis.to].map((end) => end && Number(end));
    tab.onFlag(id, /^range:/, axis.from || axis.to ? `range:${from}:${to}` : null);
  };
  const bands = feed.bands.value;
  const onFit = () => {
    const lines = feed.lines.value.lines.filter(({ faint }) => !faint);
    const [from, to] = endsOfAll([...bands.map(({ mean }) => mean), ...lines.map(({ smoothed, value }) => smoothed ?? value)], yScale === "log");
    setTyped({ ...typed, from, to });
    setError("");
    tab.onFlag(id, /^range:/, from ? `range:${from}:${to}` : null);
  };
  /** Not only the state: closing the menu takes the focus from the field, which would apply it. @param {KeyboardEvent} event */
  const onKeyDown = ({ key, currentTarget }) => {
    const fields = /** @type {any} */ (currentTarget).elements;
    if (key === "Escape") for (const name of /** @type {const} */ (["from", "to"])) fields[name].value = applied[name];
  };
  /** @param {"from" | "to"} name @param {string} label */
  const end = (name, label) =>
    html`<label>${label} <input class="tb-input" name=${name} value=${typed[name]} size="8" inputmode="decimal" autocomplete="off" placeholder="auto" /></label>`;
  return html`<form class="own-axis" aria-label="Y axis of this chart" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()} ...${{ onChange, onKeyDown }} onInput=${(/** @type {Event} */ event) => setTyped(read(event))}>
    <h4>Y axis of this chart</h4>
    <label>Scale <select class="tb-input" name="scale">${CHOICES.map(([scale, title]) => html`<option value=${scale} selected=${typed.scale === scale}>${title}</option>`)}</select></label>
    ${end("from", "From")} ${end("to", "To")}
    ${bands.length > 0 && html`<button type="button" class="tb-button" title="Also to the dotted parts of means, which are over fewer runs" onClick=${onFit}>Fit to all</button>`}
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  </form>`;
}
