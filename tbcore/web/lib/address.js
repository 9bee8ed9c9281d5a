/**
 * The part of the address behind `#`: which tab is open, and what else a link restores.
 *
 *     #scalars&runFilter=train&tagFilter=loss&runs=!a,b&scalars.xAxis=relative
 *
 * The first part is the tab, as in links to TensorBoard; settings of a plugin carry its name. Pure.
 */

/**
 * @typedef {object} Address
 * @property {string} tab  plugin name; "" when none is named
 * @property {Record<string, string>} values
 */

/**
 * @param {string} hash  with or without the leading `#`
 * @returns {Address}
 */
export function parseAddress(hash) {
  const [tab, ...pairs] = hash.replace(/^#/, "").split("&");
  /** @type {Record<string, string>} */
  const values = {};
  for (const pair of tab.includes("=") ? [tab, ...pairs] : pairs) {
    const equals = pair.indexOf("=");
    if (equals > 0) values[decode(pair.slice(0, equals))] = decode(pair.slice(equals + 1));
  }
  return { tab: tab.includes("=") ? "" : decode(tab), values };
}

/**
 * @param {Address} address  values in the order in which they are written; empty ones are written too
 * @returns {string} with the leading `#`; "" for an empty address
 */
export function formatAddress({ tab, values }) {
  const pairs = Object.entries(values).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const parts = [encode(tab), ...pairs];
  return parts.length === 1 && tab === "" ? "" : `#${parts.join("&")}`;
}

/** What separates or marks names in lists, `%`, which those of older links are written with, and the escape itself. */
const MARKS = "~,!;%";

/**
 * A name as it stands in a list: `a,b` is `a~1b`. A slash stays one.
 * @param {string} name
 */
export function escapeName(name) {
  return name.replace(/[~,!;%]/g, (char) => `~${MARKS.indexOf(char)}`);
}

/** @param {string} text */
export function unescapeName(text) {
  return text.replace(/~([0-4])/g, (_, digit) => MARKS[Number(digit)]);
}

/**
 * Percent-encoding that leaves readable what needs none here: `/`, `:`, `,` and the like may stand in a fragment.
 * @param {string} text
 */
function encode(text) {
  return text.replace(/[^A-Za-z0-9\-._~!$'()*+,;:@/?{}]+/gu, (part) => encodeURIComponent(part.toWellFormed?.() ?? part));
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a `%` that was typed by hand
  }
}
