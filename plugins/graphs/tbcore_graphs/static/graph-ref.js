/**
 * Which graph is shown: its id, and the query parameters for requests about it. Pure functions.
 */

import { scopeOf } from "./paths.js";
import { MAX_CHILDREN } from "./scope-layout.js";

/**
 * @typedef {import("./types.js").Overview} Overview
 *
 * @typedef {object} GraphRef  a graph, and the metadata that goes with it
 * @property {string} run
 * @property {string} graph  its id
 * @property {string} tag  of run metadata; "" if there is none
 */

/** The id of a run's main graph. */
const MAIN = "graph";

/**
 * The graphs of a run and of the functions in their libraries; `of` is the graph of the library.
 * @param {Overview} overview
 */
export function graphChoices({ graphs }) {
  const functions = graphs.flatMap((graph) =>
    graph.functions.map((name) => ({ id: functionGraph(graph.id, name), title: name, of: graph.id })),
  );
  return [...graphs.map(({ id, title }) => ({ id, title, of: null })), ...functions];
}

/** The id of the graph of a library function. @param {string} graph @param {string} name */
function functionGraph(graph, name) {
  return graph === MAIN ? `function:${name}` : `${graph}/function:${name}`;
}

/** The query parameters that identify a graph. @param {GraphRef} graphRef */
export function paramsOf({ run, graph, tag }) {
  return { run, graph, tag: tag || undefined };
}

/**
 * The query parameters that select the children of a scope or series.
 * @param {string} name
 * @param {import("./types.js").Kind} kind
 */
export function childrenOf(name, kind) {
  const isSeries = kind === "series";
  return { path: isSeries ? scopeOf(name) : name, series: isSeries ? name : undefined, limit: MAX_CHILDREN };
}

/** A text that identifies a graph. @param {GraphRef} graphRef */
export function keyOf({ run, graph, tag }) {
  return JSON.stringify([run, graph, tag]);
}

/**
 * A text that changes when the graphs of a run change. It omits the generation, which changes with
 * every logged point.
 * @param {Overview | null} overview
 */
export function contentOf(overview) {
  return JSON.stringify([overview?.version, overview?.metadata_tags]);
}
