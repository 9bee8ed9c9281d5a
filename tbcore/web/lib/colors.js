/**
 * Stable, distinguishable colours for run names. Pure.
 *
 * A run's name decides its colour as long as that colour is free. Otherwise it gets the one that differs most from
 * the runs just before it, which are those it is likely compared with. `data/runs` only ever grows at its end, so a run
 * keeps its colour while others arrive, and few runs have the same colour in every log directory. Colours are made in
 * OKLCH, where equal numbers look equally light.
 */

/**
 * Lightness (0 to 1), chroma and hue (degrees) of the base colours on a light ground. Neighbours differ in lightness
 * too, which helps where hues are hard to tell apart.
 * @type {[l: number, c: number, h: number][]}
 */
const BASE = [
  [0.58, 0.17, 258], // blue
  [0.7, 0.16, 55], // orange
  [0.56, 0.13, 162], // green
  [0.58, 0.2, 25], // red
  [0.55, 0.19, 300], // violet
  [0.68, 0.11, 205], // cyan
  [0.63, 0.2, 350], // pink
  [0.71, 0.14, 95], // ochre
  [0.5, 0.08, 60], // brown
  [0.68, 0.18, 130], // lime
  [0.48, 0.12, 225], // petrol
  [0.67, 0.13, 320], // orchid
];

/**
 * The base colours, then darker, then paler ones: offset of lightness and factor of chroma.
 * @type {[l: number, c: number][]}
 */
const TIERS = [
  [0, 1],
  [-0.15, 0.9],
  [-0.03, 0.45],
];

/** @type {[l: number, c: number, h: number][]} */
const SLOTS = TIERS.flatMap(([offset, factor]) =>
  BASE.map(([l, c, h]) => /** @type {[number, number, number]} */ ([l + offset, c * factor, h])),
);

/** As many runs before one must look different from it, as far as possible. */
const NUM_NEIGHBOURS = 8;

/**
 * Colours of all runs.
 * @param {readonly string[]} runs  in the order of data/runs
 * @param {"light" | "dark"} theme
 * @returns {Map<string, string>} run name to `#rrggbb`
 */
export function colorsOf(runs, theme) {
  const hexes = SLOTS.map(([l, c, h]) => themed(l, c, h, theme));
  const numUses = new Uint32Array(SLOTS.length);
  /** @type {number[]} */
  const given = [];
  /** @type {Map<string, string>} */
  const colors = new Map();
  for (const run of runs) {
    const slot = chooseSlot(hashOf(run) % BASE.length, numUses, given.slice(-NUM_NEIGHBOURS));
    numUses[slot]++;
    given.push(slot);
    colors.set(run, hexes[slot]);
  }
  return colors;
}

/**
 * The preferred slot while it is free, else the one that differs most from the neighbours: among the free slots of the
 * first tier that has any, and when all were given away among those given away least.
 * @param {number} preferred
 * @param {Uint32Array} numUses  of each slot
 * @param {readonly number[]} neighbours  slots
 */
function chooseSlot(preferred, numUses, neighbours) {
  if (numUses[preferred] === 0) return preferred;
  const firstFree = numUses.indexOf(0);
  const tier = Math.floor(firstFree / BASE.length);
  const least = numUses.reduce((a, b) => Math.min(a, b));
  let best = 0;
  let bestDistance = -1;
  for (let i = 0; i < SLOTS.length; i++) {
    const slot = (preferred + i) % SLOTS.length; // begins at the name's own: that decides between equals
    if (firstFree >= 0 ? numUses[slot] > 0 || Math.floor(slot / BASE.length) !== tier : numUses[slot] > least + 1) continue;
    const distance = neighbours.reduce((nearest, other) => Math.min(nearest, distanceOf(slot, other)), Infinity);
    if (distance > bestDistance) {
      best = slot;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * How different two slots look: distance in OKLab.
 * @param {number} a
 * @param {number} b
 */
function distanceOf(a, b) {
  const [l1, c1, h1] = SLOTS[a];
  const [l2, c2, h2] = SLOTS[b];
  const angle = ((h1 - h2) * Math.PI) / 180;
  return Math.sqrt((l1 - l2) ** 2 + c1 ** 2 + c2 ** 2 - 2 * c1 * c2 * Math.cos(angle));
}

/**
 * On a dark ground the same hue is lighter and a little less strong.
 * @param {number} l
 * @param {number} c
 * @param {number} h
 * @param {"light" | "dark"} theme
 */
function themed(l, c, h, theme) {
  return theme === "light" ? oklchToHex(l, c, h) : oklchToHex(Math.min(0.9, l * 0.72 + 0.28), c * 0.88, h);
}

/**
 * FNV-1a with a final mix, 32 bits.
 * @param {string} text
 */
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/**
 * OKLCH to sRGB. Colours outside sRGB lose chroma until they fit. Matrices: Björn Ottosson, "A perceptual color space
 * for image processing".
 * @param {number} l  0 to 1
 * @param {number} c
 * @param {number} h  degrees
 * @returns {string} `#rrggbb`
 */
export function oklchToHex(l, c, h) {
  for (let chroma = c; ; chroma -= 0.01) {
    const a = chroma * Math.cos((h * Math.PI) / 180);
    const b = chroma * Math.sin((h * Math.PI) / 180);
    const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const medium = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
      4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
      -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
      -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
    ];
    if (chroma <= 0 || linear.every((part) => part >= -1e-4 && part <= 1.0001)) {
      return `#${linear.map((part) => hexByte(gamma(part))).join("")}`;
    }
  }
}

/** @param {number} part  linear light, 0 to 1 */
function gamma(part) {
  return part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055;
}

/** @param {number} part  0 to 1 */
function hexByte(part) {
  return Math.round(Math.min(1, Math.max(0, part)) * 255)
    .toString(16)
    .padStart(2, "0");
}
