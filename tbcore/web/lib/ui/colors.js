/**
 * Stable, distinguishable colours for the names of runs and groups. Pure functions, no DOM.
 *
 * A name gets the colour that its hash selects, if that colour is still unused. Otherwise the
 * name gets the colour that differs most from the colours of the names just before it, because it
 * is most likely compared with these names. New runs are appended to `data/runs`, so the colours of
 * existing runs never change, and the first runs mostly have the same colour in every log
 * directory. Colours are defined in OKLCH, where colours of equal lightness look equally light.
 */

/**
 * The base colours: blue, orange, green, red, purple, sky, pink and gold. Gold comes last because it
 * is close to orange for colour-blind users. For each of them: hue (degrees), then lightness (0 to 1) and chroma in the light theme, then
 * lightness and chroma in the dark theme.
 *
 * An optimiser started with the palette of Okabe and Ito, which is made for all kinds of colour
 * vision, and moved hues, lightness and chroma. The distance between any two of the first seven in
 * OKLab is at least 0.15, and 0.095 as seen with protanopia or deuteranopia (matrices of Machado,
 * Oliveira and Fernandes, 2009). Dark yellow was excluded because it looks like mud.
 * @type {[h: number, lightL: number, lightC: number, darkL: number, darkC: number][]}
 */
const BASE = [
  [264, 0.581, 0.2, 0.644, 0.18],
  [50, 0.651, 0.157, 0.703, 0.18],
  [166, 0.624, 0.137, 0.671, 0.127],
  [21, 0.505, 0.173, 0.567, 0.144],
  [314, 0.463, 0.2, 0.576, 0.158],
  [231, 0.698, 0.149, 0.78, 0.145],
  [349, 0.713, 0.177, 0.778, 0.164],
  [86, 0.72, 0.145, 0.833, 0.131],
];

/**
 * Three tiers of each base colour: the colour itself, a darker and a paler one. Each is an offset of
 * lightness and a factor of chroma. The numbers maximize the smallest distance between any two
 * colours. Lighter colours are excluded because they would look like text in the dark theme.
 */
const TIERS = {
  light: [[0, 1], [-0.11, 0.85], [-0.04, 0.45]],
  dark: [[0, 1], [-0.12, 0.95], [-0.05, 0.5]],
};
/** Darker colours would be hard to see in the dark theme. */
const MIN_DARK_LIGHTNESS = 0.48;

/**
 * Number of slots in each stage. A slot is the index of a colour: slot i is the base colour i % 8
 * in the tier floor(i / 8). A stage of n slots has the slots 0 to n - 1, which are all used before
 * any later slot.
 */
const STAGES = [7, 8, 16, 24];
const NUM_SLOTS = STAGES[STAGES.length - 1];

/** A new colour should differ from the colours of this many names before it. */
const NUM_NEIGHBOURS = 8;

/**
 * Distance of slots a and b in OKLab, at `a * NUM_SLOTS + b`: the smaller of their distances in the
 * light and the dark theme.
 */
const DISTANCES = Float32Array.from({ length: NUM_SLOTS * NUM_SLOTS }, (_, index) => {
  const distances = /** @type {const} */ (["light", "dark"]).map((theme) => {
    const [l1, c1, h1] = slotColor(Math.floor(index / NUM_SLOTS), theme);
    const [l2, c2, h2] = slotColor(index % NUM_SLOTS, theme);
    return Math.sqrt((l1 - l2) ** 2 + c1 ** 2 + c2 ** 2 - 2 * c1 * c2 * Math.cos(((h1 - h2) * Math.PI) / 180));
  });
  return Math.min(...distances);
});

/**
 * The colour of each name.
 * @param {readonly string[]} names  runs in the order of `data/runs`, so that colours are stable
 * @param {"light" | "dark"} theme
 * @returns {Map<string, string>} name to `#rrggbb`
 */
export function colorsOf(names, theme) {
  const hexes = Array.from({ length: NUM_SLOTS }, (_, slot) => oklchToHex(...slotColor(slot, theme)));
  return new Map(slotsOf(names).map((slot, i) => [names[i], hexes[slot]]));
}

/** The slot of each name, in the order of the names. @param {readonly string[]} names */
export function slotsOf(names) {
  const numUses = new Uint32Array(NUM_SLOTS);
  /** @type {number[]} */
  const assigned = [];
  for (const name of names) {
    const slot = chooseSlot(hashOf(name) % STAGES[0], numUses, assigned.slice(-NUM_NEIGHBOURS));
    numUses[slot]++;
    assigned.push(slot);
  }
  return assigned;
}

/** The colour of a slot in OKLCH. @param {number} slot @param {"light" | "dark"} theme @returns {[l: number, c: number, h: number]} */
export function slotColor(slot, theme) {
  const [h, lightL, lightC, darkL, darkC] = BASE[slot % BASE.length];
  const [offset, factor] = TIERS[theme][Math.floor(slot / BASE.length)];
  return theme === "light" ? [lightL + offset, lightC * factor, h] : [Math.max(MIN_DARK_LIGHTNESS, darkL + offset), darkC * factor, h];
}

/**
 * Chooses a slot for a name: the preferred slot if it is unused, or else the candidate that differs
 * most from the neighbours. The candidates are the unused slots of the first stage that has any. If
 * all slots are used, the candidates are the slots with at most one use more than the least used
 * slot.
 * @param {number} preferred
 * @param {Uint32Array} numUses  for each slot, the number of names that have it
 * @param {readonly number[]} neighbours  slots of the preceding names
 */
function chooseSlot(preferred, numUses, neighbours) {
  if (numUses[preferred] === 0) return preferred;
  const firstUnused = numUses.indexOf(0);
  const end = firstUnused < 0 ? NUM_SLOTS : /** @type {number} */ (STAGES.find((stage) => firstUnused < stage));
  const maxUses = firstUnused < 0 ? numUses.reduce((a, b) => Math.min(a, b)) + 1 : 0;
  let best = 0;
  let bestDistance = -1;
  for (let i = 0; i < end; i++) {
    // Start at the preferred slot, so that the name decides between equally distant ones.
    const slot = (preferred + i) % end;
    if (numUses[slot] > maxUses) continue;
    let distance = Infinity;
    for (const other of neighbours) distance = Math.min(distance, DISTANCES[slot * NUM_SLOTS + other]);
    if (distance > bestDistance) {
      best = slot;
      bestDistance = distance;
    }
  }
  return best;
}

/** A 32-bit hash: FNV-1a with a final mix. @param {string} text */
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

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
    const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const medium = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
    const linear = [
      4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
      -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
      -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
    ];
    if (chroma <= 0 || linear.every((part) => part >= -1e-4 && part <= 1.0001)) {
      return `#${linear.map(hexByte).join("")}`;
    }
  }
}

/** A channel in sRGB, as two hexadecimal digits. @param {number} part  linear light, about 0 to 1 */
function hexByte(part) {
  const encoded = part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055;
  const byte = Math.round(Math.min(1, Math.max(0, encoded)) * 255);
  return byte.toString(16).padStart(2, "0");
}

/**
 * The CSS background of a line's sample in a legend.
 * @param {string} color
 * @param {readonly number[]} [dash]  pixels on, pixels off
 */
export function lineSample(color, dash) {
  if (!dash) return color;
  const [on, off] = dash;
  return `repeating-linear-gradient(90deg, ${color} 0 ${on}px, transparent ${on}px ${on + off}px)`;
}
