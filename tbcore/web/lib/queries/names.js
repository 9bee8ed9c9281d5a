/** Names of attributes and values as queries have them; tbcore/queries/syntax.py reads them. Pure functions, no DOM. */

/** What a text of an attribute names: a hyperparameter, a value of a tag, or the fact `step`, `age` or `took`. @typedef {{ kind: "hparam" | "value" | "fact", name: string, stat: string | null, step: number | null }} Attribute */

/** The statistics of the values of a tag, as the server reads them, and what the values are called: of one run, and of several. @type {ReadonlyMap<string, readonly [one: string, several: string]>} */
export const STATISTICS = new Map([
  ["last", ["Last value", "last values"]],
  ["min", ["Lowest value", "lowest values"]],
  ["max", ["Highest value", "highest values"]],
  ["nan", ["First step that is not finite", "first steps that are not finite"]],
  ["at", ["Value", "values"]],
  ["change", ["Change", "changes"]],
]);
/** Those with a step in parentheses. */
const WITH_STEP = ["at", "change"];

/** What is typed for each statistic, up to its step. */
export function typedStatistics() {
  return [...STATISTICS.keys()].map((name) => (WITH_STEP.includes(name) ? `${name}(` : name));
}

/** Names of facts. A hyperparameter with such a name must be in quotes. */
export const FACTS = ["step", "age", "took"];
/** Matches a name that must be in quotes. */
const NEEDS_QUOTES = /[\s|()":=!<>*?]|^-|^$/u;
const NUMBER = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|([+-]?inf)(?:inity)?|nan)$/i;

/** An attribute as a text, with quotes where it needs them. @param {Pick<Attribute, "kind" | "name"> & Partial<Attribute>} attribute */
export function formatAttribute({ kind, name, stat, step }) {
  const isLikeOther = kind === "hparam" ? FACTS.includes(name.toLowerCase()) : kind === "value" && name.toLowerCase() === "re";
  const text = isLikeOther || NEEDS_QUOTES.test(name) ? quoted(name) : name;
  return text + (stat ? `:${stat}` : "") + (step == null ? "" : `(${step})`);
}

/** A text in quotes. @param {string} text */
export function quoted(text) {
  return `"${text.replaceAll('"', '""')}"`;
}

/** A text that is the same for values that `=` takes for equal, but for their case: `group_text` of the server. @param {string | number | boolean} value */
export function groupText(value) {
  return String(typeof value === "string" ? (readNumber(value) ?? value) : value);
}

/**
 * Parses a number, such as `1`, `.9`, `1e-3`, `inf` or `nan`; null if the text is not a number.
 * @param {string} text
 */
export function readNumber(text) {
  const found = NUMBER.exec(text);
  if (!found) return null;
  if (!found[1]) return Number(text);
  return found[1][0] === "-" ? -Infinity : Infinity;
}
