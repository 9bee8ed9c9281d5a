/** Small components and functions that tabs of all kinds use. */
export { FilterBox, makeFilter } from "./lib/queries/filter.js";
export { colorsOf } from "./lib/ui/colors.js";
export * from "./lib/ui/controls.js";
export { Lazy, VirtualList, useNear } from "./lib/ui/lazy.js";

/** @typedef {import("./lib/queries/filter.js").Filter} Filter */
