/**
 * The layout of one name scope: positions of its children and paths of the edges between them. Data
 * flows from the bottom to the top. Pure functions, run in a worker.
 */

/** @typedef {import("./types.js").Job} Job @typedef {import("./types.js").Layout} Layout */

/** Gaps, in pixels of the drawing. */
const GAP_PX = { node: 22, edge: 10, rank: 44, part: 36, auxiliary: 56 };
/**
 * Maximum number of edges for which ranks are optimal. With more edges, optimal ranks would take
 * three times as long as the rest of the layout, so the ranks are only approximately optimal.
 */
const MAX_EDGES_RANKED_OPTIMALLY = 800;
/** Width divided by height of the area that parts without ports fill. */
const ASPECT_RATIO = 1.7;

/**
 * @typedef {object} Part  connected children with their layout; the top left corner is at 0, 0
 * @property {number} width
 * @property {number} height
 * @property {[node: number, x: number, y: number][]} nodes  top left corners
 * @property {[edge: number, points: number[]][]} edges
 * @property {{ kind: "in" | "out", port: number, x: number, lines: number[][] }[]} ports
 */

/**
 * Lays out a scope.
 * @param {any} dagre  the library, which a worker and a test import from different places
 * @param {Job} job
 * @returns {Layout}
 */
export function layOut(dagre, job) {
  // From left to right:
  // 1. Place the parts that are connected to ports.
  // 2. Pack the other parts in rows beside them.
  // 3. Stack the auxiliary nodes in columns.
  const { numNodes, groups } = findParts(job);
  const parts = groups.map((group) => (isSingleNode(group) ? single(job, group.nodes[0]) : flow(dagre, job, group)));
  // Nothing may be between a part with ports and the border of the box.
  const [through, beside] = [parts.filter(({ ports }) => ports.length > 0), parts.filter(({ ports }) => ports.length === 0)];
  /** @type {Layout} */
  const layout = {
    width: 0,
    height: 0,
    x: new Array(numNodes).fill(0),
    y: new Array(numNodes).fill(0),
    edges: new Array(job.edges.length).fill(null),
    ins: job.ins.map(() => ({ x: 0, lines: [] })),
    outs: job.outs.map(() => ({ x: 0, lines: [] })),
    auxiliary: null,
  };
  const height = Math.max(0, ...through.map((part) => part.height));
  for (const part of through) {
    place(layout, part, layout.width > 0 ? layout.width + GAP_PX.part : 0, 0);
    layout.width = Math.max(layout.width, ...part.nodes.map(([node, x]) => layout.x[node] - x + part.width));
  }
  layout.height = height;
  const packed = pack(beside, height);
  const left = layout.width > 0 && beside.length > 0 ? layout.width + GAP_PX.part : layout.width;
  for (const [part, x, y] of packed.places) place(layout, part, left + x, y);
  layout.width = left + packed.width;
  layout.height = Math.max(height, packed.height);
  // Align all rows with the bottom.
  if (packed.height < height) for (const [part] of packed.places) shift(layout, part, height - packed.height);

  const auxiliary = job.auxiliary.flatMap((isAuxiliary, node) => (isAuxiliary ? [single(job, node)] : []));
  if (auxiliary.length > 0) {
    const column = stack(auxiliary, Math.max(layout.height, 160));
    layout.auxiliary = layout.width > 0 ? layout.width + GAP_PX.auxiliary / 2 : 0;
    const start = layout.width > 0 ? layout.width + GAP_PX.auxiliary : 0;
    for (const [part, x, y] of column.places) place(layout, part, start + x, y);
    layout.width = start + column.width;
    layout.height = Math.max(layout.height, column.height);
  }
  return layout;
}

/**
 * Groups of connected children. All children that are connected to ports form one group.
 * @param {Job} job
 */
function findParts(job) {
  const numNodes = job.width.length;
  const parents = Array.from({ length: numNodes + 1 }, (_, node) => node);
  const ports = numNodes; // one node that stands for all ports
  /** @param {number} node */
  const rootOf = (node) => {
    while (parents[node] !== node) node = parents[node] = parents[parents[node]];
    return node;
  };
  /** @param {number} a @param {number} b */
  const join = (a, b) => void (parents[rootOf(a)] = rootOf(b));
  for (const [from, to] of job.edges) if (!job.auxiliary[from] && !job.auxiliary[to]) join(from, to);
  for (const nodes of [...job.ins, ...job.outs]) for (const node of nodes) join(node, ports);

  /** @type {Map<number, { nodes: number[], edges: number[], hasPorts: boolean }>} */
  const groups = new Map();
  for (let node = 0; node < numNodes; node++) {
    if (job.auxiliary[node]) continue;
    const root = rootOf(node);
    const group = groups.get(root) ?? { nodes: [], edges: [], hasPorts: root === rootOf(ports) };
    group.nodes.push(node);
    groups.set(root, group);
  }
  job.edges.forEach(([from, to], edge) => {
    if (!job.auxiliary[from] && !job.auxiliary[to]) groups.get(rootOf(from))?.edges.push(edge);
  });
  return { numNodes, groups: [...groups.values()] };
}

