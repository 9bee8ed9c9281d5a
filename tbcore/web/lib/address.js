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

/** Percent-encodes a text, with a sign for what is not a whole character. @param {string} text */
export const percentEncode = (text) => encodeURIComponent(text.toWellFormed?.() ?? text);

/**
 * Percent-encodes the separators `&` and `=`, and the characters that a URL fragment should not
 * have. `/`, `:`, `,` and the like are allowed there and stay readable.
 * @param {string} text
 */
function encode(text) {
  return text.replace(/[^A-Za-z0-9\-._~!$'()*+,;:@/?{}]+/gu, percentEncode);
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

// --- the order of names ---------------------------------------------------------------------------

/**
 * A copy of a list, in the natural order of names. The key of each name is made once.
 * @template T @param {Iterable<T>} items @param {(item: T) => string} [nameOf]
 */
export function byName(items, nameOf = String) {
  const keyed = Array.from(items, (item) => ({ item, key: keyOf(nameOf(item)) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key))).map(({ item }) => item);
}

/**
 * Compares names in natural order. Path segments are compared one by one, so that children follow
 * their parent. Numbers inside a segment are compared by value:
 *
 *     lr0.001 < lr0.005 < lr0.01         a number with one point is a decimal number
 *     v1.9 < v1.10, 1.9.0 < 1.10.0       after a "v", or with more points (versions, dates), each
 *                                        part is a number of its own
 *     lr1e-4 < lr5e-4 < lr1e-3           exponents are part of the number
 *
 * A "-" is a dash, not a sign. The order is total: different names never compare as 0.
 * Commands have an order of their own: tests/names.json has what both must do.
 * @param {string} a
 * @param {string} b
 */
export function compareNames(a, b) {
  const [left, right] = [keyOf(a), keyOf(b)];
  return left < right ? -1 : Number(left > right);
}

/**
 * A text that compares as the name does. In each segment a number becomes `0`, its power and its
 * digits. The segment itself follows, because numbers may be equal but written differently, such as
 * "1" and "01". The end of a number, and of a segment, is less than any character.
 * @param {string} name
 */
function keyOf(name) {
  let key = "";
  for (const segment of name.split("/")) {
    let i = 0;
    for (let digit; (digit = DIGIT.exec(segment)); DIGIT.lastIndex = i) {
      const { length, digits, power } = readNumber(segment, digit.index);
      key += `${segment.slice(i, digit.index)}0${digits && String.fromCharCode(power + (1 << 14)) + digits}\0`;
      i = digit.index + length;
    }
    key += `${segment.slice(i)}\0${segment}\0`;
  }
  return key;
}

const DIGIT = /\d/g;
/** Digits after which neither a fraction nor an exponent may follow. */
const WHOLE = /0*(\d*)(?![\d.e])/iy;
const DIGITS = /\d+/y;
/** Digits with any number of points, as in `1.10.2`. */
const DIGITS_AND_POINTS = /\d+(?:\.\d+)*/y;
/** A decimal number: whole part, fraction and exponent are groups. */
const DECIMAL = /(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3})(?![\da-z]))?/iy;
/** The end of a text after which a number is a part of a version: `1.`, or a separate `v`. */
const IN_VERSION = /(?:\d\.|(?<![a-z])v)$/i;

/**
 * Parses the number that starts at a digit, as `0.<digits> * 10 ** power`, where `digits` have no
 * leading and trailing zeros: they are "" for zero. A part of a version or date is only its digits.
 * @param {string} text @param {number} index
 */
function readNumber(text, index) {
  const plain = match(WHOLE, text, index);
  if (plain) return { length: plain[0].length, digits: plain[1].replace(/0+$/, ""), power: plain[1].length };
  const isVersionPart = match(DIGITS_AND_POINTS, text, index)[0].split(".").length > 2 || IN_VERSION.test(text.slice(Math.max(0, index - 2), index));
  const [all, whole = all, fraction = "", exponent = "0"] = match(isVersionPart ? DIGITS : DECIMAL, text, index);
  const significant = (whole + fraction).replace(/^0+/, "");
  const power = significant.length - fraction.length + Number(exponent);
  return { length: all.length, digits: significant.replace(/0+$/, ""), power };
}

/** Matches a sticky pattern, which must match there. @param {RegExp} pattern @param {string} text @param {number} index */
function match(pattern, text, index) {
  pattern.lastIndex = index;
  return /** @type {RegExpExecArray} */ (pattern.exec(text));
}
