/**
 * Marks words in what is drawn, without a change of its elements. A browser that cannot marks nothing.
 */

/** So many in one element. */
const MOST = 1000;

const marks = typeof Highlight === "undefined" ? null : new Highlight();
if (marks) CSS.highlights.set("tbcore-text", marks);

/**
 * @param {Element} element
 * @param {string} query  upper and lower case are the same
 * @returns {() => void} takes the marks away
 */
export function markIn(element, query) {
  if (!marks) return () => {};
  const wanted = query.toLowerCase();
  /** @type {Range[]} */
  const ranges = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST; node = walker.nextNode()) {
    const text = /** @type {globalThis.Text} */ (node).data;
    const small = text.toLowerCase();
    if (small.length !== text.length) continue; // a few letters have more than one small one
    for (let at = small.indexOf(wanted); at >= 0 && ranges.length < MOST; at = small.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  for (const range of ranges) marks.add(range);
  return () => ranges.forEach((range) => marks.delete(range));
}