/**
 * Whether a group is a single node without ports.
 * @param {{ nodes: number[], hasPorts: boolean }} group
 */
function isSingleNode(group) {
  return group.nodes.length === 1 && !group.hasPorts;
}

/** The layout of a single node. @param {Job} job @param {number} node @returns {Part} */
function single(job, node) {
  return { width: job.width[node], height: job.height[node], nodes: [[node, 0, 0]], edges: [], ports: [] };
}

/**
 * The layout of a group of connected children, by dagre.
 *
 * Ports are nodes of no height. An extra node is below all input ports, and another above all
 * output ports: heavy edges keep the ports next to their extra node, and light edges keep
 * everything else on the other side of the ports. In a cycle, the lightest edges point down.
 * @param {any} dagre
 * @param {Job} job
 * @param {{ nodes: number[], edges: number[], hasPorts: boolean }} group
 * @returns {Part}
 */
function flow(dagre, job, group) {
  const graph = new dagre.Graph();
  const ranker = group.edges.length > MAX_EDGES_RANKED_OPTIMALLY ? "tight-tree" : "network-simplex";
  graph.setGraph({ rankdir: "BT", nodesep: GAP_PX.node, edgesep: GAP_PX.edge, ranksep: GAP_PX.rank, acyclicer: "greedy", ranker });
  const hasInput = new Set();
  const hasOutput = new Set();
  for (const node of group.nodes) graph.setNode(`n${node}`, { width: job.width[node], height: job.height[node] });
  for (const edge of group.edges) {
    const [from, to, weight, label] = job.edges[edge];
    hasOutput.add(from);
    hasInput.add(to);
    graph.setEdge(`n${from}`, `n${to}`, { weight, width: label, height: label > 0 ? 12 : 0, labelpos: "c" });
  }
  const sides = /** @type {const} */ ([["in", job.ins], ["out", job.outs]]);
  for (const [kind, ports] of group.hasPorts ? sides : []) {
    if (ports.length === 0) continue;
    /** @param {string} inner @param {string} outer @param {object} how */
    const connect = (inner, outer, how) => (kind === "in" ? graph.setEdge(outer, inner, how) : graph.setEdge(inner, outer, how));
    graph.setNode(kind, { width: 1, height: 0 });
    ports.forEach((nodes, port) => {
      const name = `${kind}${port}`;
      graph.setNode(name, { width: 8, height: 0 });
      connect(name, kind, { weight: 100, width: 0, height: 0 });
      for (const node of nodes) connect(`n${node}`, name, { weight: 1, width: 0, height: 0 });
    });
    const linked = new Set(ports.flat());
    // Without an edge on this side, a child could be placed beyond the ports.
    const connected = kind === "in" ? hasInput : hasOutput;
    for (const node of group.nodes) {
      if (!linked.has(node) && !connected.has(node)) connect(`n${node}`, kind, { weight: 0, width: 0, height: 0 });
    }
  }
  dagre.layout(graph);

  // The bounding box, without the extra nodes below and above the ports.
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  /** @param {number} x @param {number} y */
  const include = (x, y) => {
    bounds.left = Math.min(bounds.left, x);
    bounds.right = Math.max(bounds.right, x);
    bounds.top = Math.min(bounds.top, y);
    bounds.bottom = Math.max(bounds.bottom, y);
  };
  for (const node of group.nodes) {
    const { x, y, width, height } = graph.node(`n${node}`);
    include(x - width / 2, y - height / 2);
    include(x + width / 2, y + height / 2);
  }
  /** The points of an edge, which `bounds` then includes. @param {string} from @param {string} to @returns {number[]} */
  const pointsOf = (from, to) => graph.edge(from, to).points.flatMap((/** @type {{ x: number, y: number }} */ { x, y }) => (include(x, y), [x, y]));
  const edges = group.edges.map((edge) => /** @type {[number, number[]]} */ ([edge, pointsOf(`n${job.edges[edge][0]}`, `n${job.edges[edge][1]}`)]));
  /** @type {Part["ports"]} */
  const ports = [];
  for (const [kind, all] of group.hasPorts ? sides : []) {
    all.forEach((nodes, port) => {
      const name = `${kind}${port}`;
      const lines = nodes.map((node) => (kind === "in" ? pointsOf(name, `n${node}`) : pointsOf(`n${node}`, name)));
      ports.push({ kind, port, x: graph.node(name).x, lines });
    });
  }
  const { left, top } = bounds;
  /** @param {number[]} points */
  const moved = (points) => points.map((value, i) => value - (i % 2 === 0 ? left : top));
  return {
    width: bounds.right - left,
    height: bounds.bottom - top,
    nodes: group.nodes.map((node) => {
      const { x, y, width, height } = graph.node(`n${node}`);
      return [node, x - width / 2 - left, y - height / 2 - top];
    }),
    edges: edges.map(([edge, points]) => [edge, moved(points)]),
    ports: ports.map(({ x, lines, ...port }) => ({ ...port, x: x - left, lines: lines.map(moved) })),
  };
}

