/** Links of before: their filters were regular expressions, and so are those of TensorBoard's links. Loaded for such links. */

/** @import { Address } from "../address.js" */

/** The names that older links, and those of TensorBoard, had for queries: all were regular expressions. */
const OLD_NAMES = /** @type {const} */ ({ runFilter: "query", regexInput: "query", tagFilter: "tagQuery" });

/** The address with queries in place of the regular expressions of older links and of TensorBoard. @param {Address} address @returns {Address} */
export function withQueries({ tab, values }) {
  const { runFilter, regexInput, tagFilter, ...rest } = values;
  for (const [name, text] of Object.entries({ runFilter, regexInput, tagFilter })) {
    if (text) rest[OLD_NAMES[/** @type {keyof typeof OLD_NAMES} */ (name)]] ??= expressionQuery(text);
  }
  return { tab, values: rest };
}

/** The query that finds what a regular expression matches. It is in quotes if it would end too early without them. @param {string} expression */
export function expressionQuery(expression) {
  let depth = 0;
  const closesMore = [...expression.replace(/\\[^]/g, "")].some((char) => (depth += Number(char === "(") - Number(char === ")")) < 0);
  const isCut = closesMore || /[\s"]/.test(expression);
  return isCut ? `re:"${expression.replaceAll('"', '""')}"` : `re:${expression}`;
}
