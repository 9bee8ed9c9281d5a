/** The mean of a value of each run of a group, with its spread, as numbers and as short text. */
export * from "./lib/group-figure.js";
export * from "./lib/group-statistics.js";
