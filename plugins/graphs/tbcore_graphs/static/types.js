/**
 * Types of the graphs tab. Lengths are in pixels of the drawing, before zooming; y points down.
 */

/**
 * @typedef {import("tbcore/host.js").Host} Host
 *
 * @typedef {"scope" | "op" | "series"} Kind  a series stands for nodes whose names differ in a
 *   number
 *
 * @typedef {object} Children  columns with one row for each child of a name scope
 * @property {string[]} name  full name
 * @property {Kind[]} kind
 * @property {string[]} op  "" for a scope
 * @property {number[]} nodes  number of operations inside
 * @property {string[]} device  "" if there is none, or several
 * @property {number[]} structure  equal for equal structures; 0: like no other
 * @property {(number | null)[]} compute_us
 * @property {(number | null)[]} bytes
 *
 * @typedef {object} Edges  columns; `from` and `to` are rows of the children
 * @property {number[]} from
 * @property {number[]} to
 * @property {number[]} count
 * @property {boolean[]} control
 * @property {string[]} shape
 *
 * @typedef {object} Crossings  columns with one row for each edge that crosses the border of the
 *   scope
 * @property {number[]} child
 * @property {string[]} outside  the other end: a child of the innermost scope that contains both
 *   ends
 * @property {number[]} count
 * @property {boolean[]} control
 * @property {string[]} shape
 *
 * @typedef {object} Scope  response of the route `scope`
 * @property {string} path  "" for the whole graph
 * @property {Children} children
 * @property {Edges} edges
 * @property {Crossings} ins
 * @property {Crossings} outs
 * @property {number} total  number of children; if there are too many, the response has only the
 *   first of them
 */

/**
 * @typedef {object} Job  a scope to lay out
 * @property {number[]} width  of each child
 * @property {number[]} height
 * @property {boolean[]} auxiliary  whether a child is placed at the right, without edges
 * @property {[from: number, to: number, weight: number, label: number][]} edges  each pair once;
 *   `label` is the width to reserve for its text
 * @property {number[][]} ins  for each port at the bottom, the children that it leads to
 * @property {number[][]} outs  for each port at the top, the children that lead to it
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {number[]} x  left, of each child
 * @property {number[]} y  top
 * @property {(number[] | null)[]} edges  x, y, x, y and so on, from source to target; null if an
 *   end is auxiliary
 * @property {{ x: number, lines: number[][] }[]} ins
 * @property {{ x: number, lines: number[][] }[]} outs
 * @property {number | null} auxiliary  x of the border between the main graph and the auxiliary
 *   nodes
 */

/**
 * @typedef {object} Overview  response of the route `overview`
 * @property {number} generation
 * @property {string} version  changes whenever the graphs do
 * @property {Graph[]} graphs
 * @property {{ tag: string, step: number }[]} metadata_tags
 *
 * @typedef {object} Graph  a graph that a run logged
 * @property {string} id
 * @property {string} title
 * @property {string} source
 * @property {number} nodes
 * @property {number} edges
 * @property {string[]} functions
 */

/**
 * @typedef {object} End  the other end of an edge of a node
 * @property {string} name
 * @property {number} [output]  for an op: index of the output; -1 if it has a name instead
 * @property {number} [count]  for a scope: number of edges
 * @property {boolean} control
 * @property {string} shape
 * @property {boolean} [missing]  whether the graph has no such node
 *
 * @typedef {object} Details  response of the route `node`, for an op or a scope
 * @property {string} name
 * @property {Kind} kind
 * @property {number | null} compute_us
 * @property {number | null} bytes
 * @property {number} num_inputs
 * @property {number} num_outputs
 * @property {string} [op]
 * @property {string} [device]
 * @property {End[]} inputs
 * @property {End[]} outputs
 * @property {[key: string, text: string][]} [attributes]
 * @property {number} [nodes]
 * @property {number} [edges]
 * @property {[op: string, count: number][]} [ops]
 * @property {[device: string, count: number][]} [devices]
 *
 * @typedef {object} Found  response of the route `search`, as columns
 * @property {string[]} names
 * @property {Kind[]} kinds
 * @property {string[]} ops
 * @property {number} total
 */

export {};
