/**
 * The scene: nested boxes and the lines between them, in the order in which they are painted. Pure
 * functions; fetching, layout and text measurement are passed in.
 */

import { plural } from "tbcore/format.js";
import { findAuxiliary } from "./auxiliary-nodes.js";
import { lastPart } from "./paths.js";

/**
 * @typedef {import("./types.js").Scope} Scope
 * @typedef {import("./types.js").Job} Job
 * @typedef {import("./types.js").Layout} Layout
 *
 * @typedef {object} Box
 * @property {"box"} type
 * @property {string} name  full name; unique
 * @property {string} label
 * @property {string} sub  a second line; "" for none
 * @property {number} textWidth  of the label
 * @property {import("./types.js").Kind} kind
 * @property {string} op
 * @property {number} nodes
 * @property {string} device
 * @property {number} structure  equal for boxes of equal structure; 0 if no other box is alike
 * @property {number | null} computeMicros
 * @property {number | null} bytes
 * @property {number} x  left
 * @property {number} y  top
 * @property {number} width
 * @property {number} height
 * @property {number} depth  0 for children of the whole graph
 * @property {boolean} open
 * @property {boolean} auxiliary
 * @property {number} numHidden  number of edges that are drawn only on selection or hover
 * @property {string} message  why an open scope cannot be drawn; "" if it is
 *
 * @typedef {object} Line
 * @property {"line"} type
 * @property {string} from  full name
 * @property {string} to
 * @property {number[]} points  x, y, x, y and so on
 * @property {number} width
 * @property {boolean} control
 * @property {string} label
 * @property {boolean} arrow  whether it ends at its target, not at the border of a scope
 * @property {boolean} hidden  drawn only while one of its ends is selected or hovered
 *
 * @typedef {object} Rule  separates the main graph from the auxiliary nodes
 * @property {"rule"} type
 * @property {number} x
 * @property {number} y
 * @property {number} height
 *
 * @typedef {Box | Line | Rule} Item
 *
 * @typedef {object} Scene
 * @property {Item[]} items  in painting order
 * @property {Map<string, Box>} boxes  by name; a box precedes the boxes inside it
 * @property {number} width
 * @property {number} height
 * @property {string} message  why the graph cannot be drawn; "" if it is
 *
 * @typedef {object} Choices  what the user has chosen
 * @property {ReadonlySet<string>} open  names of open scopes
 * @property {ReadonlySet<string>} movedToMain  names of nodes that the user moved to the main graph
 * @property {ReadonlySet<string>} movedToAuxiliary  names of nodes that the user made auxiliary
 *
 * @typedef {object} SceneTools  functions that a scene is made with
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
export const MAX_EDGES = 3000;
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
/** Distance between a box and a line that is routed around it. */
const DETOUR_PX = 14;
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
 * @typedef {object} Pair  all edges from one child to another
 * @property {number} from  index of a child
 * @property {number} to  index of a child
 * @property {number} count  of tensors
 * @property {boolean} control
 * @property {string} shape
 */

/**
 * Fetches and lays out all open scopes.
 * @param {Choices} choices
 * @param {SceneTools} tools
 * @returns {Promise<Scene>}
 */