/**
 * Adds a part to the layout of the scope.
 * @param {Layout} layout
 * @param {Part} part
 * @param {number} left
 * @param {number} top
 */
function place(layout, part, left, top) {
  for (const [node, x, y] of part.nodes) {
    layout.x[node] = left + x;
    layout.y[node] = top + y;
  }
  /** @param {number[]} points */
  const moved = (points) => points.map((value, i) => value + (i % 2 === 0 ? left : top));
  for (const [edge, points] of part.edges) layout.edges[edge] = moved(points);
  for (const { kind, port, x, lines } of part.ports) {
    layout[kind === "in" ? "ins" : "outs"][port] = { x: left + x, lines: lines.map(moved) };
  }
}

/**
 * Moves a part without ports down.
 * @param {Layout} layout
 * @param {Part} part
 * @param {number} by
 */
function shift(layout, part, by) {
  for (const [node] of part.nodes) layout.y[node] += by;
  for (const [edge] of part.edges) {
    layout.edges[edge] = /** @type {number[]} */ (layout.edges[edge]).map((value, i) => value + (i % 2 === 0 ? 0 : by));
  }
}

/**
 * @typedef {{ width: number, height: number, places: [part: Part, x: number, y: number][] }} Packed
 */

/**
 * Arranges parts in rows, the highest first.
 * @param {readonly Part[]} parts
 * @param {number} height  of the parts with ports beside them; rows may fill all of it
 * @returns {Packed}
 */
function pack(parts, height) {
  const area = parts.reduce((sum, part) => sum + (part.width + GAP_PX.part) * (part.height + GAP_PX.part), 0);
  const byShape = Math.sqrt(area * ASPECT_RATIO);
  const maxWidth = Math.max(Math.min(byShape, height > 0 ? Math.max(area / height, 200) : Infinity), ...parts.map((part) => part.width), 0);
  /** @type {Packed} */
  const packed = { width: 0, height: 0, places: [] };
  let [x, y, rowHeight] = [0, 0, 0];
  for (const part of [...parts].sort((a, b) => b.height - a.height)) {
    if (x > 0 && x + part.width > maxWidth) [x, y, rowHeight] = [0, y + rowHeight + GAP_PX.part, 0];
    packed.places.push([part, x, y]);
    x += part.width + (part.nodes.length > 1 ? GAP_PX.part : GAP_PX.node);
    rowHeight = Math.max(rowHeight, part.height);
    packed.width = Math.max(packed.width, packed.places[packed.places.length - 1][1] + part.width);
    packed.height = Math.max(packed.height, y + rowHeight);
  }
  return packed;
}

/**
 * Arranges parts in columns.
 * @param {readonly Part[]} parts
 * @param {number} height  maximum height of a column; only a part that is higher may exceed it
 * @returns {Packed}
 */
function stack(parts, height) {
  /** @type {Packed} */
  const packed = { width: 0, height: 0, places: [] };
  let [x, y, columnWidth] = [0, 0, 0];
  for (const part of parts) {
    if (y > 0 && y + part.height > height) [x, y, columnWidth] = [x + columnWidth + GAP_PX.node, 0, 0];
    packed.places.push([part, x, y]);
    packed.height = Math.max(packed.height, y + part.height);
    y += part.height + 12;
    columnWidth = Math.max(columnWidth, part.width);
    packed.width = Math.max(packed.width, x + columnWidth);
  }
  return packed;
}
