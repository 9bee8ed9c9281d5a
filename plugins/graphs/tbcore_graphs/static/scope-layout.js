/**
 * The layout of nested scopes: fetches the open scopes, finds the sizes of boxes and the points
 * where edges cross borders, and lays out the inner scopes before the outer ones.
 */

import { commonLengths, formatName, plural } from "tbcore/format.js";
import { findAuxiliary } from "./auxiliary-nodes.js";
import { labelOf, weightOf } from "./lines.js";
import { lastPart } from "./paths.js";

/**
 * @typedef {import("./types.js").Scope} Scope
 * @typedef {import("./types.js").Job} Job
 * @typedef {import("./types.js").Layout} Layout
 *
 * @typedef {object} Choices  what the user has chosen
 * @property {ReadonlySet<string>} open  names of open scopes
 * @property {ReadonlySet<string>} movedToMain  names of nodes that the user moved to the main graph
 * @property {ReadonlySet<string>} movedToAuxiliary  names of nodes that the user made auxiliary
 *
 * @typedef {object} SceneTools  functions that scopes are fetched and laid out with
 * @property {(name: string, kind: import("./types.js").Kind) => Promise<Scope>} fetchScope
 *   fetches a scope or series
 * @property {(job: Job) => Promise<Layout>} layOut
 * @property {(text: string, font: "label" | "small") => number} measure  the width of a text
 */

/**
 * Font sizes and lengths, in pixels of the drawing. `band` is the height of the strip along the
 * border of an open box that has ports.
 */
export const SIZES = { label: 12, small: 10, header: 26, pad: 14, band: 4, message: 300 };

/**
 * Maximum number of children of a scope that is drawn. With more, layout would take minutes, and
 * the drawing would be unreadable.
 */
export const MAX_CHILDREN = 600;
/** Maximum number of edges between the children of a scope that is drawn. */
const MAX_EDGES = 3000;
/** Maximum number of ports on one side of a scope. Further outside nodes share the last port. */
const MAX_PORTS = 12;
/**
 * Maximum number of lines from a port to children. If an outside node is connected to more
 * children, its edges are hidden, since they would not show the flow of data.
 */
const MAX_PORT_LINES = 6;
/**
 * Maximum number of edges of a scope in which layout reserves space for edge labels. With more, the
 * scope would become too wide.
 */
const MAX_EDGES_WITH_LABEL_SPACE = 30;
/** Maximum width of a box's label; longer labels are shortened. */
const MAX_LABEL_WIDTH_PX = 168;

/**
 * @typedef {object} Port  a point on the border of a scope where edges cross it
 * @property {Set<string>} outside  names of the outside nodes
 * @property {number[]} children  indexes of the children that the port is connected to
 * @property {number[]} rows  for each of these children, its row in the scope's crossings
 */

/**
 * An open scope with its layout and everything inside it.
 * @typedef {object} ScopeLayout
 * @property {Scope} scope
 * @property {Layout | null} layout
 * @property {string} message  why there is no layout
 * @property {boolean[]} auxiliary
 * @property {Map<number, ScopeLayout>} inner
 * @property {{ label: string, sub: string, textWidth: number, width: number, height: number }[]} sizes
 * @property {Pair[]} pairs
 * @property {Port[]} ins
 * @property {Port[]} outs
 * @property {{ kind: "ins" | "outs", row: number }[]} hiddenEdges  edges across the border that
 *   have no port
 * @property {number} width
 * @property {number} height
 *
 * @typedef {import("./lines.js").Tensors & { from: number, to: number }} Pair  all edges from one child to
 *   another; `from` and `to` are indexes of children
 */

/**
 * Fetches and lays out a scope and all open scopes inside it.
 * @param {string} path
 * @param {import("./types.js").Kind} pathKind
 * @param {Choices} choices
 * @param {SceneTools} tools
 * @param {(name: string) => boolean} isAuxiliaryOutside  whether a node outside this scope is
 *   auxiliary
 * @returns {Promise<ScopeLayout>}
 */
