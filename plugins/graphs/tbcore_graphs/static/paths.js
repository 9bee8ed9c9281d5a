/**
 * Pure functions on names of nodes: `a/b/c` is `c` in the scope `a/b`.
 */

/**
 * The slash that ends a scope. Scopes do not have empty names, so a second slash is part of the
 * name after it.
 */
const SLASH = /(?<=[^/])\/(?=.)/s;
/** The last number in a name, which distinguishes the nodes of a series. */
const LAST_NUMBER = /\d+(?=\D*$)/;

/** The name of a node or scope without the scope it is in. @param {string} name */
export function lastPart(name) {
  return name.split(SLASH).at(-1) ?? name;
}

/** The scope that a name is in; "" is the whole graph. @param {string} name */
export function scopeOf(name) {
  return name.slice(0, Math.max(0, name.length - lastPart(name).length - 1));
}

/** The scopes around a name, outermost first. @param {string} name */
export function scopesAround(name) {
  const parts = name.split(SLASH);
  return parts.slice(1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
}

/**
 * Names without what all of them have at the beginning and at the end, to tell them apart in little
 * space. What is left out is whole words, and an ellipsis stands for it; it is at least 4 characters.
 * @param {readonly string[]} names
 * @returns {string[]} in the same order
 */
export function partsThatDiffer(names) {
  const [first = "", ...others] = names;
  /** How many characters match in all names. @param {(name: string, k: number) => string | undefined} at */
  const alike = (at) => {
    let count = 0;
    while (count < first.length && others.every((name) => at(name, count) === at(first, count))) count++;
    return count;
  };
  if (others.length === 0) return [...names];
  const head = first.slice(0, alike((name, k) => name[k])).replace(/[^/_\s-]+$/, "");
  const tail = first.slice(first.length - alike((name, k) => name.at(-1 - k))).replace(/^[^/_\s-]+/, "");
  const [start, end] = [head, tail].map(({ length }) => (length < 4 ? 0 : length));
  return names.map((name) =>
    start + end < name.length ? `${start ? "…" : ""}${name.slice(start, name.length - end)}${end ? "…" : ""}` : name,
  );
}

/**
 * The name of the series that contains a node if its scope has too many nodes: the node's name with
 * `*` for its last number. The server uses the same names.
 * @param {string} name
 */
export function seriesOf(name) {
  const leaf = lastPart(name);
  return name.slice(0, name.length - leaf.length) + leaf.replace(LAST_NUMBER, "*");
}
