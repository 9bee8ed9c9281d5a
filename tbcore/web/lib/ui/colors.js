/**
 * Stable, distinguishable colours for the names of runs and groups. Pure functions, no DOM.
 *
 * A name gets the colour that its hash selects among the first seven, if that colour is still
 * unused, and otherwise the next unused one; when all are used, they are handed out again in order.
 * New runs are appended to `data/runs`, so the colours of existing runs never change, and the first
 * runs mostly have the same colour in every log directory. Colours are defined in OKLCH, where
 * colours of equal lightness look equally light.
 */

/**
 * The base colours: blue, orange, green, red, purple, sky, pink, gold, two more purples, a dark
 * green and rose.
 * For each of them: hue (degrees), then lightness (0 to 1) and chroma in the light theme, then
 * lightness and chroma in the dark theme.
 *
 * An optimiser started with the palette of Okabe and Ito, which is made for all kinds of colour
 * vision, and moved hues, lightness and chroma. All have a contrast of at least 3 to cards. The
 * distance between any two in OKLab is at least 0.085, and 0.06 as seen with protanopia, deuteranopia
 * or tritanopia (matrices of Machado, Oliveira and Fernandes, 2009); of the first seven, at least
 * 0.17, and 0.1 with protanopia or deuteranopia.
 * @type {[h: number, lightL: number, lightC: number, darkL: number, darkC: number][]}
 */
const BASE = [
  [269, 0.499, 0.198, 0.644, 0.184],
  [45, 0.581, 0.166, 0.699, 0.198],
  [166, 0.562, 0.111, 0.856, 0.166],
  [26, 0.414, 0.16, 0.537, 0.148],
  [320, 0.417, 0.193, 0.537, 0.191],
  [240, 0.654, 0.14, 0.79, 0.113],
  [346, 0.657, 0.173, 0.7, 0.147],
  [87, 0.665, 0.129, 0.816, 0.158],
  [317, 0.538, 0.137, 0.599, 0.086],
  [317, 0.465, 0.087, 0.64, 0.207],
  [167, 0.413, 0.08, 0.52, 0.098],
  [6, 0.62, 0.218, 0.783, 0.129],
];

/**
 * The base colours themselves, and paler ones of the same hues, which are used after them. Each tier
 * is an offset of lightness and a factor of chroma. Lighter colours are excluded because they would
 * look like text in the dark theme.
 */
const TIERS = {
  light: [[0, 1], [0.06, 0.85]],
  dark: [[0, 1], [-0.06, 0.7]],
};

/** Number of colours. A slot is the index of a colour: slot i is the base colour i % 12 in the tier floor(i / 12). */
const NUM_SLOTS = 2 * BASE.length;
/** The first slots are farther apart than others; a name prefers one of them. */
const NUM_PREFERRED = 7;

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
  const unused = new Set(Array(NUM_SLOTS).keys());
  return names.map((name, i) => {
    if (i >= NUM_SLOTS) return i % NUM_SLOTS;
    const preferred = hashOf(name) % NUM_PREFERRED;
    const slot = unused.has(preferred) ? preferred : /** @type {number} */ ([...unused][0]);
    unused.delete(slot);
    return slot;
  });
}

/** The colour of a slot in OKLCH. @param {number} slot @param {"light" | "dark"} theme @returns {[l: number, c: number, h: number]} */
function slotColor(slot, theme) {
  const [h, lightL, lightC, darkL, darkC] = BASE[slot % BASE.length];
  const [offset, factor] = TIERS[theme][Math.floor(slot / BASE.length)];
  return theme === "light" ? [lightL + offset, lightC * factor, h] : [darkL + offset, darkC * factor, h];
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