export async function layOutScope(path, pathKind, choices, tools, isAuxiliaryOutside) {
  // 1. Fetch the scope, and find its auxiliary children.
  const scope = await tools.fetchScope(path, pathKind);
  const { name, kind } = scope.children;
  const message = reasonNotDrawn(scope);
  if (message) {
    const empty = { layout: null, auxiliary: [], inner: new Map(), sizes: [], pairs: [], ins: [], outs: [], hiddenEdges: [] };
    return { scope, message, ...empty, width: SIZES.message, height: 70 };
  }
  const auxiliary = findAuxiliary(scope, choices.movedToMain, choices.movedToAuxiliary);
  const rows = new Map(name.map((full, row) => [full, row]));
  const isAuxiliary = (/** @type {string} */ full) => {
    const row = rows.get(full);
    return row === undefined ? isAuxiliaryOutside(full) : auxiliary[row];
  };
  // 2. Lay out the open children, because the sizes of their boxes depend on their contents.
  const opened = name.flatMap((full, row) => (kind[row] !== "op" && choices.open.has(full) ? [row] : []));
  const inner = new Map(await Promise.all(opened.map(async (row) => /** @type {const} */ ([row, await layOutScope(name[row], kind[row], choices, tools, isAuxiliary)]))));
  const labels = labelsOf(name, tools.measure);
  const sizes = name.map((_, row) => {
    const size = sizeOf(scope, row, labels[row], tools.measure);
    const content = inner.get(row);
    if (!content) return size;
    const { width, height } = content;
    const bands = (content.ins.length > 0 ? SIZES.band : 0) + (content.outs.length > 0 ? SIZES.band : 0);
    return {
      ...size,
      width: Math.max(width + 2 * SIZES.pad, tools.measure(size.label, "label") + 64),
      height: height + SIZES.header + SIZES.pad + bands,
    };
  });
  // 3. Lay out this scope.
  const pairs = pairsOf(scope);
  const reservesLabels = pairs.length <= MAX_EDGES_WITH_LABEL_SPACE;
  /** @type {Job} */
  const job = {
    width: sizes.map(({ width }) => width),
    height: sizes.map(({ height }) => height),
    auxiliary,
    edges: pairs.map((pair) => [pair.from, pair.to, weightOf(pair), reservesLabels ? Math.ceil(tools.measure(labelOf(pair), "small")) : 0]),
    ins: [],
    outs: [],
  };
  /** @type {ScopeLayout["hiddenEdges"]} */
  const hiddenEdges = [];
  const ins = portsOf(scope.ins, auxiliary, isAuxiliaryOutside, (row) => hiddenEdges.push({ kind: "ins", row }));
  const outs = portsOf(scope.outs, auxiliary, isAuxiliaryOutside, (row) => hiddenEdges.push({ kind: "outs", row }));
  job.ins = ins.map(({ children }) => children);
  job.outs = outs.map(({ children }) => children);
  const layout = await tools.layOut(job);
  return { scope, layout, message, auxiliary, inner, sizes, pairs, ins, outs, hiddenEdges, width: layout.width, height: layout.height };
}

/** Why a scope cannot be drawn; "" if it can. @param {Scope} scope */
function reasonNotDrawn({ children, edges, total }) {
  const tooMany = (/** @type {number} */ count, /** @type {string} */ what) => `${count.toLocaleString("en")} ${what} in one scope: too many to draw`;
  if (total > MAX_CHILDREN) return tooMany(total, "nodes");
  if (edges.from.length > MAX_EDGES) return tooMany(edges.from.length, "edges");
  return children.name.length === 0 ? "This graph was logged without nodes" : "";
}

/**
 * The texts and the size of a closed box.
 * @param {Scope} scope
 * @param {number} row
 * @param {string} label
 * @param {SceneTools["measure"]} measure
 */
function sizeOf({ children }, row, label, measure) {
  const isOp = children.kind[row] === "op";
  const op = children.op[row];
  // MatMul_1 does not need a second line with MatMul.
  const isRedundant = label.replace(/_\d+$/, "") === op;
  const sub = isOp ? (isRedundant ? "" : shorten(op, measure)) : plural(children.nodes[row], "node");
  const text = Math.max(measure(label, "label"), measure(sub, "small"));
  // The size of a scope's box grows with the logarithm of its number of nodes.
  const more = isOp ? 0 : Math.round(8 * Math.log10(children.nodes[row]));
  return { label, sub, textWidth: measure(label, "label"), width: Math.ceil(Math.max(isOp ? 44 : 76, text + (isOp ? 24 : 40)) + more), height: (sub === "" ? 24 : 36) + more };
}

