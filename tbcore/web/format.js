/** Numbers, steps, times, durations, sizes and names as short text. */
export { formatBytes, formatDuration, formatName, formatStep, formatTime, formatValue, plural, toNumber } from "./lib/format.js";
