/**
 * Numbers, steps, times, durations and sizes as short text, for axes, tooltips and the shell, and
 * the ticks of an axis. Pure functions, no DOM.
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
  if (size < 1e-4 || size >= 1e9) return trimExponent(value.toExponential(digits - 1));
  const whole = Math.floor(Math.log10(size)) + 1;
  return trimZeros(value.toFixed(Math.min(12, Math.max(0, digits - whole))));
}

/**
 * A training step with thousands separators, `1,234,567`.
 * @param {number} step
 */
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

/**
 * Labels for the ticks of one axis. All have the same number of decimals, just enough to tell
 * neighbouring ticks apart.
 * @param {ArrayLike<number>} ticks
 * @param {number} spacing  distance between ticks; 0 if it is not constant (a logarithmic axis)
 * @returns {string[]}
 */
export function formatTicks(ticks, spacing) {
  const values = Array.from(ticks);
  const largest = values.reduce((max, tick) => Math.max(max, Math.abs(tick)), 0);
  if (spacing === 0) return values.map((tick) => compact(tick));
  if (largest >= 1e15 || (largest > 0 && largest < 1e-4)) {
    const digits = Math.max(0, Math.floor(Math.log10(largest)) - Math.floor(Math.log10(spacing) + 1e-9));
    return values.map((tick) => (tick === 0 ? "0" : trimExponent(tick.toExponential(Math.min(digits, 17)))));
  }
  const [divisor, unit] = unitFor(largest, spacing);
  const decimals = decimalsOf(spacing / divisor);
  return values.map((tick) => (tick === 0 ? "0" : (tick / divisor).toFixed(decimals) + unit));
}

/**
 * The unit of axis labels: thousands, millions and so on where that is shorter, or else 1.
 * @param {number} largest  largest absolute value of the ticks
 * @param {number} spacing  distance between ticks
 * @returns {[divisor: number, unit: string]}
 */
function unitFor(largest, spacing) {
  for (const [divisor, unit] of UNITS) {
    // Larger units than k may have up to three decimals: 1000G becomes 1.000T. But 1.0002M is not
    // shorter than 1000200, and 1500 is clearer than 1.5k.
    if (largest >= divisor && decimalsOf(spacing / divisor) <= (divisor > 1e3 ? 3 : 0)) return [divisor, unit];
  }
  return [1, ""];
}

/** Units of axis labels, largest first. @type {[divisor: number, unit: string][]} */
const UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** The label of one tick of a logarithmic axis. @param {number} value */
function compact(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return trimExponent(value.toExponential(2));
  for (const [divisor, unit] of UNITS) if (size >= divisor) return trimZeros((value / divisor).toFixed(2)) + unit;
  return trimZeros(value.toPrecision(3));
}

/**
 * Number of decimals needed to write all multiples of a spacing exactly: 2 for 0.25. At most 12.
 * @param {number} spacing
 */
function decimalsOf(spacing) {
  for (let decimals = 0; decimals < 12; decimals++) {
    const scaled = spacing * 10 ** decimals;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled) && Math.round(scaled) > 0) return decimals;
  }
  return 12;
}

/**
 * A duration: `0.25 s`, `12 s`, `3m 20s`, `2h 05m`, `3d 4h`.
 * @param {number} seconds
 */
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

/**
 * Labels for the ticks of an axis of durations, such as `1m30s` for 90 seconds.
 * @param {ArrayLike<number>} ticks  seconds
 * @param {number} spacing  seconds
 * @returns {string[]}
 */
