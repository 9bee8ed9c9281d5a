/**
 * The URL fragment (after `#`): the open tab, and the other state that a link restores.
 *
 *     #scalars&query=train&tagQuery=loss&runs=~newest,!a,b&scalars.xAxis=relative
 *
 * The first part is the tab, as in TensorBoard's links. A plugin's settings are prefixed with its
 * name. Pure functions, no DOM.
 */

/** The tab is a plugin's name, or "". @typedef {{ tab: string, values: Record<string, string> }} Address */

/** Parses a URL fragment, with or without the leading `#`. @param {string} hash @returns {Address} */
export function parseAddress(hash) {
  const text = hash.replace(/^#/, "");
  const [tab] = text.split("&");
  const pairs = Array.from(text.matchAll(/(?<=^|&)([^&=]+)=([^&]*)/g), (found) => found.slice(1).map(decode));
  return { tab: tab.includes("=") ? "" : decode(tab), values: Object.fromEntries(pairs) };
}

/** Formats a URL fragment with the leading `#`, or "" for an empty address. Values keep their order, empty ones included. @param {Address} address */
export function formatAddress({ tab, values }) {
  const pairs = Object.entries(values).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return tab === "" && pairs.length === 0 ? "" : `#${[encode(tab), ...pairs].join("&")}`;
}

/** Characters that are escaped in lists of names: the one at index N is written `~N`. `%` was the escape character of older links. */
const ESCAPED_CHARS = "~,!;%";

/** Escapes a name for use in a list: `a,b` becomes `a~1b`. Slashes are not escaped. @param {string} name */
export function escapeName(name) {
  return name.replace(/[~,!;%]/g, (char) => `~${ESCAPED_CHARS.indexOf(char)}`);
}

/** Reverses `escapeName`. @param {string} text */
export function unescapeName(text) {
  return text.replace(/~([0-4])/g, (_, digit) => ESCAPED_CHARS[Number(digit)]);
}

/**
 * Percent-encodes the separators `&` and `=`, and the characters that a URL fragment should not
 * have. `/`, `:`, `,` and the like are allowed there and stay readable.
 * @param {string} text
 */
function encode(text) {
  return text.replace(/[^A-Za-z0-9\-._~!$'()*+,;:@/?{}]+/gu, (part) => encodeURIComponent(part.toWellFormed?.() ?? part));
}

/** Percent-decodes a text; returns it unchanged if it is not valid. @param {string} text */
export function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray `%`, typed by hand.
    return text;
  }
}
