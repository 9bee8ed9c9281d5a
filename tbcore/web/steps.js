/** Viewing data one step at a time: places, a slider over them, and a complete tab. */
export * from "./lib/steps/places.js";
export * from "./lib/steps/tab.js";

/** @typedef {import("./lib/steps/cell.js").SampleProps} SampleProps */
