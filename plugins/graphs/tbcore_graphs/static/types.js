/**
 * The types of the tab. All lengths are in pixels of the drawing, before zoom; y goes down.
 */

/**
 * @typedef {import("tbcore/host.js").Host} Host
 *
 * @typedef {"scope" | "op" | "series"} Kind  a series stands for many whose names differ in a number
 *
 * @typedef {object} Children  columns; one row for each child of a name scope
 * @property {string[]} name  full
 * @property {Kind[]} kind
 * @property {string[]} op  "" for a scope
 * @property {number[]} nodes  operations inside
 * @property {string[]} device  "" where there is none, or several
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
 * @typedef {object} Crossings  columns: edges that cross the border of the scope
 * @property {number[]} child
 * @property {string[]} outside  the other end: a child of the innermost scope that holds both ends
 * @property {number[]} count
 * @property {boolean[]} control
 * @property {string[]} shape
 *
 * @typedef {object} Scope  what the route `scope` says
 * @property {string} path  "" for the whole graph
 * @property {Children} children
 * @property {Edges} edges
 * @property {Crossings} ins
 * @property {Crossings} outs
 * @property {number} total  children that there are; the answer has the first of them only where they are too many
 */

/**
 * @typedef {object} Job  one scope to lay out
 * @property {number[]} width  of each child
 * @property {number[]} height
 * @property {boolean[]} apart  at the right, without edges
 * @property {[from: number, to: number, weight: number, label: number][]} edges  no pair twice; `label` is the width of its
 *   text
 * @property {number[][]} ins  for each port at the bottom the children it leads to
 * @property {number[][]} outs  for each port at the top the children that lead to it
 *
 * @typedef {object} Layout
 * @property {number} width
 * @property {number} height
 * @property {number[]} x  left, of each child
 * @property {number[]} y  top
 * @property {(number[] | null)[]} edges  x, y, x, y and so on, from source to target; null where an end stands apart
 * @property {{ x: number, lines: number[][] }[]} ins
 * @property {{ x: number, lines: number[][] }[]} outs
 * @property {number | null} apart  where the part of those begins that stand apart
 */

/**
 * @typedef {object} Overview  what the route `overview` says
 * @property {number} generation
 * @property {string} version  equal while the graphs are the same
 * @property {Graph[]} graphs
 * @property {{ tag: string, step: number }[]} metadata_tags
 *
 * @typedef {object} Graph  one that a run logged
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
 * @property {number} [output]  of an op: which output; -1: named in words
 * @property {number} [count]  of a scope: how many edges
 * @property {boolean} control
 * @property {string} shape
 * @property {boolean} [missing]  the graph has no such node
 *
 * @typedef {object} Details  what the route `node` says, of an op or of a scope
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
 * @typedef {object} Found  what the route `search` says; columns
 * @property {string[]} names
 * @property {Kind[]} kinds
 * @property {string[]} ops
 * @property {number} total
 */

export {};
