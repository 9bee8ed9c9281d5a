/**
 * What the boxes' colours say. Pure.
 */

import { colorsOf } from "tbcore/lib/colors.js";
import { formatBytes } from "tbcore/lib/format.js";

/**
 * @typedef {import("./scene.js").Box} Box
 * @typedef {"structure" | "device" | "compute" | "memory"} ColorBy
 * @typedef {{ color: string, strength: number }} Paint  how much of the colour covers the box, 0 to 1
 *
 * @typedef {object} Coloring
 * @property {readonly string[]} names  of all that has a colour, for the next call
 * @property {(box: Box) => Paint | null} paintOf
 * @property {{ color: string, label: string }[]} swatches
 * @property {{ color: string, from: string, to: string } | null} scale
 * @property {string} note
 */

/** Light enough for dark text on it, and dark enough for light text. */
const HEAT = { light: "#f08a24", dark: "#b3541e" };
const STRENGTH = 0.22;
const MAX_SWATCHES = 8;

/**
 * @param {ColorBy} by
 * @param {Iterable<Box>} boxes  that are shown
 * @param {"light" | "dark"} theme
 * @param {readonly string[]} [known]  `names` of the coloring before: they keep their colours
 * @returns {Coloring}
 */
export function colorBoxes(by, boxes, theme, known = []) {
  const shown = [...boxes];
  if (by === "structure") return byName(shown, theme, known, (box) => (box.structure > 0 ? String(box.structure) : ""), structureNote);
  if (by === "device") return byName(shown, theme, known, (box) => box.device, deviceNote);
  const valueOf = (/** @type {Box} */ box) => costOf(by, box);
  const format = by === "compute" ? formatMicros : formatBytes;
  // Also of scopes that are open, which have no colour: what is in them keeps its own when others are opened.
  const values = shown.flatMap((box) => valueOf(box) ?? []);
  if (values.length === 0) {
    return { names: [], paintOf: () => null, swatches: [], scale: null, note: `Nothing is known of ${by === "compute" ? "compute time" : "memory"}` };
  }
  const most = Math.max(...values, 1);
  const color = HEAT[theme];
  return {
    names: [],
    paintOf(box) {
      const value = valueOf(box);
      // The square root tells the small ones apart; zero is known, and unlike what is not known.
      return value === null || box.open ? null : { color, strength: 0.06 + 0.84 * Math.sqrt(value / most) };
    },
    swatches: [],
    scale: { color, from: format(0), to: format(most) },
    note: "",
  };
}

/** What boxes are coloured by, where that is a cost. @param {ColorBy} by @param {Box} box */
function costOf(by, { computeMicros, bytes }) {
  return by === "compute" ? computeMicros : by === "memory" ? bytes : null;
}

/** In words; "" where nothing is known of it. @param {ColorBy} by @param {Box} box */
export function costText(by, box) {
  const cost = costOf(by, box);
  return cost === null ? "" : by === "compute" ? formatMicros(cost) : formatBytes(cost);
}

/**
 * @param {readonly Box[]} boxes
 * @param {"light" | "dark"} theme
 * @param {readonly string[]} known
 * @param {(box: Box) => string} nameOf  "" for none
 * @param {(names: readonly string[], boxes: readonly Box[]) => Pick<Coloring, "swatches" | "note">} legendOf
 * @returns {Coloring}
 */
function byName(boxes, theme, known, nameOf, legendOf) {
  const names = [...new Set(boxes.map(nameOf))].filter((name) => name !== "");
  const all = [...new Set([...known, ...names])];
  const colors = colorsOf(all, theme);
  const legend = legendOf(names, boxes);
  return {
    names: all,
    paintOf(box) {
      const color = colors.get(nameOf(box));
      return color === undefined ? null : { color, strength: STRENGTH };
    },
    swatches: legend.swatches.map(({ label, color }) => ({ label, color: colors.get(color) ?? "" })),
    scale: null,
    note: legend.note,
  };
}

/** @param {readonly string[]} names */
function structureNote(names) {
  return { swatches: [], note: names.length > 0 ? "Same colour: same structure" : "No two of the scopes drawn have the same structure" };
}

/** @param {readonly string[]} names */
function deviceNote(names) {
  const swatches = names.slice(0, MAX_SWATCHES).map((name) => ({ label: shortDevice(name), color: name }));
  const more = names.length - swatches.length;
  if (names.length === 0) return { swatches, note: "The graph names no devices" };
  return { swatches, note: more > 0 ? `and ${more} more` : "No colour: none, or several" };
}

/** `/job:localhost/replica:0/task:0/device:GPU:0` says `GPU:0` on most machines. @param {string} device */
export function shortDevice(device) {
  const local = device.replace(/^\/job:localhost\/replica:0\/task:0/, "");
  return local.replace(/^\/(device:)?/, "") || device;
}

/** @param {number} micros */
export function formatMicros(micros) {
  if (micros < 1000) return `${Math.round(micros)} µs`;
  const [value, unit] = micros < 1e6 ? [micros / 1000, "ms"] : [micros / 1e6, "s"];
  return `${value >= 99.95 ? Math.round(value) : Number(value.toPrecision(3))} ${unit}`;
}
