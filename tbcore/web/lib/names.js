/**
 * Order and grouping of names: natural order, groups by first path segment, and what
 * neighbours have in common. Pure.
 */

const DIGIT_RUN = /^\d+/;

/**
 * Natural order: numbers inside names compare as numbers, and `/` sorts before everything else, so that the members
 * of a group stay together. The order is total: names that differ never compare as 0.
 * @param {string} a
 * @param {string} b
 * @returns {number} negative, zero or positive
 */
export function compareNames(a, b) {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (isDigit(a, i) && isDigit(b, j)) {
      const left = /** @type {RegExpExecArray} */ (DIGIT_RUN.exec(a.slice(i)))[0];
      const right = /** @type {RegExpExecArray} */ (DIGIT_RUN.exec(b.slice(j)))[0];
      const byNumber = compareDigits(left, right);
      if (byNumber !== 0) return byNumber;
      i += left.length;
      j += right.length;
      continue;
    }
    const byCharacter = rank(a, i) - rank(b, j);
    if (byCharacter !== 0) return byCharacter;
    i++;
    j++;
  }
  const byLength = a.length - i - (b.length - j);
  if (byLength !== 0) return byLength;
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Digit strings as numbers of any length.
 * @param {string} left
 * @param {string} right
 */
function compareDigits(left, right) {
  const a = left.replace(/^0+/, "");
  const b = right.replace(/^0+/, "");
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
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
 * @param {string} text
 * @param {number} index
 */
function rank(text, index) {
  const code = text.charCodeAt(index);
  return code === 47 ? -1 : code; // "/"
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
 * Length of what a name has in common with its neighbour, cut back to whole path segments, so that the shell can dim
 * it.
 * @param {string} name
 * @param {string} neighbour
 * @returns {number} characters; 0 or just behind a `/`
 */
export function commonPrefixLength(name, neighbour) {
  let length = 0;
  const most = Math.min(name.length, neighbour.length);
  while (length < most && name[length] === neighbour[length]) length++;
  if (length === name.length && (neighbour.length === length || neighbour[length] === "/")) {
    length = name.length - 1; // a name is never dimmed as a whole
  }
  return name.lastIndexOf("/", length - 1) + 1;
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
