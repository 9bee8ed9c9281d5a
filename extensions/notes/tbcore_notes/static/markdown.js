/**
 * Notes as elements: the Markdown that people write by hand, which is headings, lists with boxes to tick, tables, quotes, code,
 * emphasis and links. Whatever else is in a note stays text, HTML too, and each line stays a line.
 */

import { html } from "htm/preact";
import { h } from "preact";
import { formatName } from "tbcore/format.js";

/** A text, or an element. @typedef {string | [tag: string, attributes: Record<string, string>, children: Node[]]} Node */

/** The deepest nesting of quotes and lists; what is deeper is shown as it was written. */
const MAX_DEPTH = 8;
const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
/** The second line of a table, without blanks around it. */
const DELIMITER = /^\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?)?$/;
/** What is inside of a line. An address does not end with what ends a sentence. */
const INLINE = new RegExp(
  [
    /\\([!-/:-@[-`{-~])/, // as it is
    /`([^`]+)`/,
    /\[([^\][]+)\]\((https?:\/\/[^\s()<>"'`]+)\)/,
    /\*\*([^\s*](?:[^*]*[^\s*])?)\*\*/,
    /~~([^\s~](?:[^~]*[^\s~])?)~~/,
    /(?<=^|[\s(["'_~])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])/, // not in `sweep/*, exp/*`
    /(?<!\w)_([^\s_](?:[^_]*[^\s_])?)_(?!\w)/,
    /(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,:;!?)\]}])/,
  ].map(({ source }) => source).join("|"),
  "g",
);

/** A note as elements. @param {{ text: string }} props */
export function NoteText({ text }) {
  return html`<div class="tb-notes-text">${elementsOf(nodesOf(text))}</div>`;
}

/** A note as a tree. Pure. @param {string} text @returns {Node[]} */
export function nodesOf(text, depth = 0) {
  const lines = text.split(/\r\n?|\n/);
  /** @type {Node[]} */
  const nodes = [];
  /** Takes lines while they pass; the first always does. @param {(line: string, i: number) => unknown} test */
  const take = (test) => {
    const end = lines.findIndex((line, i) => i > 0 && !test(line, i));
    return lines.splice(0, end < 0 ? lines.length : end);
  };
  const isNested = depth < MAX_DEPTH;
  const isTable = (/** @type {number} */ i) => lines[i].includes("|") && DELIMITER.test(lines[i + 1]?.trim() ?? "");
  const isPlain = (/** @type {string} */ line, /** @type {number} */ i) => line.trim() && !isTable(i) && ![FENCE, HEADING, RULE, ...(isNested ? [QUOTE, ITEM] : [])].some((block) => block.test(line));
  while (lines.length > 0) {
    const [line] = lines;
    const [fence, heading, item] = [FENCE, HEADING, ITEM].map((block) => block.exec(line));
    if (fence) {
      const [, ...code] = take((other) => !other.trimStart().startsWith(fence[1]));
      lines.shift();
      nodes.push(["pre", {}, [["code", {}, [code.join("\n")]]]]);
    } else if (heading) {
      // The first level is the title of the dialog.
      nodes.push([`h${Math.min(6, heading[1].length + 1)}`, {}, inlineOf(heading[2])]);
      lines.shift();
    } else if (RULE.test(line)) {
      nodes.push(["hr", {}, []]);
      lines.shift();
    } else if (isNested && QUOTE.test(line)) {
      const quoted = take((other) => QUOTE.test(other)).map((other) => other.replace(QUOTE, ""));
      nodes.push(["blockquote", {}, nodesOf(quoted.join("\n"), depth + 1)]);
    } else if (isNested && item) {
      nodes.push(listOf(item, take, depth));
    } else if (isTable(0)) {
      const [heads, , ...rows] = take((other, i) => i === 1 || (other.includes("|") && isPlain(other, i)));
      nodes.push(["table", {}, [rowOf(heads, "th"), ...rows.map((row) => rowOf(row, "td"))]]);
    } else if (line.trim()) {
      nodes.push(["p", {}, take(isPlain).flatMap((other, i) => [...(i > 0 ? [/** @type {Node} */ (["br", {}, []])] : []), ...inlineOf(other)])]);
    } else lines.shift();
  }
  return nodes;
}

/**
 * A list: the items that begin like the first one, with the lines below them that are further to the right.
 * @param {RegExpExecArray} first @param {(test: (line: string) => unknown) => string[]} take @param {number} depth @returns {Node}
 */
function listOf([, indent, mark], take, depth) {
  const isOrdered = mark.length > 1;
  const inside = new RegExp(`^\\s{${indent.length + 2}}`);
  const isItem = (/** @type {string} */ line) => !inside.test(line) && ITEM.test(line) && !RULE.test(line) && /^\s*\d/.test(line) === isOrdered;
  /** @type {string[][]} */
  const items = [];
  for (const line of take((other) => isItem(other) || inside.test(other))) {
    if (isItem(line)) items.push([line.replace(ITEM, "$3").replace(/^\[([ xX])\](?=\s)/, (_, sign) => (sign === " " ? "☐" : "☑"))]);
    else items.at(-1)?.push(line.replace(inside, ""));
  }
  const children = items.map((lines) => {
    const [only, ...others] = nodesOf(lines.join("\n"), depth + 1);
    return /** @type {Node} */ (["li", {}, only?.[0] === "p" ? [.../** @type {any} */ (only)[2], ...others] : only ? [only, ...others] : []]);
  });
  return isOrdered ? ["ol", { start: String(parseInt(mark, 10)) }, children] : ["ul", {}, children];
}

/** A row of a table. @param {string} line @param {"th" | "td"} tag @returns {Node} */
function rowOf(line, tag) {
  const cells = line.trim().replace(/^\|/, "").split(/(?<!\\)\|/);
  if (cells.length > 1 && cells.at(-1)?.trim() === "") cells.pop();
  return ["tr", {}, cells.map((cell) => [tag, {}, inlineOf(cell.trim())])];
}

/** What is inside of a line. @param {string} line @returns {Node[]} */
function inlineOf(line) {
  /** @type {Node[]} */
  const nodes = [];
  let end = 0;
  for (const found of line.matchAll(INLINE)) {
    const [all, escaped, code, label, href, strong, del, star, em, address] = found;
    if (found.index > end) nodes.push(line.slice(end, found.index));
    end = found.index + all.length;
    if (escaped) nodes.push(escaped);
    else if (code) nodes.push(["code", {}, [code]]);
    else if (href || address) nodes.push(["a", { href: href ?? address }, [label ?? address]]);
    else if (strong) nodes.push(["strong", {}, inlineOf(strong)]);
    else if (del) nodes.push(["del", {}, inlineOf(del)]);
    else nodes.push(["em", {}, inlineOf(star ?? em)]);
  }
  if (end < line.length) nodes.push(line.slice(end));
  return nodes;
}

/** @param {readonly Node[]} nodes @returns {unknown[]} */
function elementsOf(nodes) {
  return nodes.map((node) => {
    if (typeof node === "string") return node.split("\n").map(formatName).join("\n");
    const [tag, { href, start }, children] = node;
    const props = href ? { href, title: formatName(href), target: "_blank", rel: "noopener noreferrer nofollow" } : { start };
    return h(tag, props, .../** @type {any[]} */ (elementsOf(children)));
  });
}
