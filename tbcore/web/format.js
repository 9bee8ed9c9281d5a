/** Numbers, steps, times, durations, sizes and names as short text, and the numbers of responses. */
export * from "./lib/format.js";
