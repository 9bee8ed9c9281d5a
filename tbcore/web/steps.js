/** Viewing data one step at a time: places, a slider over them, and a complete tab. */
export { StepSlider, comparePlaces, describePlace, findPlace, formatPlaces, parsePlaces, stepTo, usePlaces, useSharedPlace } from "./lib/steps/places.js";
export * from "./lib/steps/tab.js";

/** @typedef {import("./lib/steps/cell.js").SampleProps} SampleProps */
/** @typedef {import("./lib/steps/places.js").Place} Place */
