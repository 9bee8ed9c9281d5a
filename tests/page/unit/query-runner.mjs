// Answers queries about runs whose facts are those of tests/queries.json, for tests in Python. As a
// program, it reads and writes a line of JSON each: {query, runs, now} or {query, tags}, and
// {matches} with names or {error: {message, at}}.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { isFound, keysOf } from "../../../tbcore/web/lib/queries/evaluation.js";
import { QueryError, nameOrGlob, parseAttribute, parseQuery } from "../../../tbcore/web/lib/queries/syntax.js";
import { isLive } from "../../../tbcore/web/shell/state/tree.js";

/**
 * @typedef {object} Facts  of a run; times in seconds, non-finite numbers as texts
 * @property {string} name
 * @property {Record<string, any>} hparams
 * @property {Record<string, [step: number, value: any][]>} scalars
 * @property {string[]} tags  that have no scalars
 * @property {number | null} first
 * @property {number | null} last
 * @property {number | null} modified
 * @property {number | null} last_step
 */

/** @param {{ query: string, runs: Facts[], now: number }} question */
export function answer({ query, runs, now }) {
  return orMistake(() => {
    const node = parseQuery(query, "runs");
    const lookups = new Map(keysOf(node).map((key) => [key, lookupOf(key)]));
    return runs.filter((run) => isFound(node, run.name, (key) => lookups.get(key)?.(run, now))).map(({ name }) => name);
  });
}

/** @param {{ query: string, tags: string[] }} question */
export function answerForTags({ query, tags }) {
  return orMistake(() => {
    const node = parseQuery(query, "tags");
    return tags.filter((tag) => isFound(node, tag, () => null));
  });
}

/** @param {() => string[]} find */
function orMistake(find) {
  try {
    return { matches: find() };
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return { error: { message: error.message, at: error.at } };
  }
}

/** What the server sends for a key. @param {string} key @returns {(run: Facts, now: number) => any} */
function lookupOf(key) {
  if (key === "is:live") return ({ last, modified }, now) => isLive({ start: null, last, modified, nonfinite: undefined }, now);
  if (key === "has:nan") return ({ scalars }) => Object.values(scalars).some((points) => points.some(([, value]) => !Number.isFinite(value)));
  if (key.startsWith("has:")) {
    const node = nameOrGlob(key.slice(4));
    const isTag = (/** @type {string} */ tag) => (node.kind === "word" ? tag.toLowerCase() === node.word : isFound(node, tag, () => null));
    return ({ scalars, tags }) => [...Object.keys(scalars), ...tags].some(isTag);
  }
  const { kind, name, stat, step } = parseAttribute(key);
  if (kind === "hparam") return ({ hparams }) => hparams[nameIn(hparams, name)];
  if (kind === "fact") {
    if (name === "step") return ({ last_step }) => last_step;
    if (name === "age") return ({ last }, now) => (last === null ? null : now - last);
    return ({ first, last }) => (first === null || last === null ? null : last - first);
  }
  return ({ scalars }) => {
    const points = (scalars[nameIn(scalars, name)] ?? []).map(([at, value]) => [at, Number(value)]);
    if (stat === "last") return points.at(-1)?.[1];
    if (stat === "at") return points.findLast(([at]) => at <= /** @type {number} */ (step))?.[1];
    const values = points.map(([, value]) => Math.fround(value)).filter(Number.isFinite);
    return values.length === 0 ? null : Math[/** @type {"min" | "max"} */ (stat)](...values);
  };
}

/** The name that is meant: the same, or else the first that differs only in case. @param {object} named @param {string} name */
function nameIn(named, name) {
  if (Object.hasOwn(named, name)) return name;
  const lower = name.toLowerCase();
  return Object.keys(named).find((each) => each.toLowerCase() === lower) ?? "\0";
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for await (const line of createInterface({ input: process.stdin })) {
    const question = JSON.parse(line);
    process.stdout.write(`${JSON.stringify("tags" in question ? answerForTags(question) : answer(question))}\n`);
  }
}
