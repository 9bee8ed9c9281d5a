/** The width of the run list: as the reader drags its edge, or such that its names and columns fit. Loaded when it is first asked for. */

import { openPreferences } from "../state/reader-state.js";

/** How far an arrow key moves the edge. */
const WIDTH_STEP_PX = 16;
/** Number of rows that are measured: those with the longest labels. */
const NUM_MEASURED = 20;
/** What one level of depth counts when labels are compared, in characters. */
const CHARS_PER_LEVEL = 2;
/** What is above the rows needs it, however short the names are. */
const MIN_FITTING_WIDTH_PX = 280;
/** The largest width of the run list, as a share of the window, and the width of windows in which it lies over the tab, as in shell.css. */
const [MAX_SHARE, NARROW_PX] = [0.6, 760];

/**
 * Handles an event of the edge of the sidebar: dragging, arrow keys, and a double click or Enter,
 * which fits the names or, if the width fits already, restores the default.
 * @param {Event & { key?: string }} event
 * @param {HTMLElement} handle  the edge
 * @param {number} width  in CSS pixels
 * @param {(width: number) => number} limited  the width within its limits
 * @param {readonly import("../state/tree.js").Row[]} rows  all rows of the list
 * @param {ReadonlyMap<string, import("../../host.js").Noted>} noted  names that users gave to runs
 */
export function moveEdge(event, handle, width, limited, rows, noted) {
  // Keys that came while this module was loaded all have the width before the first of them.
  const stored = Number(openPreferences("#sidebar").values.value.width);
  if (stored > 0) width = limited(stored);
  /** @param {number | null} next  null restores the default */
  const change = (next) => openPreferences("#sidebar").set("width", next === null ? null : String(limited(next)));
  if (event.type === "dblclick" || event.key === "Enter") {
    const next = fittingWidth(/** @type {HTMLElement} */ (handle.parentElement), rows.map((row) => ({ ...row, label: noted.get(row.key)?.label ?? row.label })));
    if (next !== null) change(limited(next) === width ? null : next);
  } else if (event instanceof PointerEvent) {
    const start = event.clientX - width;
    // The pointer may have been released while this module was loaded.
    try {
      handle.setPointerCapture(event.pointerId);
    } catch {
      return;
    }
    // For a mouse that was released there is neither an error nor a capture whose end would be reported.
    if (!handle.hasPointerCapture(event.pointerId)) return;
    handle.onpointermove = (move) => change(move.clientX - start);
    handle.onlostpointercapture = () => (handle.onpointermove = null);
  } else if (event.key === "ArrowLeft") change(width - WIDTH_STEP_PX);
  else if (event.key === "ArrowRight") change(width + WIDTH_STEP_PX);
}

/**
 * The width of the sidebar at which no row truncates its name or hides its age, and what is above
 * the rows is not squeezed, in CSS pixels; null if there are no rows.
 * @param {HTMLElement} sidebar
 * @param {readonly import("../state/tree.js").Row[]} rows  all rows of the list, of which few are rendered
 */
function fittingWidth(sidebar, rows) {
  const list = /** @type {HTMLElement | null} */ (sidebar.querySelector(".tb-list"));
  const width = list && widestRow(list, rows);
  return width && Math.max(MIN_FITTING_WIDTH_PX, width + sidebar.offsetWidth - list.clientWidth);
}

/**
 * The width at which no name beside the columns is cut, in CSS pixels. What follows names may be cut.
 * @param {HTMLElement} list
 * @param {readonly import("../state/tree.js").Row[]} rows
 * @param {ReadonlyMap<string, import("../../host.js").Noted>} noted  names that users gave to runs
 */
export function namesWidth(list, rows, noted) {
  return widestRow(list, rows.map((row) => ({ ...row, label: noted.get(row.key)?.label ?? row.label })), true) ?? 0;
}

/**
 * The width of the widest row in CSS pixels, or of what is before its columns; null if there are no rows.
 * @param {HTMLElement} list
 * @param {readonly import("../state/tree.js").Row[]} rows  all rows of the list, of which few are rendered
 * @param {boolean} [isName]
 */
