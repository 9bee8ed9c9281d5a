/**
 * How the tab shows its charts. Options live in the address, so that a link shows the same; the last ones are kept in
 * the browser, for pages that are opened without.
 */

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} Options
 */

/** @type {Options} */
const DEFAULTS = {
  x: "step",
  logX: false,
  logY: false,
  smooth: 0,
  clip: false,
  legend: false,
  link: false,
  size: "medium",
  spread: "range",
};
const CHOICES = {
  x: ["step", "relative", "wall_time"],
  size: ["small", "medium", "large"],
  spread: ["range", "deviation", "quartiles"],
};

/**
 * @param {Readonly<Record<string, string>>} texts  of the address
 * @returns {Options}
 */
export function parseOptions(texts) {
  /** @type {Record<string, unknown>} */
  const options = { ...DEFAULTS };
  for (const [name, fallback] of Object.entries(DEFAULTS)) {
    const text = texts[name];
    if (text === undefined) continue;
    if (typeof fallback === "boolean") options[name] = text === "true";
    else if (typeof fallback === "number") options[name] = Math.min(0.999, Math.max(0, Number(text) || 0));
    else if (CHOICES[/** @type {"x"} */ (name)].includes(text)) options[name] = text;
  }
  return /** @type {any} */ (options);
}

/**
 * @template {keyof Options} Name
 * @param {Host} host
 * @param {Name} name
 * @param {Options[Name]} value
 */
export function setOption(host, name, value) {
  const text = value === DEFAULTS[name] ? null : String(value);
  host.settings.set(name, text);
  host.preferences.set(name, text);
}

/**
 * Takes the options that were used last, when the address has none.
 * @param {Host} host
 */
export function recallOptions(host) {
  // A link shows what it says, also where it says nothing.
  if (Object.keys(host.settings.value).length > 0 || location.hash.includes("&")) return;
  for (const [name, text] of Object.entries(host.preferences.value)) {
    if (name in DEFAULTS) host.settings.set(name, text);
  }
}

/**
 * Lists of tags in the address: `a,b;c` is [[a, b], [c]].
 * @param {string | undefined} text
 * @returns {string[][]}
 */
export function parseTags(text) {
  const lists = (text ?? "").split(";").map((list) => list.split(",").filter(Boolean).map(decode));
  return lists.filter((list) => list.length > 0);
}

/**
 * @param {readonly (readonly string[])[]} lists
 * @returns {string | null} null when there is none
 */
export function formatTags(lists) {
  const text = lists.map((list) => list.map((tag) => encodeURIComponent(tag)).join(",")).filter(Boolean).join(";");
  return text || null;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a `%` that was typed by hand
  }
}
