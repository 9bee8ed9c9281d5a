/**
 * The keys of the page. Those of the open tab come from its plugin; the help window lists them all.
 */

/** @typedef {import("./state.js").Key} Key */

/** @type {Key[]} */
export const PAGE_KEYS = [
  { key: "/", label: "Filter tags" },
  { key: "r", label: "Filter runs" },
  { key: "?", label: "Show this help" },
];

/**
 * Listens for as long as the page lives.
 * @param {object} options
 * @param {import("./state.js").State} options.state
 * @param {() => void} options.onRuns  shows the run list, where it is hidden
 * @param {() => void} options.onHelp
 */
export function watchKeys({ state, onRuns, onHelp }) {
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const act = actionOf(event);
    if (!act) return;
    event.preventDefault();
    act();
  };
  document.addEventListener("keydown", onKeyDown);
  return () => document.removeEventListener("keydown", onKeyDown);

  /** @param {KeyboardEvent} event @returns {(() => void) | undefined} */
  function actionOf(event) {
    if (event.key === "?") return onHelp;
    if (event.key === "/") return () => focus(tagFilter()) || showRunFilter();
    if (event.key === "r") return showRunFilter;
    const found = state.pluginKeys.value.find(({ key, act }) => act && key === event.key);
    return found && (() => found.act?.(event));
  }

  function showRunFilter() {
    if (!focus(document.querySelector("aside input[type=search]"))) onRuns(); // which focuses it
  }
}

/** The first box to search in of the open tab. */
function tagFilter() {
  return document.querySelector(".plugin")?.shadowRoot?.querySelector("input[type=search]");
}

/** @param {Element | null | undefined} box */
function focus(box) {
  if (!(box instanceof HTMLInputElement) || !box.checkVisibility({ visibilityProperty: true })) return false;
  box.focus();
  box.select();
  return true;
}

/** Whether the key is text, or is meant for a window on top. @param {KeyboardEvent} event */
function isTyping(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog, [popover]:popover-open")) return event.key !== "?" || Boolean(target.closest("dialog"));
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|range|button|color)$/.test(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