function widestRow(list, rows, isName = false) {
  // What stands beside a name is widest with a mark of NaN, then with a number of archived runs.
  const row = [".tb-row:has(.tb-nan)", '.tb-row:has(.tb-run-info [title*="archived"])', ".tb-run", ".tb-folder"].map((selector) => list.querySelector(selector)).find(Boolean);
  if (!row) return null;
  const probe = /** @type {HTMLElement} */ (row.cloneNode(true));
  const name = /** @type {HTMLElement} */ (probe.querySelector(".tb-name"));
  Object.assign(probe.style, { position: "absolute", width: "max-content", visibility: "hidden" });
  const [main, info] = /** @type {NodeListOf<HTMLElement>} */ (probe.querySelectorAll(".tb-row-main, .tb-run-info"));
  main.style.flexWrap = "nowrap";
  if (isName) main.style.minWidth = info.style.width = "0";
  /** @param {typeof rows[number]} row */
  const length = ({ label, depth }) => label.length + CHARS_PER_LEVEL * depth;
  const longest = [...rows].sort((a, b) => length(b) - length(a)).slice(0, NUM_MEASURED);
  list.append(probe);
  const widths = longest.map(({ label, depth }) => {
    probe.style.setProperty("--depth", String(depth));
    name.textContent = label;
    return (isName ? main : probe).getBoundingClientRect().width;
  });
  probe.remove();
  return Math.ceil(Math.max(...widths));
}

/** The width of the names in the list, with what stands beside them, in CSS pixels. */
export function widthOfNames() {
  return document.querySelector("aside .tb-row-main")?.getBoundingClientRect().width ?? 0;
}

/** The width of all columns when they were last shown. */
let columnsWidth = 0;

/**
 * Fits the list to its columns: widens it until they fit, and takes back what columns that are gone
 * had widened it by. Not if the reader has chosen a width since.
 * @param {string} shown  what the columns show; "" without columns
 */
export function fitListFor(shown) {
  const preferences = openPreferences("#sidebar");
  const { columns, width = "", widened } = preferences.values.value;
  const [before, after] = (widened ?? "").split(">");
  const isOurs = after !== undefined && after === width;
  const widthBefore = columnsWidth;
  columnsWidth = [...document.querySelectorAll("aside .tb-heads .tb-cell")].reduce((sum, cell) => sum + cell.getBoundingClientRect().width, 0);
  if (columns === shown && !isOurs) return;
  if (columns !== shown) {
    preferences.set("columns", shown || null);
    const next = Math.ceil(Number(width) - Math.max(0, widthBefore - columnsWidth));
    if (isOurs && (!shown || next <= Number(before))) preferences.set("width", before || null);
    else if (isOurs) setWidened(before, String(next));
    // A width that is enough until all values are there is no choice of the reader.
    if (!isOurs && shown) preferences.set("widened", `${width}>${width}`);
  }
  if (shown) requestAnimationFrame(() => widenList());
  else preferences.set("widened", null);
}

/** Widens the list that was fitted to its columns, if names or columns have become wider since. */
export function fitAgain() {
  const { width = "", widened = "" } = openPreferences("#sidebar").values.value;
  if (widened.endsWith(`>${width}`)) widenList();
}

/** Widens the list until its columns fit beside names of this width, or to its limit. @param {number} [nameWidth]  in CSS pixels */
export function widenList(nameWidth = 0) {
  const list = document.querySelector("aside .tb-with-columns .tb-list");
  const width = document.querySelector("aside")?.offsetWidth ?? 0;
  if (!list || window.innerWidth <= NARROW_PX) return;
  const missing = list.scrollWidth - list.clientWidth + Math.max(0, nameWidth - widthOfNames());
  const next = Math.min(Math.ceil(width + missing), Math.floor(MAX_SHARE * window.innerWidth));
  if (next <= width) return;
  const { width: chosen = "", widened = "" } = openPreferences("#sidebar").values.value;
  const [before, after] = widened.split(">");
  setWidened(after && after === chosen ? before : chosen, String(next));
}

/** @param {string} before  the width to go back to without columns; "" for the default @param {string} width */
function setWidened(before, width) {
  openPreferences("#sidebar").set("width", width);
  openPreferences("#sidebar").set("widened", `${before}>${width}`);
}
