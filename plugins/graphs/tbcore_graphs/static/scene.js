/**
 * The drawing: boxes within boxes and lines between them, in the order in which they are painted. Pure, but for what lays
 * out a scope.
 */

import { plural } from "tbcore/lib/format.js";
import { findApart } from "./apart.js";
import { lastPart } from "./paths.js";

/**
 * @typedef {import("./types.js").Scope} Scope
 * @typedef {import("./types.js").Job} Job
 * @typedef {import("./types.js").Layout} Layout
 *
 * @typedef {object} Box
 * @property {"box"} type
 * @property {string} name  full; unique
 * @property {string} label
 * @property {string} sub  a second line; "" for none
 * @property {number} textWidth  of the label
 * @property {import("./types.js").Kind} kind
 * @property {string} op
 * @property {number} nodes
 * @property {string} device
 * @property {number} structure  0: like no other
 * @property {number | null} computeMicros
 * @property {number | null} bytes
 * @property {number} x  left
 * @property {number} y  top
 * @property {number} width
 * @property {number} height
 * @property {number} depth  0 for children of the whole graph
 * @property {boolean} open
 * @property {boolean} apart
 * @property {number} numHidden  edges to what stands apart, which are not drawn
 * @property {string} message  of an open scope that cannot be drawn
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
 * @property {boolean} hidden  drawn only for one of its ends
 *
 * @typedef {object} Rule  where those begin that stand apart
 * @property {"rule"} type
 * @property {number} x
 * @property {number} y
 * @property {number} height
 *
 * @typedef {Box | Line | Rule} Item
 *
 * @typedef {object} Scene
 * @property {Item[]} items  what comes later is painted over what comes earlier
 * @property {Map<string, Box>} boxes  by name, in the order of the drawing: what is in a box comes after it
 * @property {number} width
 * @property {number} height
 * @property {string} message  why the graph cannot be drawn; "" when it is
 *
 * @typedef {object} Wishes  what the reader has chosen
 * @property {ReadonlySet<string>} open
 * @property {ReadonlySet<string>} broughtIn
 * @property {ReadonlySet<string>} setApart
 *
 * @typedef {object} Means
 * @property {(name: string, kind: import("./types.js").Kind) => Promise<Scope>} fetchScope  of a scope or series
 * @property {(job: Job) => Promise<Layout>} layOut
 * @property {(text: string, font: "label" | "small") => number} measure  widths
 */

/** Pixels. */
export const SIZES = { label: 12, small: 10, header: 26, pad: 14, band: 4, message: 300 };

/** More children of one scope, or more edges between them, are not drawn: it would take minutes, and show nothing. */
export const MAX_CHILDREN = 600;
export const MAX_EDGES = 3000;
/** Ports beyond these share one. */
const MAX_PORTS = 12;
/** What is connected with more children than this says nothing about where data flows. */
const MAX_PORT_LINES = 6;
const MAX_ROOMY_EDGES = 30;
/** How far a line that goes round a box is from it. */
const ROUND = 14;
const MAX_LABEL = 168;

/** @typedef {{ outside: Set<string>, children: number[], rows: number[] }} Port */

/**
 * One open scope with everything in it.
 * @typedef {object} Arranged
 * @property {Scope} scope
 * @property {Layout | null} layout
 * @property {string} message  why there is no layout
 * @property {boolean[]} apart
 * @property {Map<number, Arranged>} inner
 * @property {{ label: string, sub: string, textWidth: number, width: number, height: number }[]} sizes
 * @property {Pair[]} pairs
 * @property {Port[]} ins
 * @property {Port[]} outs
 * @property {{ kind: "ins" | "outs", row: number }[]} quiet  edges across the border that are not drawn
 * @property {number} width
 * @property {number} height
 *
 * @typedef {object} Pair  everything between two children in one direction
 * @property {number} from
 * @property {number} to
 * @property {number} count
 * @property {boolean} control
 * @property {string} shape
 */

/**
 * Fetches and lays out all that is open.
 * @param {Wishes} wishes
 * @param {Means} means
 * @returns {Promise<Scene>}
 */