/**
 * The labels of boxes. Those that are too long lose what they have in common, and then their middle.
 * @param {readonly string[]} names  full names of siblings
 * @param {SceneTools["measure"]} measure
 */
function labelsOf(names, measure) {
  const labels = names.map((name) => formatName(lastPart(name)));
  const isLong = labels.map((label) => measure(label, "label") > MAX_LABEL_WIDTH_PX);
  const [start, end] = commonLengths(labels.filter((_, row) => isLong[row]));
  const partOf = (/** @type {string} */ label) => `${start > 0 ? "…" : ""}${label.slice(start, label.length - end)}${end > 0 ? "…" : ""}`;
  return labels.map((label, row) => (isLong[row] ? shorten(partOf(label), measure) : label));
}

/**
 * Cuts the middle out of a long name.
 * @param {string} label
 * @param {SceneTools["measure"]} measure
 */
function shorten(label, measure) {
  if (measure(label, "label") <= MAX_LABEL_WIDTH_PX) return label;
  let kept = Math.max(6, Math.floor((label.length * MAX_LABEL_WIDTH_PX) / measure(label, "label")) - 1);
  const cut = () => `${label.slice(0, Math.ceil(kept / 2))}…${label.slice(label.length - Math.floor(kept / 2))}`;
  while (kept > 6 && measure(cut(), "label") > MAX_LABEL_WIDTH_PX) kept--;
  return cut();
}

/**
 * Combines all edges from one child to another. If there are data and control edges, only the data
 * edges count.
 * @param {Scope} scope
 * @returns {Pair[]}
 */
function pairsOf({ edges, children }) {
  /** @type {Map<number, Pair>} */
  const pairs = new Map();
  edges.from.forEach((from, row) => {
    const to = edges.to[row];
    if (from === to) return;
    const found = { from, to, count: edges.count[row], control: edges.control[row], shape: edges.shape[row] };
    const key = from * children.name.length + to;
    const old = pairs.get(key);
    if (!old) pairs.set(key, found);
    else if (old.control && !found.control) pairs.set(key, { ...found });
    else if (old.control === found.control) {
      old.count += found.count;
      if (old.shape !== found.shape) old.shape = "";
    }
  });
  return [...pairs.values()];
}

/**
 * The ports of a scope: points on its border where edges from or to outside nodes cross. Each
 * outside node has its own port, up to MAX_PORTS.
 * @param {import("./types.js").Crossings} crossings
 * @param {readonly boolean[]} auxiliary
 * @param {(name: string) => boolean} isAuxiliaryOutside
 * @param {(row: number) => void} leaveOut  called with each row that gets no port
 * @returns {Port[]}
 */
function portsOf(crossings, auxiliary, isAuxiliaryOutside, leaveOut) {
  /** @type {Map<string, Port>} */
  const ports = new Map();
  crossings.child.forEach((child, row) => {
    const outside = crossings.outside[row];
    if (auxiliary[child] || isAuxiliaryOutside(outside)) return leaveOut(row);
    const port = ports.get(outside) ?? { outside: new Set([outside]), children: [], rows: [] };
    if (!port.children.includes(child)) {
      port.children.push(child);
      port.rows.push(row);
    }
    ports.set(outside, port);
  });
  const all = [...ports.values()].filter(({ children, rows }) => {
    if (children.length <= MAX_PORT_LINES) return true;
    rows.forEach(leaveOut);
    return false;
  });
  all.sort((a, b) => b.children.length - a.children.length);
  if (all.length <= MAX_PORTS) return all;
  const rest = all.slice(MAX_PORTS - 1);
  /** @type {Port} */
  const shared = { outside: new Set(), children: [], rows: [] };
  for (const port of rest) {
    for (const name of port.outside) shared.outside.add(name);
    port.children.forEach((child, i) => {
      if (shared.children.includes(child)) return;
      shared.children.push(child);
      shared.rows.push(port.rows[i]);
    });
  }
  return [...all.slice(0, MAX_PORTS - 1), shared];
}
