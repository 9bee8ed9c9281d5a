/** Tabs with one card for each tag, or for each tag and run. */
export { TagTab } from "./lib/cards/on-demand.js";
export * from "./lib/cards/tags.js";
