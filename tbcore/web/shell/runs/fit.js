/** The width of the run list that fits its names and columns. Loaded when it is first asked for. */

import { openPreferences } from "../state/reader-state.js";

/** Number of rows that are measured: those with the longest labels. */
const NUM_MEASURED = 20;
/** What one level of depth counts when labels are compared, in characters. */
const CHARS_PER_LEVEL = 2;
/** What is above the rows needs it, however short the names are. */
const MIN_FITTING_WIDTH_PX = 280;
/** The largest width of the run list, as a share of the window, and the width of windows in which it lies over the tab, as in shell.css. */
const [MAX_SHARE, NARROW_PX] = [0.6, 760];

/**
 * The width of the sidebar at which no row truncates its name or hides its age, and what is above
 * the rows is not squeezed, in CSS pixels; null if there are no rows.
 * @param {HTMLElement} sidebar
 * @param {readonly import("../state/tree.js").Row[]} rows  all rows of the list, of which few are rendered
 */
export function fittingWidth(sidebar, rows) {
  const row = sidebar.querySelector(".tb-run:has(.tb-nan)") ?? sidebar.querySelector(".tb-run") ?? sidebar.querySelector(".tb-folder");
  const list = row?.closest(".tb-list");
  if (!row || !list) return null;
  const probe = /** @type {HTMLElement} */ (row.cloneNode(true));
  const name = /** @type {HTMLElement} */ (probe.querySelector(".tb-name"));
  Object.assign(probe.style, { position: "absolute", width: "max-content", visibility: "hidden" });
  /** @type {HTMLElement} */ (probe.querySelector(".tb-row-main")).style.flexWrap = "nowrap";
  /** @param {typeof rows[number]} row */
  const length = ({ label, depth }) => label.length + CHARS_PER_LEVEL * depth;
  const longest = [...rows].sort((a, b) => length(b) - length(a)).slice(0, NUM_MEASURED);
  list.append(probe);
  const widths = longest.map(({ label, depth }) => {
    probe.style.setProperty("--depth", String(depth));
    name.textContent = label;
    return probe.getBoundingClientRect().width;
  });
  probe.remove();
  return Math.max(MIN_FITTING_WIDTH_PX, Math.ceil(Math.max(...widths)) + sidebar.offsetWidth - list.clientWidth);
}

/** The width of the names in the list, with what stands beside them, in CSS pixels. */
export function widthOfNames() {
  return document.querySelector("aside .tb-row-main")?.getBoundingClientRect().width ?? 0;
}

/** Widens the list until its columns fit, but not again for the same ones, after which the reader may have made it narrower. @param {string} shown  what the columns show */
export function widenListFor(shown) {
  const preferences = openPreferences("#sidebar");
  if (preferences.values.value.columns === shown) return;
  preferences.set("columns", shown);
  widenList();
}

/** Widens the list until its columns fit beside names of this width, or to its limit. @param {number} [nameWidth]  in CSS pixels */
export function widenList(nameWidth = 0) {
  const list = document.querySelector("aside .tb-with-columns .tb-list");
  const width = document.querySelector("aside")?.offsetWidth ?? 0;
  if (!list || window.innerWidth <= NARROW_PX) return;
  const missing = list.scrollWidth - list.clientWidth + Math.max(0, nameWidth - widthOfNames());
  const next = Math.min(Math.ceil(width + missing), Math.floor(MAX_SHARE * window.innerWidth));
  if (next > width) openPreferences("#sidebar").set("width", String(next));
}