export async function makeScene(choices, tools) {
  const root = await layOutScope("", "scope", choices, tools, () => false);
  /** @type {Scene} */
  const scene = { items: [], boxes: new Map(), width: root.width, height: root.height, message: root.message };
  /** @type {Line[]} */
  const hiddenLines = [];
  addToScene(scene, root, 0, 0, 0, hiddenLines);
  for (const line of hiddenLines) {
    const [from, to] = [scene.boxes.get(line.from), scene.boxes.get(line.to)];
    if (from && to) scene.items.push({ ...line, points: sideToSide(from, to) });
  }
  return scene;
}

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
async function layOutScope(path, pathKind, choices, tools, isAuxiliaryOutside) {
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
  const sizes = name.map((_, row) => {
    const size = sizeOf(scope, row, tools.measure);
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
 * @param {SceneTools["measure"]} measure
 */
function sizeOf({ children }, row, measure) {
  const isOp = children.kind[row] === "op";
  const label = shorten(lastPart(children.name[row]), measure);
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

/**
 * Adds the contents of a scope to the scene.
 * @param {Scene} scene
 * @param {ScopeLayout} scopeLayout
 * @param {number} left
 * @param {number} top
 * @param {number} depth
 * @param {Line[]} hiddenLines  receives the lines that have no port; their points are set later
 */
function addToScene(scene, scopeLayout, left, top, depth, hiddenLines) {
  const { scope, layout, auxiliary, inner, sizes, pairs } = scopeLayout;
  if (!layout) return;
  const { name } = scope.children;
  const numHidden = new Array(name.length).fill(0);
  const boxes = name.map((_, row) => boxOf(scopeLayout, row, left + layout.x[row], top + layout.y[row], depth));

  // 1. The border of the auxiliary nodes, and lines between children.
  if (layout.auxiliary !== null) scene.items.push({ type: "rule", x: left + layout.auxiliary, y: top, height: layout.height });
  pairs.forEach((pair, index) => {
    const { from, to } = pair;
    const points = layout.edges[index];
    if (!points) {
      numHidden[from]++;
      numHidden[to]++;
    }
    const path = points ? shifted(points, left, top) : sideToSide(boxes[from], boxes[to]);
    const [source, target] = [inner.get(from), inner.get(to)];
    if (points && source) connectToPort(path, "start", portX(source, "outs", name[to], boxes[from]), boxes[from]);
    const end = target ? portX(target, "ins", name[from], boxes[to]) : null;
    if (points) connectToPort(path, "end", end, boxes[to]);
    scene.items.push(lineOf(pair, name[from], name[to], path, { hidden: !points, arrow: end === null }));
  });
  // 2. Lines between ports and children.
  for (const kind of /** @type {const} */ (["ins", "outs"])) {
    scopeLayout[kind].forEach((port, index) => {
      const { x, lines } = layout[kind][index];
      lines.forEach((points, i) => {
        const child = port.children[i];
        const row = port.rows[i];
        const { count, control, shape } = scope[kind];
        const path = shifted(points, left, top);
        const content = inner.get(child);
        const box = boxes[child];
        const [outside] = port.outside;
        const end = content && kind === "ins" ? portX(content, "ins", outside, box) : null;
        // Extend the line to the border of the surrounding box.
        if (kind === "ins") {
          path.unshift(left + x, top + layout.height + SIZES.band + SIZES.pad);
          if (end !== null) connectToPort(path, "end", end, box);
        } else {
          path.push(left + x, top - SIZES.band - SIZES.header);
          if (content) connectToPort(path, "start", portX(content, "outs", outside, box), box);
        }
        const pair = { from: child, to: child, count: count[row], control: control[row], shape: shape[row] };
        const ends = kind === "ins" ? [outside, name[child]] : [name[child], outside];
        const arrow = kind === "ins" && end === null;
        scene.items.push({ ...lineOf(pair, ends[0], ends[1], path, { hidden: false, arrow }), label: "" });
      });
    });
  }
  // 3. Lines without a port, which are positioned after all boxes are known.
  for (const { kind, row } of scopeLayout.hiddenEdges) {
    const { child, outside, count, control, shape } = scope[kind];
    numHidden[child[row]]++;
    const pair = { from: child[row], to: child[row], count: count[row], control: control[row], shape: shape[row] };
    const ends = kind === "ins" ? [outside[row], name[child[row]]] : [name[child[row]], outside[row]];
    hiddenLines.push(lineOf(pair, ends[0], ends[1], [], { hidden: true, arrow: true }));
  }
  // 4. Boxes, and the contents of open ones.
  boxes.forEach((box, row) => {
    box.numHidden = auxiliary[row] ? 0 : numHidden[row];
    scene.items.push(box);
    scene.boxes.set(box.name, box);
    const content = inner.get(row);
    if (!content) return;
    const contentLeft = box.x + (sizes[row].width - content.width) / 2;
    addToScene(scene, content, contentLeft, box.y + contentTop(content), depth + 1, hiddenLines);
  });
}

/** Distance from the top of an open box to its content. @param {ScopeLayout} content */
function contentTop(content) {
  return SIZES.header + (content.outs.length > 0 ? SIZES.band : 0);
}

/**
 * The box of a child.
 * @param {ScopeLayout} scopeLayout
 * @param {number} row
 * @param {number} x
 * @param {number} y
 * @param {number} depth
 * @returns {Box}
 */
function boxOf({ scope: { children }, sizes, auxiliary, inner }, row, x, y, depth) {
  return {
    type: "box",
    name: children.name[row],
    ...sizes[row],
    kind: children.kind[row],
    op: children.op[row],
    nodes: children.nodes[row],
    device: children.device[row],
    structure: children.structure[row],
    computeMicros: children.compute_us[row],
    bytes: children.bytes[row],
    x,
    y,
    depth,
    open: inner.has(row),
    auxiliary: auxiliary[row],
    numHidden: 0,
    message: inner.get(row)?.message ?? "",
  };
}

/**
 * The line for a pair of children.
 * @param {Pair} pair
 * @param {string} from
 * @param {string} to
 * @param {number[]} points
 * @param {{ hidden: boolean, arrow: boolean }} how
 * @returns {Line}
 */
function lineOf(pair, from, to, points, how) {
  return { type: "line", from, to, points, width: widthOf(pair), control: pair.control, label: labelOf(pair), ...how };
}

/** The text on a line. @param {Pair} pair */
export function labelOf({ count, control, shape }) {
  if (control) return "";
  if (shape !== "") return `${shape.replaceAll("x", "×")}${count > 1 ? ` (${count})` : ""}`;
  return count > 1 ? `${count} tensors` : "";
}

/**
 * The weight of a pair in the layout. It grows with the logarithm of the number of tensors; control
 * edges have the lowest weight.
 * @param {Pair} pair
 */
function weightOf({ count, control }) {
  return control ? 1 : 2 + Math.round(Math.log2(count));
}

/** The width of a line. It grows with the size and the number of tensors. @param {Pair} pair */
export function widthOf({ count, control, shape }) {
  if (control) return 1;
  const size = shape.split("x").reduce((product, part) => product * (Number(part) || 1), 1);
  return Math.min(9, 1 + 0.25 * Math.log10(size) + Math.log2(count));
}

/**
 * Points moved by an offset.
 * @param {readonly number[]} points
 * @param {number} x
 * @param {number} y
 */
function shifted(points, x, y) {
  return points.map((value, i) => value + (i % 2 === 0 ? x : y));
}

/**
 * The horizontal position of the port for an outside node.
 * @param {ScopeLayout} content
 * @param {"ins" | "outs"} kind
 * @param {string} outside
 * @param {Box} box
 * @returns {number | null} null if there is no such port
 */
function portX(content, kind, outside, box) {
  const index = content[kind].findIndex((port) => port.outside.has(outside));
  if (index < 0 || !content.layout) return null;
  return box.x + (box.width - content.width) / 2 + content.layout[kind][index].x;
}

/**
 * Moves an end of a line to a port. If the line would cross the box on its way to the port, which
 * occurs in cycles, the line is routed around the box.
 * @param {number[]} path
 * @param {"start" | "end"} which
 * @param {number | null} x  of the port; null if there is none
 * @param {Box} box
 */
function connectToPort(path, which, x, box) {
  if (x === null) return;
  const isEnd = which === "end";
  const y = isEnd ? box.y + box.height : box.y;
  const side = isEnd ? 1 : -1;
  // If the neighbouring point of the line is on the box's side of the border, the line would cross
  // the box.
  const [, neighbourY] = path.slice(isEnd ? -4 : 2);
  path.splice(isEnd ? -2 : 0, 2);
  const places = [[x, y]];
  if ((neighbourY - y) * side < 0) {
    const beside = x < box.x + box.width / 2 ? box.x - DETOUR_PX : box.x + box.width + DETOUR_PX;
    const corner = y + side * DETOUR_PX;
    places.push([x, corner], [beside, corner], [beside, neighbourY]);
  }
  if (isEnd) path.push(...places.reverse().flat());
  else path.unshift(...places.flat());
}

/** The points of a line between the facing sides of two boxes. @param {Box} from @param {Box} to */
function sideToSide(from, to) {
  const isRight = to.x + to.width / 2 > from.x + from.width / 2;
  const start = [isRight ? from.x + from.width : from.x, from.y + from.height / 2];
  const end = [isRight ? to.x : to.x + to.width, to.y + to.height / 2];
  const half = (start[0] + end[0]) / 2;
  return [...start, half, start[1], half, end[1], ...end];
}
