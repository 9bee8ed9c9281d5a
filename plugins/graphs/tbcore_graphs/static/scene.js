/**
 * The scene: nested boxes and the lines between them, in the order in which they are painted. Pure
 * functions; fetching, layout and text measurement are passed in.
 */

import { connectToPort, labelOf, shifted, sideToSide, widthOf } from "./lines.js";
import { SIZES, layOutScope } from "./scope-layout.js";

/**
 * @typedef {import("./scope-layout.js").ScopeLayout} ScopeLayout
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
 */

/**
 * Fetches and lays out all open scopes.
 * @param {import("./scope-layout.js").Choices} choices
 * @param {import("./scope-layout.js").SceneTools} tools
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
  const boxes = name.map((_, row) => boxOf(scopeLayout, row, left + layout.x[row], top + layout.y[row], depth));

  // 1. The border of the auxiliary nodes, and lines between children.
  if (layout.auxiliary !== null) scene.items.push({ type: "rule", x: left + layout.auxiliary, y: top, height: layout.height });
  pairs.forEach((pair, index) => {
    const { from, to } = pair;
    const points = layout.edges[index];
    if (!points) for (const row of [from, to]) boxes[row].numHidden++;
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
        const path = shifted(points, left, top);
        const content = inner.get(port.children[i]);
        const box = boxes[port.children[i]];
        const [outside] = port.outside;
        const end = content ? portX(content, kind, outside, box) : null;
        // Extend the line to the border of the surrounding box.
        if (kind === "ins") path.unshift(left + x, top + layout.height + SIZES.band + SIZES.pad);
        else path.push(left + x, top - SIZES.band - SIZES.header);
        connectToPort(path, kind === "ins" ? "end" : "start", end, box);
        const arrow = kind === "ins" && end === null;
        scene.items.push({ ...crossingLine(scope, kind, port.rows[i], outside, path, { hidden: false, arrow }), label: "" });
      });
    });
  }
  // 3. Lines without a port, which are positioned after all boxes are known.
  for (const { kind, row } of scopeLayout.hiddenEdges) {
    boxes[scope[kind].child[row]].numHidden++;
    hiddenLines.push(crossingLine(scope, kind, row, scope[kind].outside[row], [], { hidden: true, arrow: true }));
  }
  // 4. Boxes, and the contents of open ones.
  boxes.forEach((box, row) => {
    if (auxiliary[row]) box.numHidden = 0;
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
 * A line for edges.
 * @param {import("./lines.js").Tensors} tensors
 * @param {string} from
 * @param {string} to
 * @param {number[]} points
 * @param {{ hidden: boolean, arrow: boolean }} how
 * @returns {Line}
 */
function lineOf(tensors, from, to, points, how) {
  return { type: "line", from, to, points, width: widthOf(tensors), control: tensors.control, label: labelOf(tensors), ...how };
}

/**
 * The line for an edge across the border of a scope.
 * @param {import("./types.js").Scope} scope
 * @param {"ins" | "outs"} kind
 * @param {number} row  of the scope's crossings
 * @param {string} outside  full name of the outside end
 * @param {number[]} points
 * @param {{ hidden: boolean, arrow: boolean }} how
 */
function crossingLine({ children, ...crossings }, kind, row, outside, points, how) {
  const { child, count, control, shape } = crossings[kind];
  const inside = children.name[child[row]];
  const [from, to] = kind === "ins" ? [outside, inside] : [inside, outside];
  return lineOf({ count: count[row], control: control[row], shape: shape[row] }, from, to, points, how);
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
