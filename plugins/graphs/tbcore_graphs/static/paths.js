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
 * The name of the series that contains a node if its scope has too many nodes: the node's name with
 * `*` for its last number. The server uses the same names.
 * @param {string} name
 */
export function seriesOf(name) {
  const leaf = lastPart(name);
  return name.slice(0, name.length - leaf.length) + leaf.replace(LAST_NUMBER, "*");
}