export async function makeScene(wishes, means) {
  const root = await arrange("", "scope", wishes, means, () => false);
  /** @type {Scene} */
  const scene = { items: [], boxes: new Map(), width: root.width, height: root.height, message: root.message };
  /** @type {Line[]} */
  const quiet = [];
  draw(scene, root, 0, 0, 0, quiet);
  for (const line of quiet) {
    const [from, to] = [scene.boxes.get(line.from), scene.boxes.get(line.to)];
    if (from && to) scene.items.push({ ...line, points: between(from, to) });
  }
  return scene;
}

/**
 * @param {string} path
 * @param {import("./types.js").Kind} pathKind
 * @param {Wishes} wishes
 * @param {Means} means
 * @param {(name: string) => boolean} isApartOutside  whether one that is not in this scope stands apart where it is
 * @returns {Promise<Arranged>}
 */
async function arrange(path, pathKind, wishes, means, isApartOutside) {
  const scope = await means.fetchScope(path, pathKind);
  const { name, kind } = scope.children;
  const message = whyNot(scope);
  if (message) {
    const empty = { layout: null, apart: [], inner: new Map(), sizes: [], pairs: [], ins: [], outs: [], quiet: [] };
    return { scope, message, ...empty, width: SIZES.message, height: 70 };
  }
  const apart = findApart(scope, wishes.broughtIn, wishes.setApart);
  const rows = new Map(name.map((full, row) => [full, row]));
  const isApart = (/** @type {string} */ full) => {
    const row = rows.get(full);
    return row === undefined ? isApartOutside(full) : apart[row];
  };
  const opened = name.flatMap((full, row) => (kind[row] !== "op" && wishes.open.has(full) ? [row] : []));
  const inner = new Map(await Promise.all(opened.map(async (row) => /** @type {const} */ ([row, await arrange(name[row], kind[row], wishes, means, isApart)]))));
  const sizes = name.map((_, row) => {
    const size = sizeOf(scope, row, means.measure);
    const content = inner.get(row);
    if (!content) return size;
    const { width, height } = content;
    const bands = (content.ins.length > 0 ? SIZES.band : 0) + (content.outs.length > 0 ? SIZES.band : 0);
    return {
      ...size,
      width: Math.max(width + 2 * SIZES.pad, means.measure(size.label, "label") + 64),
      height: height + SIZES.header + SIZES.pad + bands,
    };
  });
  const pairs = pairsOf(scope);
  // Room for the texts of many edges would make it wide, and the boxes small.
  const isFew = pairs.length <= MAX_ROOMY_EDGES;
  /** @type {Job} */
  const job = {
    width: sizes.map(({ width }) => width),
    height: sizes.map(({ height }) => height),
    apart,
    edges: pairs.map((pair) => [pair.from, pair.to, weightOf(pair), isFew ? Math.ceil(means.measure(labelOf(pair), "small")) : 0]),
    ins: [],
    outs: [],
  };
  /** @type {Arranged["quiet"]} */
  const quiet = [];
  const ins = portsOf(scope.ins, apart, isApartOutside, (row) => quiet.push({ kind: "ins", row }));
  const outs = portsOf(scope.outs, apart, isApartOutside, (row) => quiet.push({ kind: "outs", row }));
  job.ins = ins.map(({ children }) => children);
  job.outs = outs.map(({ children }) => children);
  const layout = await means.layOut(job);
  return { scope, layout, message, apart, inner, sizes, pairs, ins, outs, quiet, width: layout.width, height: layout.height };
}

/** Why a scope is not drawn; "" when it is. @param {Scope} scope */
function whyNot({ children, edges, total }) {
  const tooMany = (/** @type {number} */ count, /** @type {string} */ what) => `${count.toLocaleString("en")} ${what} in one scope: too many to draw`;
  if (total > MAX_CHILDREN) return tooMany(total, "nodes");
  if (edges.from.length > MAX_EDGES) return tooMany(edges.from.length, "edges");
  return children.name.length === 0 ? "This graph was logged without nodes" : "";
}

/**
 * @param {Scope} scope
 * @param {number} row
 * @param {Means["measure"]} measure
 */
