/**
 * Colours that show something about runs: their family, which has a hue with a shade for each
 * member, or a value. Pure functions, no DOM; loaded when the user chooses such colours.
 */

import { colorsOf, slotsOf } from "./colors.js";

/** @typedef {"light" | "dark"} Theme */
/** @typedef {string | number | boolean} Value */

/** Colour of a name without a value. It has enough contrast in both themes. */
export const NO_VALUE_COLOR = "#888888";
/** Number of colours of a scale in its legend. */
const NUM_LISTED = 7;
/** Up to this many different numbers have a colour each. If there are more, they are on a scale. */
export const MAX_VALUE_COLORS = 12;

// --- families ------------------------------------------------------------------------------------

/**
 * The colours of the first families, farther apart in hue than those of `colors.js`, since shades
 * differ in lightness: hue (degrees), lightness and chroma in the light theme, and in the dark theme.
 * The families after these have paler colours of the same hues.
 * @type {[h: number, lightL: number, lightC: number, darkL: number, darkC: number][]}
 */
const HUES = [
  [264, 0.581, 0.2, 0.644, 0.18],
  [50, 0.651, 0.157, 0.703, 0.18],
  [166, 0.624, 0.137, 0.671, 0.127],
  [21, 0.505, 0.173, 0.567, 0.144],
  [314, 0.463, 0.2, 0.576, 0.158],
  [231, 0.698, 0.149, 0.78, 0.145],
  [349, 0.713, 0.177, 0.778, 0.164],
  [86, 0.72, 0.145, 0.833, 0.131],
];
/** Offset of lightness and factor of chroma of paler colours. */
const PALER = { light: [-0.04, 0.45], dark: [-0.05, 0.5] };
/** Number of shades of a hue. More cannot be told apart. */
const NUM_SHADES = 9;
/** Number of lightnesses from which shades are chosen. */
const NUM_CANDIDATES = 33;
/** Difference in lightness between the darkest and the lightest shade of a hue. */
const SHADES_WIDTH = 0.3;
/** The limits of lightness: all shades have enough contrast with cards, and none looks like text. */
const LIMITS = { light: [0.36, 0.71], dark: [0.49, 0.8] };
/** Once all shades are used, they are used again with the hue turned by these angles, in degrees. */
const HUE_SHIFTS = [0, 11, -11];

/**
 * The colours of the members of families. A family's first member has the family's own colour. When
 * members are added after the others, or families after the others, no colour changes.
 * @param {ReadonlyMap<string, readonly string[]>} families  members by family
 * @param {Theme} theme
 * @returns {Map<string, string>} member to `#rrggbb`
 */
export function familyColors(families, theme) {
  /** @type {Map<string, string>} */
  const colors = new Map();
  const slots = slotsOf([...families.keys()], HUES.length, 2 * HUES.length);
  for (const [family, members] of families) {
    const shades = shadesOf(slots.get(family) ?? 0, theme);
    members.forEach((member, k) => colors.set(member, shades[k % shades.length]));
  }
  return colors;
}

/** The shades of a family's hue; each differs as much as possible from those before it. @param {number} slot @param {Theme} theme */
function shadesOf(slot, theme) {
  const [hue, lightL, lightC, darkL, darkC] = HUES[slot % HUES.length];
  const [offset, factor] = slot % (2 * HUES.length) < HUES.length ? [0, 1] : PALER[theme];
  const [lightness, chroma] = theme === "light" ? [lightL + offset, lightC * factor] : [darkL + offset, darkC * factor];
  const [min, max] = LIMITS[theme];
  const highest = Math.max(lightness, Math.min(max, Math.max(min, lightness - SHADES_WIDTH / 2) + SHADES_WIDTH));
  const lowest = Math.max(min, highest - SHADES_WIDTH);
  const candidates = Array.from({ length: NUM_CANDIDATES }, (_, i) => lowest + ((highest - lowest) * i) / (NUM_CANDIDATES - 1));
  const used = [lightness];
  while (used.length < NUM_SHADES) {
    const distances = candidates.map((l) => Math.min(...used.map((other) => Math.abs(l - other))));
    used.push(candidates[distances.indexOf(Math.max(...distances))]);
  }
  return HUE_SHIFTS.flatMap((shift) => used.map((l) => oklchToHex(l, chroma, hue + shift)));
}

// --- values --------------------------------------------------------------------------------------

/**
 * The stops of the scale of numbers in OKLCH, from the lowest to the highest. Lightness changes
 * evenly and by the same amount as far as contrast permits, so that all kinds of colour vision see
 * the order. The highest number has the strongest contrast in both themes.
 * @type {Record<Theme, [l: number, c: number, h: number][]>}
 */
const SCALE = {
  light: [[0.72, 0.15, 118], [0.6, 0.11, 185], [0.48, 0.14, 250], [0.36, 0.2, 290]],
  dark: [[0.5, 0.19, 290], [0.62, 0.13, 245], [0.74, 0.13, 170], [0.86, 0.17, 105]],
};

