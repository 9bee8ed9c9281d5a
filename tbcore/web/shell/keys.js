/** The page's keyboard shortcuts. The open tab's plugin adds its own. */

/**
 * Starts listening for keys. The help dialog lists them.
 * @param {object} options
 * @param {import("./state/reader-state.js").State} options.state
 * @param {() => void} options.onRuns  shows the run list of a narrow page
 * @param {() => void} options.onHelp  opens the help dialog
 * @returns {() => void} stops listening
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

  /** Returns what a key does. @param {KeyboardEvent} event @returns {(() => void) | undefined} */
  function actionOf(event) {
    if (event.key === "?") return onHelp;
    if (event.key === "/") return () => focus(document.querySelector(".plugin")?.shadowRoot) || showRunFilter();
    if (event.key === "r") return showRunFilter;
    const found = state.pluginKeys.value.find(({ key, act }) => act && key === event.key);
    return found && (() => found.act?.(event));
  }

  function showRunFilter() {
    // A sidebar that slides in moves the focus to its filter by itself.
    if (!focus(document.querySelector("aside"))) onRuns();
  }
}

/**
 * Focuses the first search box and selects its text; returns false if it is hidden or missing.
 * @param {ParentNode | null | undefined} parent
 */
function focus(parent) {
  const box = parent?.querySelector("input[type=search]");
  if (!(box instanceof HTMLInputElement) || !box.checkVisibility({ visibilityProperty: true })) return false;
  box.focus();
  box.select();
  return true;
}

/**
 * Returns whether the key goes to a text field, a dialog or a popover. Only `?` works in popovers.
 * @param {KeyboardEvent} event
 */
function isTyping(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog, [popover]:popover-open")) return event.key !== "?" || Boolean(target.closest("dialog"));
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|range|button|color)$/.test(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