function sizeOf({ children }, row, measure) {
  const isOp = children.kind[row] === "op";
  const label = shorten(lastPart(children.name[row]), measure);
  const op = children.op[row];
  // MatMul_1 needs no second line that says MatMul.
  const isSaid = label.replace(/_\d+$/, "") === op;
  const sub = isOp ? (isSaid ? "" : shorten(op, measure)) : plural(children.nodes[row], "node");
  const text = Math.max(measure(label, "label"), measure(sub, "small"));
  // A scope looks as large as it is, by orders of magnitude.
  const more = isOp ? 0 : Math.round(8 * Math.log10(children.nodes[row]));
  return { label, sub, textWidth: measure(label, "label"), width: Math.ceil(Math.max(isOp ? 44 : 76, text + (isOp ? 24 : 40)) + more), height: (sub === "" ? 24 : 36) + more };
}

/** A long name gives way in its middle. @param {string} label @param {Means["measure"]} measure */
function shorten(label, measure) {
  if (measure(label, "label") <= MAX_LABEL) return label;
  let kept = Math.max(6, Math.floor((label.length * MAX_LABEL) / measure(label, "label")) - 1);
  const cut = () => `${label.slice(0, Math.ceil(kept / 2))}…${label.slice(label.length - Math.floor(kept / 2))}`;
  while (kept > 6 && measure(cut(), "label") > MAX_LABEL) kept--;
  return cut();
}

/** What is between each two children: data and control edges are one line. @param {Scope} scope @returns {Pair[]} */
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
 * The places at the border where edges from outside come in; one for each other end.
 * @param {import("./types.js").Crossings} crossings
 * @param {readonly boolean[]} apart
 * @param {(name: string) => boolean} isApartOutside
 * @param {(row: number) => void} leaveOut  called with each row that gets no port
 * @returns {Port[]}
 */
function portsOf(crossings, apart, isApartOutside, leaveOut) {
  /** @type {Map<string, Port>} */
  const ports = new Map();
  crossings.child.forEach((child, row) => {
    const outside = crossings.outside[row];
    if (apart[child] || isApartOutside(outside)) return leaveOut(row);
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
 * Adds what is in a scope to the scene.
 * @param {Scene} scene
 * @param {Arranged} arranged
 * @param {number} left
 * @param {number} top
 * @param {number} depth
 * @param {Line[]} quiet  gets the lines that are drawn only for one of their ends; without points
 */
function draw(scene, arranged, left, top, depth, quiet) {
  const { scope, layout, apart, inner, sizes, pairs } = arranged;
  if (!layout) return;
  const { name } = scope.children;
  const numHidden = new Array(name.length).fill(0);
  const boxes = name.map((_, row) => boxOf(arranged, row, left + layout.x[row], top + layout.y[row], depth));

  if (layout.apart !== null) scene.items.push({ type: "rule", x: left + layout.apart, y: top, height: layout.height });
  pairs.forEach((pair, index) => {
    const { from, to } = pair;
    const points = layout.edges[index];
    if (!points) {
      numHidden[from]++;
      numHidden[to]++;
    }
    const path = points ? shifted(points, left, top) : between(boxes[from], boxes[to]);
    const [source, target] = [inner.get(from), inner.get(to)];
    if (points && source) reach(path, "start", portX(source, "outs", name[to], boxes[from]), boxes[from]);
    const end = target ? portX(target, "ins", name[from], boxes[to]) : null;
    if (points) reach(path, "end", end, boxes[to]);
    scene.items.push(lineOf(pair, name[from], name[to], path, { hidden: !points, arrow: end === null }));
  });
  for (const kind of /** @type {const} */ (["ins", "outs"])) {
    arranged[kind].forEach((port, index) => {
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
        // From and to the border of the box around.
        if (kind === "ins") {
          path.unshift(left + x, top + layout.height + SIZES.band + SIZES.pad);
          if (end !== null) reach(path, "end", end, box);
        } else {
          path.push(left + x, top - SIZES.band - SIZES.header);
          if (content) reach(path, "start", portX(content, "outs", outside, box), box);
        }
        const pair = { from: child, to: child, count: count[row], control: control[row], shape: shape[row] };
        const ends = kind === "ins" ? [outside, name[child]] : [name[child], outside];
        const arrow = kind === "ins" && end === null;
        scene.items.push({ ...lineOf(pair, ends[0], ends[1], path, { hidden: false, arrow }), label: "" });
      });
    });
  }
  for (const { kind, row } of arranged.quiet) {
    const { child, outside, count, control, shape } = scope[kind];
    numHidden[child[row]]++;
    const pair = { from: child[row], to: child[row], count: count[row], control: control[row], shape: shape[row] };
    const ends = kind === "ins" ? [outside[row], name[child[row]]] : [name[child[row]], outside[row]];
    quiet.push(lineOf(pair, ends[0], ends[1], [], { hidden: true, arrow: true }));
  }
  boxes.forEach((box, row) => {
    box.numHidden = apart[row] ? 0 : numHidden[row];
    scene.items.push(box);
    scene.boxes.set(box.name, box);
    const content = inner.get(row);
    if (!content) return;
    const contentLeft = box.x + (sizes[row].width - content.width) / 2;
    draw(scene, content, contentLeft, box.y + contentTop(content), depth + 1, quiet);
  });
}

/** From the top of a box to its content. @param {Arranged} content */
function contentTop(content) {
  return SIZES.header + (content.outs.length > 0 ? SIZES.band : 0);
}

/**
 * @param {Arranged} arranged
 * @param {number} row
 * @param {number} x
 * @param {number} y
 * @param {number} depth
 * @returns {Box}
 */
function boxOf({ scope: { children }, sizes, apart, inner }, row, x, y, depth) {
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
    apart: apart[row],
    numHidden: 0,
    message: inner.get(row)?.message ?? "",
  };
}

