/** What the button that skips the tabs and the run list does. Loaded when it is first used. */

const FOCUSABLE = ":is([tabindex='0'], button, input, select, a[href], iframe)";

/** Focuses the first chart or card of the open tab; if there is none, the tab. */
export function skipToCharts() {
  const content = /** @type {HTMLElement} */ (document.getElementById("content"));
  const tab = content.querySelector(".plugin")?.shadowRoot;
  const first = tab?.querySelector(".tb-card [tabindex='0']") ?? tab?.querySelector(`.tb-card ${FOCUSABLE}`) ?? tab?.querySelector(FOCUSABLE);
  // The content can be focused by the link, but not by Tab.
  content.tabIndex = -1;
  /** @type {HTMLElement} */ (first ?? content).focus();
}
