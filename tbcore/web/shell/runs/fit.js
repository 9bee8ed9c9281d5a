/** The width of the run list that fits its names. Loaded when it is first asked for. */

/** Number of rows that are measured: those with the longest labels. */
const NUM_MEASURED = 20;
/** What one level of depth counts when labels are compared, in characters. */
const CHARS_PER_LEVEL = 2;
/** What is above the rows needs it, however short the names are. */
const MIN_FITTING_WIDTH_PX = 280;

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