/**
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

/** Of how many tensors counts, in an order of magnitude; control edges give way to all others. @param {Pair} pair */
function weightOf({ count, control }) {
  return control ? 1 : 2 + Math.round(Math.log2(count));
}

/** Large tensors and many of them make thick lines. @param {Pair} pair */
export function widthOf({ count, control, shape }) {
  if (control) return 1;
  const size = shape.split("x").reduce((product, part) => product * (Number(part) || 1), 1);
  return Math.min(9, 1 + 0.25 * Math.log10(size) + Math.log2(count));
}

/** @param {readonly number[]} points @param {number} x @param {number} y */
function shifted(points, x, y) {
  return points.map((value, i) => value + (i % 2 === 0 ? x : y));
}

/**
 * Where an edge with another end meets the border of an open box.
 * @param {Arranged} content
 * @param {"ins" | "outs"} kind
 * @param {string} outside
 * @param {Box} box
 * @returns {number | null} null: it leads nowhere inside
 */
function portX(content, kind, outside, box) {
  const index = content[kind].findIndex((port) => port.outside.has(outside));
  if (index < 0 || !content.layout) return null;
  return box.x + (box.width - content.width) / 2 + content.layout[kind][index].x;
}

/**
 * Moves an end of a line to a port. A line from the other side, as those are that close a circle, goes round the box.
 * @param {number[]} path
 * @param {"start" | "end"} which
 * @param {number | null} x  of the port; null: there is none
 * @param {Box} box
 */
function reach(path, which, x, box) {
  if (x === null) return;
  const isEnd = which === "end";
  const y = isEnd ? box.y + box.height : box.y;
  const side = isEnd ? 1 : -1;
  const [, before] = path.slice(isEnd ? -4 : 2);
  path.splice(isEnd ? -2 : 0, 2);
  const places = [[x, y]];
  if ((before - y) * side < 0) {
    const beside = x < box.x + box.width / 2 ? box.x - ROUND : box.x + box.width + ROUND;
    const corner = y + side * ROUND;
    places.push([x, corner], [beside, corner], [beside, before]);
  }
  if (isEnd) path.push(...places.reverse().flat());
  else path.unshift(...places.flat());
}

/** A line from one box to another, out at the side where the other one is. @param {Box} from @param {Box} to */
function between(from, to) {
  const isRight = to.x + to.width / 2 > from.x + from.width / 2;
  const start = [isRight ? from.x + from.width : from.x, from.y + from.height / 2];
  const end = [isRight ? to.x : to.x + to.width, to.y + to.height / 2];
  const half = (start[0] + end[0]) / 2;
  return [...start, half, start[1], half, end[1], ...end];
}
