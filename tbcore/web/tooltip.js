/** Tooltips of drawings of your own; those of charts are made for you. */
export { Tooltip, readOutNodes } from "./lib/ui/tooltip.js";