/**
 * The meaning of the colours of values.
 * @typedef {object} Legend
 * @property {[value: Value, color: string][]} values  the values and their colours, in natural
 *   order. A scale has only a few of them, from the lowest to the highest
 * @property {boolean} isScale
 * @property {boolean} hasMissing  whether some names have no value
 */

/**
 * The colours of names by their values. Each text, each boolean and each of a few different numbers
 * has a colour of its own, which stays when others are added. Many numbers are on a scale by their
 * ranks, so that one diverged run does not make all others look equal.
 * @param {readonly string[]} names
 * @param {ReadonlyMap<string, Value>} values  by name, maybe also of names that are not shown; names
 *   without a value are gray
 * @param {Theme} theme
 * @returns {{ colors: Map<string, string>, legend: Legend }} name to `#rrggbb`, and what they mean
 */
export function valueColors(names, values, theme) {
  const distinct = new Set(names.flatMap((name) => values.get(name) ?? []));
  const numbers = [...distinct].filter((value) => typeof value === "number");
  const isScale = numbers.length === distinct.size && distinct.size > MAX_VALUE_COLORS;
  const colorOf = isScale ? scaleColors(numbers, theme) : distinctColors([...new Set(values.values())], theme);
  const colors = new Map(names.map((name) => [name, (values.has(name) && colorOf.get(values.get(name) ?? "")) || NO_VALUE_COLOR]));
  const shown = [...colorOf].filter(([value]) => distinct.has(value));
  const listed = isScale
    ? Array.from({ length: NUM_LISTED }, (_, i) => shown[Math.round((i / (NUM_LISTED - 1)) * (shown.length - 1))])
    : shown.sort(([a], [b]) => compareValues(a, b));
  return { colors, legend: { values: listed, isScale, hasMissing: names.some((name) => !values.has(name)) } };
}

/** A colour for each of a few values. @param {readonly Value[]} values @param {Theme} theme @returns {Map<Value, string>} */
function distinctColors(values, theme) {
  // With the type in the text, the number 1 and the text "1" have different colours.
  const textOf = (/** @type {Value} */ value) => `${typeof value} ${value}`;
  const colors = colorsOf(values.map(textOf), theme);
  return new Map(values.map((value) => [value, colors.get(textOf(value)) ?? NO_VALUE_COLOR]));
}

/** The colours of different numbers by rank, in ascending order. NaN has none. @param {readonly number[]} numbers @param {Theme} theme @returns {Map<Value, string>} */
function scaleColors(numbers, theme) {
  const ascending = numbers.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return new Map(ascending.map((value, rank) => [value, scaleColor(rank / (ascending.length - 1), theme)]));
}

/** The colour at a position on the scale. @param {number} share  0 to 1 @param {Theme} theme */
function scaleColor(share, theme) {
  const stops = SCALE[theme];
  const at = share * (stops.length - 1);
  const k = Math.min(stops.length - 2, Math.floor(at));
  const [from, to] = [stops[k], stops[k + 1]];
  // Hues change in the direction of the shorter arc.
  const turn = ((((to[2] - from[2]) % 360) + 540) % 360) - 180;
  const [l, c] = [0, 1].map((j) => from[j] + (at - k) * (to[j] - from[j]));
  return oklchToHex(l, c, from[2] + (at - k) * turn);
}

/** Compares values, for sorting: first numbers in ascending order, then all others as texts. @param {Value} a @param {Value} b */
function compareValues(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
  return String(a) < String(b) ? -1 : 1;
}

// --- conversion ----------------------------------------------------------------------------------

/**
 * Converts OKLCH to sRGB. The chroma of a colour outside sRGB is reduced until it is inside.
 * Matrices: Björn Ottosson, "A perceptual color space for image processing".
 * @param {number} l  0 to 1
 * @param {number} c
 * @param {number} h  degrees
 * @returns {string} `#rrggbb`
 */
export function oklchToHex(l, c, h) {
  for (let chroma = c; ; chroma -= 0.01) {
    const a = chroma * Math.cos((h * Math.PI) / 180);
    const b = chroma * Math.sin((h * Math.PI) / 180);
    const long = (l + 0.396338 * a + 0.215804 * b) ** 3;
    const medium = (l - 0.105561 * a - 0.063854 * b) ** 3;
    const short = (l - 0.089484 * a - 1.291486 * b) ** 3;
    const linear = [
      4.076742 * long - 3.307712 * medium + 0.23097 * short,
      -1.268438 * long + 2.609757 * medium - 0.341319 * short,
      -0.004196 * long - 0.703419 * medium + 1.707615 * short,
    ];
    if (chroma <= 0 || linear.every((part) => part >= -1e-4 && part <= 1.0001)) {
      return `#${linear.map(hexByte).join("")}`;
    }
  }
}

/** A channel in sRGB, as two hexadecimal digits. @param {number} part  linear light, about 0 to 1 */
function hexByte(part) {
  const encoded = part <= 0.003131 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055;
  return Math.round(256 + 255 * Math.min(1, Math.max(0, encoded))).toString(16).slice(1);
}
