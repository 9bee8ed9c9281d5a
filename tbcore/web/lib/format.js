/**
 * Numbers, steps, times, durations, sizes and names as short text, for tooltips, tables and the
 * shell; and the numbers of responses. Pure functions, no DOM and no imports, so that a plugin's page
 * can load it.
 */

const INTEGER_FORMAT = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/**
 * A value with at most six significant digits and no trailing zeros. Numbers below 0.0001 and from
 * 1e9 on have an exponent; for others, all digits before the decimal point are kept.
 * @param {number} value
 * @param {number} [digits]  maximum number of significant digits
 * @returns {string} for example `0.0625`, `1.234e-7`, `NaN`, `∞`
 */
export function formatValue(value, digits = 6) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  // 1.50e+7 becomes 1.5e7.
  if (size < 1e-4 || size >= 1e9) return value.toExponential(digits - 1).replace(/\.?0*e\+?/, "e");
  const whole = Math.floor(Math.log10(size)) + 1;
  return trimZeros(value.toFixed(Math.min(12, Math.max(0, digits - whole))));
}

/** Characters of names that are not shown as themselves: control characters, line breaks, and those that change the direction of text. */
const HIDDEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * The name of a run or tag as one line of text, in which hidden characters are escaped: `\n`,
 * `\u001b`, `\u202e`. With the last one, `fdp.exe` would look like `exe.pdf`. Only for text that is
 * shown: use the name itself in requests and keys.
 * @param {string} name
 */
export function formatName(name) {
  return name.replace(HIDDEN, (char) => (char === "\n" ? "\\n" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`));
}

/** What separates the words of a name. Points and signs of numbers do not. */
const SEPARATOR = /[_\-/ ,;|]/;
/** Common parts of fewer characters are kept: leaving them out saves no space. */
const MIN_COMMON_LENGTH = 4;

/**
 * The lengths of the beginning and of the end that all labels have in common, up to a separator:
 * [6, 6] for `mnist_lr1e-3_final` and `mnist_lr1e-4_final`. Each label is longer than both.
 * @param {readonly string[]} labels
 * @returns {[start: number, end: number]}
 */
export function commonLengths(labels) {
  if (labels.length < 2) return [0, 0];
  const [first] = labels;
  const shortest = labels.reduce((length, label) => Math.min(length, label.length), Infinity);
  /** Whether the text before a dash makes it the sign of an exponent, as in `1e-3`. @param {string} before */
  const isSign = (before) => /\de$/i.test(before);

  let start = shortest - 1;
  for (const label of labels) start = commonLength(start, (i) => label[i] === first[i]);
  while (start > 0 && (!SEPARATOR.test(first[start - 1]) || isSign(first.slice(0, start - 1)))) start--;
  if (start < MIN_COMMON_LENGTH) start = 0;

  let end = shortest - 1 - start;
  for (const label of labels) end = commonLength(end, (i) => label[label.length - 1 - i] === first[first.length - 1 - i]);
  while (end > 0 && (!SEPARATOR.test(first[first.length - end]) || labels.some((label) => isSign(label.slice(0, -end))))) end--;
  return [start, end < MIN_COMMON_LENGTH ? 0 : end];
}

/** The number of positions from 0 on, up to a maximum, that are equal. @param {number} max @param {(i: number) => boolean} isEqual */
function commonLength(max, isEqual) {
  let length = 0;
  while (length < max && isEqual(length)) length++;
  return Math.max(0, length);
}

/** A training step with thousands separators, `1,234,567`. @param {number} step */
export function formatStep(step) {
  return Number.isInteger(step) ? INTEGER_FORMAT.format(step) : formatValue(step);
}

/**
 * A count with a noun in the right number: `1 run`, `2,000 runs`, `3 directories`.
 * @param {number} count
 * @param {string} noun  singular
 * @param {string} [plural]  plural, if it is not the noun with an s
 */
export function plural(count, noun, plural = `${noun}s`) {
  return `${INTEGER_FORMAT.format(count)} ${count === 1 ? noun : plural}`;
}

/** A duration: `0.25 s`, `12 s`, `3m 20s`, `2h 05m`, `3d 4h`. @param {number} seconds */
export function formatDuration(seconds) {
  if (!Number.isFinite(seconds)) return formatValue(seconds);
  const sign = seconds < 0 ? "−" : "";
  const size = Math.abs(seconds);
  if (size < 10) return `${sign}${trimZeros(size.toFixed(2))} s`;
  const whole = Math.round(size);
  if (whole < 60) return `${sign}${whole} s`;
  if (whole < 3600) return `${sign}${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86400) return `${sign}${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
  return `${sign}${Math.floor(whole / 86400)}d ${Math.floor((whole % 86400) / 3600)}h`;
}

/** Date and time in the browser's time zone, `2020-03-01 11:06:02`. @param {number} wallTime  seconds since the epoch */
export function formatTime(wallTime) {
  const date = new Date(wallTime * 1000);
  if (Number.isNaN(date.getTime())) return formatValue(wallTime);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A number of bytes, `512 B`, `1.4 MB`. @param {number} bytes */
export function formatBytes(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let size = bytes;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 || size >= 99.5 ? Math.round(size) : trimZeros(size.toFixed(1))} ${units[unit]}`;
}

/**
 * Converts a number from the server's JSON, in which non-finite numbers are the strings "NaN",
 * "Infinity" and "-Infinity". null becomes NaN.
 * @param {number | string | null} value
 */
export function toNumber(value) {
  return value === null ? NaN : Number(value);
}

/** At least two digits, with a leading zero. @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}

/** Removes trailing zeros after the decimal point. @param {string} text */
function trimZeros(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * Reads the body of a response. The columns are views into the buffer: nothing is parsed or copied.
 *
 *     const { header, tables } = readColumns(await (await host.fetch("window", …)).arrayBuffer());
 *
 * The body is the length of a JSON text (uint32), the text, padded so that it ends at a multiple of
 * 8 bytes, and then the columns one after the other (float64). Everything is little-endian, like
 * all machines that browsers run on.
 * @param {ArrayBuffer} buffer
 * @returns {{ header: any, tables: Record<string, Float64Array>[] }}
 */
export function readColumns(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  /** @type {{ header: any, tables: { rows: number, columns: string[] }[] }} */
  const { header, tables } = JSON.parse(text);
  let offset = 4 + length;
  const columnOf = (/** @type {number} */ rows) => new Float64Array(buffer, (offset += 8 * rows) - 8 * rows, rows);
  return { header, tables: tables.map(({ rows, columns }) => Object.fromEntries(columns.map((name) => [name, columnOf(rows)]))) };
}
