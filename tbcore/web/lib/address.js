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

// --- the order of names ---------------------------------------------------------------------------

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
  const left = a.split("/");
  const right = b.split("/");
  for (let k = 0; k < left.length && k < right.length; k++) {
    const bySegment = compareSegments(left[k], right[k]);
    if (bySegment) return bySegment;
  }
  return left.length - right.length;
}

/** Compares path segments in natural order. @param {string} a @param {string} b */
function compareSegments(a, b) {
  // Skip the common prefix. If it ends inside a number, go back to the start of the number.
  let i = 0;
  while (i < a.length && a.charCodeAt(i) === b.charCodeAt(i)) i++;
  while (i > 0 && WITHIN_NUMBER.test(a[i - 1])) i--;
  // From there compare numbers by value, and all else by character.
  let j = i;
  while (i < a.length && j < b.length) {
    if (isDigit(a, i) && isDigit(b, j)) {
      const left = readNumber(a, i);
      const right = readNumber(b, j);
      const byNumber = compareNumbers(left, right);
      if (byNumber) return byNumber;
      i += left.length;
      j += right.length;
    } else {
      const byCharacter = a.charCodeAt(i++) - b.charCodeAt(j++);
      if (byCharacter) return byCharacter;
    }
  }
  // If one segment is the start of the other, the shorter one is less.
  // Numbers may be equal but written differently, such as "1" and "01".
  return a.length - i - (b.length - j) || (a < b ? -1 : Number(a > b));
}

const DIGITS = /\d+/y;
/** Digits with any number of points, as in `1.10.2`. */
const DIGITS_AND_POINTS = /\d+(?:\.\d+)*/y;
/** A decimal number: whole part, fraction and exponent are groups. */
const DECIMAL = /(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3})(?![\da-z]))?/iy;
/** A character that may be part of a number. */
const WITHIN_NUMBER = /[\d.e+-]/i;
/** The end of a text after which a number is a part of a version: `1.`, or a separate `v`. */
const IN_VERSION = /(?:\d\.|(?<![a-z])v)$/i;

/**
 * Parses the number that starts at a digit, as `0.<digits> * 10 ** power`, where `digits` have no
 * leading and trailing zeros: they are "" for zero. A part of a version or date is only its digits.
 * @param {string} text @param {number} index
 */
function readNumber(text, index) {
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

/** @param {ReturnType<typeof readNumber>} left @param {ReturnType<typeof readNumber>} right */
function compareNumbers(left, right) {
  if (!left.digits || !right.digits) return left.digits.length - right.digits.length;
  if (left.power !== right.power) return left.power - right.power;
  return left.digits < right.digits ? -1 : Number(left.digits > right.digits);
}

/** Whether a character is a digit from 0 to 9. @param {string} text @param {number} index */
function isDigit(text, index) {
  return text[index] >= "0" && text[index] <= "9";
}
