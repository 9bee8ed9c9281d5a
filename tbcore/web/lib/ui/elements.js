/** Elements of tooltips, made without preact. */

/**
 * A table cell with a text.
 * @param {"td" | "th"} kind
 * @param {string} text
 */
export function cell(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

/**
 * A span with a class and a text.
 * @param {string} className
 * @param {string} text
 */
export function span(className, text) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}
