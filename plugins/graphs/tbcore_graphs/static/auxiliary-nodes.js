/**
 * Auxiliary nodes: children of a scope that are drawn at its right, because they would clutter the
 * flow of data.
 */

import { lastPart } from "./paths.js";

/** @typedef {import("./types.js").Scope} Scope */

/** A node with at most this many neighbours is never a hub. */
const MAX_ORDINARY_NEIGHBOURS = 6;
/** In a scope with fewer children, none is auxiliary by default. */
const MIN_CHILDREN = 5;

/**
 * Finds the auxiliary children of a scope. A child is auxiliary if it has only control edges, if it
 * only saves, restores, initializes or summarizes, or if it is a hub: a node with far more
 * neighbours than is usual in the scope, such as a global step or a switch between training and
 * testing.
 * @param {Scope} scope
 * @param {ReadonlySet<string>} movedToMain  full names that the user has moved to the main graph
 * @param {ReadonlySet<string>} movedToAuxiliary  full names that the user has made auxiliary
 * @returns {boolean[]} one per child
 */
export function findAuxiliary(scope, movedToMain, movedToAuxiliary) {
  const { name, op } = scope.children;
  const sources = name.map(() => new Set());
  const targets = name.map(() => new Set());
  const hasData = name.map(() => false);
  const hasControl = name.map(() => false);
  const { from, to, control } = scope.edges;
  from.forEach((source, edge) => {
    const target = to[edge];
    if (source === target) return;
    for (const child of [source, target]) (control[edge] ? hasControl : hasData)[child] = true;
    targets[source].add(target);
    sources[target].add(source);
  });
  for (const crossings of [scope.ins, scope.outs]) {
    crossings.child.forEach((child, row) => void ((crossings.control[row] ? hasControl : hasData)[child] = true));
  }
  const usual = usualNumNeighbours(sources, targets);
  return name.map((full, child) => {
    if (movedToMain.has(full)) return false;
    if (movedToAuxiliary.has(full)) return true;
    if (name.length < MIN_CHILDREN) return false;
    if (hasControl[child] && !hasData[child]) return true;
    if (op[child] === "NoOp" && !hasData[child]) return true;
    if (AUXILIARY_NAMES.test(lastPart(full)) || AUXILIARY_OPS.has(op[child])) return true;
    // A hub has many targets, or many sources and no target: a layer that joins many inputs and
    // passes the result on is not a hub.
    const [ins, outs] = [sources[child].size, targets[child].size];
    return outs > usual || (ins > usual && outs === 0 && !scope.outs.child.includes(child));
  });
}

/** Ops and names of nodes that are auxiliary in every scope. */
const AUXILIARY_OPS = new Set(["IsVariableInitialized", "VarIsInitializedOp", "Assert"]);
const AUXILIARY_NAMES = /^(save(_\d+)?|init(_\d+)?|init_\w+|report_uninitialized\w*|global_step(_\d+)?|keras_learning_phase|Merge(Summary|AllSummaries).*|zeros_like_init)$/;

/**
 * The largest usual number of neighbours on one side: the upper quartile plus three times the
 * interquartile range.
 * @param {readonly Set<number>[]} sources
 * @param {readonly Set<number>[]} targets
 */
function usualNumNeighbours(sources, targets) {
  const degrees = [...sources, ...targets].map((set) => set.size).filter((size) => size > 0).sort((a, b) => a - b);
  if (degrees.length === 0) return MAX_ORDINARY_NEIGHBOURS;
  const quartile = (/** @type {number} */ share) => degrees[Math.min(degrees.length - 1, Math.floor(degrees.length * share))];
  return Math.max(MAX_ORDINARY_NEIGHBOURS, quartile(0.75) + 3 * (quartile(0.75) - quartile(0.25)));
}
