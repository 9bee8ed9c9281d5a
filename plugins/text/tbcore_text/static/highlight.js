/**
 * Highlights text without changing elements, by the CSS Custom Highlight API. Browsers without it
 * highlight nothing.
 */

/** Most highlights in one element. */
const MAX_RANGES = 1000;

const marks = typeof Highlight === "undefined" ? null : new Highlight();
if (marks) CSS.highlights.set("tbcore-text", marks);

/**
 * Highlights every occurrence of a text.
 * @param {Element} element
 * @param {string} query  case is ignored
 * @returns {() => void} removes the highlights
 */
export function highlightMatches(element, query) {
  if (!marks) return () => {};
  const needle = query.toLowerCase();
  /** @type {Range[]} */
  const ranges = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MAX_RANGES; node = walker.nextNode()) {
    const text = /** @type {globalThis.Text} */ (node).data;
    const lower = text.toLowerCase();
    if (lower.length !== text.length) continue; // a few letters have a longer lower case, which would shift positions
    for (let at = lower.indexOf(needle); at >= 0 && ranges.length < MAX_RANGES; at = lower.indexOf(needle, at + needle.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + needle.length);
      ranges.push(range);
    }
  }
  for (const range of ranges) marks.add(range);
  return () => ranges.forEach((range) => marks.delete(range));
}