export function formatDurationTicks(ticks, spacing) {
  if (spacing < 1) return formatTicks(ticks, spacing).map((text) => (text === "0" ? text : `${text}s`));
  return Array.from(ticks, (tick) => {
    const size = Math.round(Math.abs(tick));
    /** @type {[number, string][]} */
    const parts = [
      [Math.floor(size / 86400), "d"],
      [Math.floor((size % 86400) / 3600), "h"],
      [Math.floor((size % 3600) / 60), "m"],
      [size % 60, "s"],
    ];
    const text = parts.filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`).join("");
    return text === "" ? "0" : (tick < 0 ? "−" : "") + text;
  });
}

/**
 * Date and time in the browser's time zone, `2020-03-01 11:06:02`.
 * @param {number} wallTime  seconds since the epoch
 */
export function formatTime(wallTime) {
  const date = new Date(wallTime * 1000);
  if (Number.isNaN(date.getTime())) return formatValue(wallTime);
  return `${formatDate(date)} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A date as `2020-03-01`. @param {Date} date */
function formatDate(date) {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/**
 * Labels for the ticks of a wall time axis. Only the first tick of a day has the date, on a second
 * line.
 * @param {ArrayLike<number>} ticks  seconds since the epoch, ascending
 * @param {number} spacing  seconds
 * @returns {string[]}
 */
export function formatTimeTicks(ticks, spacing) {
  let day = "";
  return Array.from(ticks, (tick) => {
    const date = new Date(tick * 1000);
    const today = formatDate(date);
    const isNew = today !== day;
    day = today;
    if (spacing >= 86400) return today;
    const clock = `${two(date.getHours())}:${two(date.getMinutes())}${spacing < 60 ? `:${two(date.getSeconds())}` : ""}`;
    return isNew ? `${clock}\n${today}` : clock;
  });
}

/**
 * A number of bytes, `512 B`, `1.4 MB`.
 * @param {number} bytes
 */
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
 * Shortens a number in exponential notation: `1.50e+7` becomes `1.5e7`.
 * @param {string} text  from toExponential
 */
function trimExponent(text) {
  const [mantissa, exponent] = text.split("e");
  return `${trimZeros(mantissa)}e${exponent.replace("+", "")}`;
}

// --- ticks of an axis ----------------------------------------------------------------------------

/**
 * @typedef {object} Ticks
 * @property {number[]} at  ascending, inside the range
 * @property {number} spacing  distance between ticks; 0 if it is not constant
 */

/**
 * Ticks at round numbers, with a spacing of 1, 2 or 5 times a power of ten.
 * @param {number} min
 * @param {number} max
 * @param {number} maxTicks  number of ticks that there is space for
 * @param {number} [minSpacing]  smallest spacing allowed, such as 1 for steps
 * @returns {Ticks}
 */
export function numberTicks(min, max, maxTicks, minSpacing = 0) {
  if (!(max > min) || maxTicks < 1) return { at: Number.isFinite(min) ? [min] : [], spacing: 0 };
  // Divide before subtracting, because max - min may overflow to infinity.
  const raw = Math.max(max / maxTicks - min / maxTicks, minSpacing);
  const power = 10 ** Math.floor(Math.log10(raw));
  const spacing = power * ([1, 2, 5].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10);
  return { at: multiples(min, max, spacing), spacing };
}

/**
 * Tick spacings for durations, in seconds, up to a week. Longer spacings are multiples of a day.
 */
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/**
 * Ticks for durations, at round minutes, hours and so on.
 * @param {number} min  seconds
 * @param {number} max  seconds
 * @param {number} maxTicks  number of ticks that there is space for
 * @returns {Ticks}
 */
export function durationTicks(min, max, maxTicks) {
  if (!(max > min) || maxTicks < 1) return numberTicks(min, max, maxTicks);
  const raw = (max - min) / maxTicks;
  if (raw <= 0.5) return numberTicks(min, max, maxTicks);
  const spacing = DURATIONS.find((duration) => duration >= raw) ?? 86400 * numberTicks(0, (max - min) / 86400, maxTicks, 1).spacing;
  return { at: multiples(min, max, spacing), spacing };
}

/**
 * Ticks for wall time, at round times in the browser's time zone.
 * @param {number} min  seconds since the epoch
 * @param {number} max  seconds since the epoch
 * @param {number} maxTicks  number of ticks that there is space for
 * @returns {Ticks}
 */
export function timeTicks(min, max, maxTicks) {
  const { at, spacing } = durationTicks(min, max, maxTicks);
  if (spacing < 60 || at.length === 0) return { at, spacing };
  // Multiples of an hour or a day are round times in UTC. Shifted by the offset of the local time
  // zone, they are round in local time.
  const offset = new Date(at[0] * 1000).getTimezoneOffset() * 60;
  return { at: multiples(min - offset, max - offset, spacing).map((tick) => tick + offset), spacing };
}

/**
 * Ticks for a logarithmic axis: powers of ten. Where there is space, also 2 and 5 times each power;
 * where there is too little, only every nth power.
 * @param {number} min  above 0
 * @param {number} max
 * @param {number} maxTicks  number of ticks that there is space for
 * @param {number} [minSpacing]  smallest spacing allowed, such as 1 for steps; also the smallest
 *   tick
 * @returns {Ticks}
 */
export function logTicks(min, max, maxTicks, minSpacing = 0) {
  const low = Math.log10(min);
  const high = Math.log10(max);
  if (!(high > low)) return { at: [min], spacing: 0 };
  if (high - low < 1) return numberTicks(min, max, maxTicks, minSpacing); // nearly linear
  const every = Math.max(1, Math.ceil((high - low) / maxTicks));
  const factors = (high - low) * 3 <= maxTicks ? [1, 2, 5] : [1];
  const at = [];
  for (let power = Math.floor(low / every) * every; power <= high; power += every) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9) && tick >= minSpacing) at.push(tick);
    }
  }
  return { at, spacing: 0 };
}

/**
 * Ticks of a logarithmic axis of durations, in seconds. Each is roughly ten times the one before.
 */
const LOG_DURATIONS = [1e-3, 1e-2, 1e-1, 1, 10, 60, 600, 3600, 36000, 86400 * 4, 86400 * 40, 86400 * 400];

/**
 * Ticks for durations on a logarithmic axis.
 * @param {number} min  seconds, above 0
 * @param {number} max  seconds
 * @param {number} maxTicks  number of ticks that there is space for
 * @returns {Ticks}
 */
export function logDurationTicks(min, max, maxTicks) {
  if (max / min < 10) return durationTicks(min, max, maxTicks);
  const at = LOG_DURATIONS.filter((tick) => tick >= min && tick <= max);
  const every = Math.ceil(at.length / maxTicks);
  return { at: at.filter((_, i) => i % every === 0), spacing: 0 };
}

/**
 * The multiples of a spacing from `min` to `max`, at most 200.
 * @param {number} min
 * @param {number} max
 * @param {number} spacing
 */
function multiples(min, max, spacing) {
  const first = Math.ceil(min / spacing - 1e-9);
  const last = Math.floor(max / spacing + 1e-9);
  // The spacing is too fine for the precision of doubles.
  if (Math.max(Math.abs(first), Math.abs(last)) > 1e15) return [min];
  /** @type {number[]} */
  const at = [];
  // Products, not sums, because rounding errors of sums add up. Dividing by a power of ten gives
  // 0.3 and not 0.30000000000000004.
  const scale = spacing < 1 ? Math.round(1 / 10 ** Math.floor(Math.log10(spacing))) : 1;
  const unit = Math.round(spacing * scale);
  const exact = scale <= 1e15 && Math.abs(spacing * scale - unit) < 1e-9;
  for (let i = first; i <= last && at.length < 200; i++) {
    at.push((exact && scale > 1 ? (i * unit) / scale : i * spacing) + 0); // + 0 turns -0 into 0
  }
  return at;
}
