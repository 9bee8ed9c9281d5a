/**
 * The natural order of names. extensions/logs/tbcore_logs/order.py is the same for commands, and
 * tests/names.json has what both must do. Pure functions, no DOM.
 */

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
 * @param {string} a
 * @param {string} b
 */
export function compareNames(a, b) {
  const left = a.split("/");
  const right = b.split("/");
  for (let k = 0; k < left.length && k < right.length; k++) {
    const bySegment = compareSegments(left[k], right[k]);
    if (bySegment !== 0) return bySegment;
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
      if (byNumber !== 0) return byNumber;
      i += left.length;
      j += right.length;
    } else {
      const byCharacter = a.charCodeAt(i++) - b.charCodeAt(j++);
      if (byCharacter !== 0) return byCharacter;
    }
  }
  // If one segment is the start of the other, the shorter one is less.
  const byLength = a.length - i - (b.length - j);
  if (byLength !== 0) return byLength;
  // Numbers may be equal but written differently, such as "1" and "01".
  return a < b ? -1 : a > b ? 1 : 0;
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
  const numPoints = match(DIGITS_AND_POINTS, text, index)[0].split(".").length - 1;
  const isVersionPart = numPoints > 1 || IN_VERSION.test(text.slice(Math.max(0, index - 2), index));
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
  if (left.digits === "" || right.digits === "") return left.digits.length - right.digits.length;
  if (left.power !== right.power) return left.power - right.power;
  return left.digits < right.digits ? -1 : left.digits > right.digits ? 1 : 0;
}

/** Whether a character is a digit from 0 to 9. @param {string} text @param {number} index */
function isDigit(text, index) {
  const code = text.charCodeAt(index);
  return code >= 48 && code <= 57;
}
