/**
 * Order and grouping of names: natural order, and groups by first path segment. Pure.
 */

/**
 * Natural order. Path segments compare one after the other, so that children stand under their parent, and numbers
 * inside a segment compare as numbers:
 *
 *     lr0.001 < lr0.005 < lr0.01         one point makes a decimal
 *     v1.9 < v1.10, 1.9.0 < 1.10.0       behind a "v", and with more points (versions, dates), each part counts alone
 *     lr1e-4 < lr5e-4 < lr1e-3           exponents count
 *
 * A "-" is a dash, not a sign. The order is total: names that differ never compare as 0.
 * @param {string} a
 * @param {string} b
 * @returns {number} negative, zero or positive
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

/**
 * @param {string} a
 * @param {string} b
 */
function compareSegments(a, b) {
  let i = 0;
  while (i < a.length && a.charCodeAt(i) === b.charCodeAt(i)) i++;
  while (i > 0 && WITHIN_NUMBER.test(a[i - 1])) i--;
  let j = i;
  while (i < a.length && j < b.length) {
    if (isDigit(a, i) && isDigit(b, j)) {
      const left = readNumber(a, i);
      const right = readNumber(b, j);
      const byNumber = compareNumbers(left, right);
      if (byNumber !== 0) return byNumber;
      i += left.length;
      j += right.length;
      continue;
    }
    const byCharacter = a.charCodeAt(i) - b.charCodeAt(j);
    if (byCharacter !== 0) return byCharacter;
    i++;
    j++;
  }
  const byLength = a.length - i - (b.length - j);
  if (byLength !== 0) return byLength;
  return a < b ? -1 : a > b ? 1 : 0; // "1" and "01"
}

const DIGITS = /\d+/y;
const DIGITS_AND_POINTS = /\d+(?:\.\d+)*/y;
const DECIMAL = /(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3})(?![\da-z]))?/iy;
const WITHIN_NUMBER = /[\d.e+-]/i;
const IN_VERSION = /(?:\d\.|(?<![a-z])v)$/i;

/**
 * @typedef {object} NumberInName  0.digits times ten to the power of `power`; no number is too long for it
 * @property {number} length  characters in the name
 * @property {string} digits  without zeros at the ends; "" for zero
 * @property {number} power
 */

/**
 * The number that starts at a digit.
 * @param {string} text
 * @param {number} index
 * @returns {NumberInName}
 */
function readNumber(text, index) {
  const numPoints = match(DIGITS_AND_POINTS, text, index)[0].split(".").length - 1;
  const isPart = numPoints > 1 || IN_VERSION.test(text.slice(Math.max(0, index - 2), index));
  const [all, whole = all, fraction = "", exponent = "0"] = match(isPart ? DIGITS : DECIMAL, text, index);
  const significant = (whole + fraction).replace(/^0+/, "");
  const power = significant.length - fraction.length + Number(exponent);
  return { length: all.length, digits: significant.replace(/0+$/, ""), power };
}

/**
 * @param {RegExp} pattern  sticky; matches there
 * @param {string} text
 * @param {number} index
 */
function match(pattern, text, index) {
  pattern.lastIndex = index;
  return /** @type {RegExpExecArray} */ (pattern.exec(text));
}

/**
 * @param {NumberInName} left
 * @param {NumberInName} right
 */
function compareNumbers(left, right) {
  if (left.digits === "" || right.digits === "") return left.digits.length - right.digits.length;
  if (left.power !== right.power) return left.power - right.power;
  return left.digits < right.digits ? -1 : left.digits > right.digits ? 1 : 0;
}

/**
 * @param {string} text
 * @param {number} index
 */
function isDigit(text, index) {
  const code = text.charCodeAt(index);
  return code >= 48 && code <= 57;
}

/**
 * @typedef {object} TagGroup
 * @property {string} name  first path segment; "" for the tags that share theirs with no other tag
 * @property {string[]} tags  in natural order
 */

/**
 * Tags grouped by their first path segment, groups and tags in natural order. Tags without a `/` whose name no group
 * has are gathered in one group named "", which comes first: a section for every single tag would be mostly headings.
 * @param {Iterable<string>} tags
 * @returns {TagGroup[]}
 */
export function groupTags(tags) {
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const tag of new Set(tags)) {
    const segment = firstSegment(tag);
    const members = groups.get(segment);
    if (members) members.push(tag);
    else groups.set(segment, [tag]);
  }
  /** @type {string[]} */
  const single = [];
  /** @type {TagGroup[]} */
  const result = [];
  for (const [name, members] of groups) {
    if (members.length === 1 && members[0] === name) single.push(name);
    else result.push({ name, tags: members.sort(compareNames) });
  }
  result.sort((a, b) => compareNames(a.name, b.name));
  if (single.length > 0) result.unshift({ name: "", tags: single.sort(compareNames) });
  return result;
}

/**
 * What stands before the first `/`. A leading `/` belongs to the segment, so that "/a/b" is in group "/a".
 * @param {string} tag
 */
function firstSegment(tag) {
  const slash = tag.indexOf("/", 1);
  return slash === -1 ? tag : tag.slice(0, slash);
}

/**
 * A name cut where it may be shortened: the parents can give way, the last segment is what tells names apart.
 * @param {string} name
 * @returns {[parents: string, leaf: string]} parents end with `/`, or are ""
 */
export function splitName(name) {
  const slash = name.lastIndexOf("/", name.length - 2);
  return [name.slice(0, slash + 1), name.slice(slash + 1)];
}
