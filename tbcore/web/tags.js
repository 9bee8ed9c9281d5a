/** Tabs with one card for each tag, or for each tag and run. */
export * from "./lib/cards/tags.js";
