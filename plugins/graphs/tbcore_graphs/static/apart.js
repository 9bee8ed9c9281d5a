/**
 * Which children of a scope are drawn apart, at its right: those that would only hide the flow of data. Pure.
 */

import { lastPart } from "./paths.js";

/** @typedef {import("./types.js").Scope} Scope */

/** So many neighbours are usual, however few the others have. */
const LEAST_HUB = 6;
/** Below so many children nothing hides anything. */
const LEAST_CHILDREN = 5;

/**
 * Auxiliary are: what has no edges but control edges, what only saves, restores, sets up or sums up, and what far more others
 * are connected with than is usual in the scope, such as a global step or a switch between training and testing.
 * @param {Scope} scope
 * @param {ReadonlySet<string>} broughtIn  full names that the reader wants in the flow
 * @param {ReadonlySet<string>} setApart  full names that the reader wants apart
 * @returns {boolean[]} of each child
 */
export function findApart(scope, broughtIn, setApart) {
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
  const usual = usualDegrees(sources, targets);
  return name.map((full, child) => {
    if (broughtIn.has(full)) return false;
    if (setApart.has(full)) return true;
    if (name.length < LEAST_CHILDREN) return false;
    if (hasControl[child] && !hasData[child]) return true;
    if (op[child] === "NoOp" && !hasData[child]) return true;
    if (SERVICE.test(lastPart(full)) || SERVICE_OPS.has(op[child])) return true;
    // A hub has many on one side and few on the other: a layer that joins many is part of the flow.
    const [ins, outs] = [sources[child].size, targets[child].size];
    return outs > usual || (ins > usual && outs === 0 && !scope.outs.child.includes(child));
  });
}

const SERVICE_OPS = new Set(["IsVariableInitialized", "VarIsInitializedOp", "Assert"]);
const SERVICE = /^(save(_\d+)?|init(_\d+)?|init_\w+|report_uninitialized\w*|global_step(_\d+)?|keras_learning_phase|Merge(Summary|AllSummaries).*|zeros_like_init)$/;

/**
 * More neighbours on one side than this are unusual: beyond the upper quartile by three times what the middle half spans.
 * @param {readonly Set<number>[]} sources
 * @param {readonly Set<number>[]} targets
 */
function usualDegrees(sources, targets) {
  const degrees = [...sources, ...targets].map((set) => set.size).filter((size) => size > 0).sort((a, b) => a - b);
  if (degrees.length === 0) return LEAST_HUB;
  const quartile = (/** @type {number} */ share) => degrees[Math.min(degrees.length - 1, Math.floor(degrees.length * share))];
  return Math.max(LEAST_HUB, quartile(0.75) + 3 * (quartile(0.75) - quartile(0.25)));
}
