/** Numbers, steps, times, durations, sizes and names as short text. */
export * from "./lib/format.js";
