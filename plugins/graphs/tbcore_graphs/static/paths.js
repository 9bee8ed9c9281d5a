/**
 * Names of nodes: `a/b/c` is `c` in the scope `a/b`. Pure.
 */

/** Ends a scope. No scope has an empty name: another slash belongs to the name behind it. */
const SLASH = /(?<=[^/])\/(?=.)/s;
const LAST_NUMBER = /\d+(?=\D*$)/;

/** What a node or scope is called inside its scope. @param {string} name */
export function lastPart(name) {
  return name.split(SLASH).at(-1) ?? name;
}

/** The scope that a name is in; "" is the whole graph. @param {string} name */
export function scopeOf(name) {
  return name.slice(0, Math.max(0, name.length - lastPart(name).length - 1));
}

/** The scopes around a name, from the outside, without the whole graph. @param {string} name */
export function scopesAround(name) {
  const parts = name.split(SLASH);
  return parts.slice(1).map((_, depth) => parts.slice(0, depth + 1).join("/"));
}

/** What the server calls the series that a name is in, where a scope has too many. @param {string} name */
export function seriesOf(name) {
  const leaf = lastPart(name);
  return name.slice(0, name.length - leaf.length) + leaf.replace(LAST_NUMBER, "*");
}
