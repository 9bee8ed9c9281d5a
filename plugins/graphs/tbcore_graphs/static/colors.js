/**
 * The colours of boxes by structure, device or cost, and the legend. Pure functions.
 */

import { formatBytes } from "tbcore/format.js";
import { colorsOf } from "tbcore/ui.js";

/**
 * @typedef {import("./scene.js").Box} Box
 * @typedef {"structure" | "device" | "compute" | "memory"} ColorBy
 * @typedef {{ color: string, strength: number }} Paint  `strength` is the colour's opacity, 0 to 1
 *
 * @typedef {object} Coloring
 * @property {readonly string[]} names  all names that have a colour, for the next call
 * @property {(box: Box) => Paint | null} paintOf
 * @property {{ color: string, label: string }[]} swatches
 * @property {{ color: string, from: string, to: string } | null} scale  of costs, with the labels of
 *   its ends; null for other colourings
 * @property {string} note  in the legend
 */

/**
 * Light enough for dark text in the light theme, and dark enough for light text in the dark theme.
 */
const COST_COLORS = { light: "#f08a24", dark: "#b3541e" };
/** Opacity of the colours of structures and devices. */
const NAME_STRENGTH = 0.22;
/** Most devices in the legend. */
const MAX_SWATCHES = 8;

/**
 * Assigns colours to boxes.
 * @param {ColorBy} by
 * @param {Iterable<Box>} boxes  that are shown
 * @param {"light" | "dark"} theme
 * @param {readonly string[]} [previousNames]  `names` of the previous coloring, which keep their
 *   colours
 * @returns {Coloring}
 */
export function colorBoxes(by, boxes, theme, previousNames = []) {
  const shown = [...boxes];
  if (by === "structure") return byName(shown, theme, previousNames, (box) => (box.structure > 0 ? String(box.structure) : ""), structureLegend);
  if (by === "device") return byName(shown, theme, previousNames, (box) => box.device, deviceLegend);
  const valueOf = (/** @type {Box} */ box) => costOf(by, box);
  const format = by === "compute" ? formatMicros : formatBytes;
  // Open scopes have no colour, but count for the scale, so that opening a scope does not change
  // other colours.
  const values = shown.flatMap((box) => valueOf(box) ?? []);
  if (values.length === 0) {
    return { names: [], paintOf: () => null, swatches: [], scale: null, note: `The metadata has no ${by === "compute" ? "compute times" : "memory sizes"}` };
  }
  const largest = Math.max(...values, 1);
  const color = COST_COLORS[theme];
  return {
    names: [],
    paintOf(box) {
      const value = valueOf(box);
      // The square root makes small values distinguishable. Zero has a colour, unlike an unknown
      // value.
      return value === null || box.open ? null : { color, strength: 0.06 + 0.84 * Math.sqrt(value / largest) };
    },
    swatches: [],
    scale: { color, from: format(0), to: format(largest) },
    note: "",
  };
}

/**
 * The cost that boxes are coloured by; null for other colourings and unknown costs.
 * @param {ColorBy} by
 * @param {Box} box
 */
function costOf(by, { computeMicros, bytes }) {
  return by === "compute" ? computeMicros : by === "memory" ? bytes : null;
}

/** The cost of a box as text; "" if unknown. @param {ColorBy} by @param {Box} box */
export function costText(by, box) {
  const cost = costOf(by, box);
  return cost === null ? "" : by === "compute" ? formatMicros(cost) : formatBytes(cost);
}

/**
 * Colours boxes by a name that several boxes can share.
 * @param {readonly Box[]} boxes
 * @param {"light" | "dark"} theme
 * @param {readonly string[]} previousNames
 * @param {(box: Box) => string} nameOf  "" for none
 * @param {(names: readonly string[], boxes: readonly Box[]) => { swatches: { label: string, name: string }[], note: string }} legendOf
 * @returns {Coloring}
 */
function byName(boxes, theme, previousNames, nameOf, legendOf) {
  const names = [...new Set(boxes.map(nameOf))].filter((name) => name !== "");
  const all = [...new Set([...previousNames, ...names])];
  const colors = colorsOf(all, theme);
  const legend = legendOf(names, boxes);
  return {
    names: all,
    paintOf(box) {
      const color = colors.get(nameOf(box));
      return color === undefined ? null : { color, strength: NAME_STRENGTH };
    },
    swatches: legend.swatches.map(({ label, name }) => ({ label, color: colors.get(name) ?? "" })),
    scale: null,
    note: legend.note,
  };
}

/** The legend of structures. @param {readonly string[]} names */
function structureLegend(names) {
  return { swatches: [], note: names.length > 0 ? "Same colour: same structure" : "No two scopes shown have the same structure" };
}

/** The legend of devices. @param {readonly string[]} names */
function deviceLegend(names) {
  const swatches = names.slice(0, MAX_SWATCHES).map((name) => ({ label: shortDevice(name), name }));
  const more = names.length - swatches.length;
  if (names.length === 0) return { swatches, note: "The graph does not name any devices" };
  return { swatches, note: more > 0 ? `and ${more} more` : "No colour: no device, or several" };
}

/**
 * A device without its local prefix: `GPU:0` for `/job:localhost/replica:0/task:0/device:GPU:0`.
 * @param {string} device
 */
export function shortDevice(device) {
  const local = device.replace(/^\/job:localhost\/replica:0\/task:0/, "");
  return local.replace(/^\/(device:)?/, "") || device;
}

/** A duration as text, in µs, ms or s. @param {number} micros */
export function formatMicros(micros) {
  if (micros < 1000) return `${Math.round(micros)} µs`;
  const [value, unit] = micros < 1e6 ? [micros / 1000, "ms"] : [micros / 1e6, "s"];
  return `${value >= 99.95 ? Math.round(value) : Number(value.toPrecision(3))} ${unit}`;
}
