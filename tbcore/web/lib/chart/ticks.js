/** Ticks of an axis at round numbers or times, with labels. Pure functions, no DOM. */

import { formatStep, formatTime } from "../format.js";
import { fromAxis, shareOf, toAxis } from "./axes.js";

/**
 * @typedef {object} Ticks
 * @property {number[]} at  ascending, inside the range
 * @property {number} spacing  distance between ticks; 0 if it is not constant
 *
 * @typedef {(min: number, max: number, maxTicks: number, minSpacing?: number) => Ticks} MakeTicks
 *   makes ticks for a range. `maxTicks`: number of ticks that there is space for; `minSpacing`:
 *   smallest spacing allowed, such as 1 for steps
 * @typedef {(ticks: readonly number[], spacing: number) => string[]} MakeLabels  `spacing`: distance
 *   between ticks; 0 if it is not constant
 */

/** Units of labels, largest first. @type {[divisor: number, unit: string][]} */
const UNITS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];
/** Tick spacings for durations, in seconds, up to a week. Longer spacings are multiples of a day. */
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
/**
 * Multiples of powers of ten that a logarithmic axis labels, and the largest space that a label may
 * need for it, as a share of the space between two powers of ten.
 * @type {[maxSpace: number, factors: number[]][]}
 */
const LOG_FACTORS = [
  [0.11, [1, 2, 3, 4, 5, 7]],
  [0.2, [1, 2, 3, 5]],
  [0.34, [1, 2, 5]],
  [Infinity, [1]],
];
/** The largest space for which there are minor ticks. */
const MAX_SPACE_FOR_MINOR_TICKS = 0.75;
/** Ticks of a logarithmic axis of durations, in seconds. Each is roughly ten times the one before. */
const LOG_DURATIONS = [1e-3, 1e-2, 1e-1, 1, 10, 60, 600, 3600, 36000, 86400 * 4, 86400 * 40, 86400 * 400];

/**
 * The ticks of an axis, with labels. A label of wall time may have a second line, with the date.
 * @param {import("./types.js").Axis} axis  of one value, if its range has no length
 * @param {number} maxTicks  number of labels that there is space for; at least 2 are made
 * @param {boolean} [hasMinor]  adds, on a logarithmic axis with space for them, minor ticks, whose
 *   labels are empty
 * @returns {import("./types.js").Tick[]} ascending; minor ticks come first
 */
export function axisTicks({ kind, log, range }, maxTicks, hasMinor = false) {
  const [min, max] = range.map((coordinate) => fromAxis({ log }, coordinate));
  const count = Math.max(2, Math.floor(maxTicks));
  const minSpacing = kind === "step" ? 1 : 0;
  /** @type {Ticks} */
  let ticks;
  /** @type {string[]} */
  let labels;
  if (kind === "relative") {
    ticks = log ? logDurationTicks(min, max, count, log === true ? 0 : log) : durationTicks(min, max, count);
    labels = ticks.at.flatMap((tick) => formatDurationTicks([tick], ticks.spacing || tick));
  } else if (kind === "wall_time" && Math.max(-min, max) <= 8.64e12) {
    // The last date of JavaScript. Larger wall times are in another unit than seconds.
    ticks = timeTicks(min, max, count);
    labels = formatTimeTicks(ticks.at, ticks.spacing);
  } else {
    const makeTicks = log === true ? logTicks : log ? symlogTicks(log, range) : numberTicks;
    ticks = makeTicks(min, max, count, minSpacing);
    labels = kind === "step" && min === max ? ticks.at.map(formatStep) : formatTicks(ticks.at, ticks.spacing);
  }
  const isWide = (range[1] - range[0]) / count <= MAX_SPACE_FOR_MINOR_TICKS;
  const minor = hasMinor && log && isWide && kind !== "relative" ? minorTicks(min, max, log) : [];
  return [...minor, ...ticks.at].map((value, i) => ({ value, share: shareOf(range, toAxis({ log }, value)), label: labels[i - minor.length] ?? "" }));
}

// --- positions -----------------------------------------------------------------------------------

/** Ticks at round numbers, with a spacing of 1, 2 or 5 times a power of ten. @type {MakeTicks} */
export function numberTicks(min, max, maxTicks, minSpacing = 0) {
  if (!(max > min)) return { at: Number.isFinite(min) ? [min] : [], spacing: 0 };
  // Divide before subtracting, because max - min may overflow to infinity.
  const raw = Math.max(max / maxTicks - min / maxTicks, minSpacing);
  const power = 10 ** Math.floor(Math.log10(raw));
  const spacing = power * ([1, 2, 5].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10);
  return { at: multiples(min, max, spacing), spacing };
}

/**
 * Ticks for a logarithmic axis: powers of ten. Where there is space, also some of their multiples;
 * where there is too little, only every nth power. `minSpacing` is also the smallest tick.
 * @type {MakeTicks}
 */
export function logTicks(min, max, maxTicks, minSpacing = 0) {
  const low = Math.log10(min);
  const high = Math.log10(max);
  if (!(high > low)) return { at: [min], spacing: 0 };
  const space = (high - low) / maxTicks;
  const every = Math.max(1, Math.ceil(space));
  const [, factors] = /** @type {[number, number[]]} */ (LOG_FACTORS.find(([maxSpace]) => space <= maxSpace));
  const at = [];
  for (let power = Math.floor(low / every) * every; power <= high; power += every) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9) && tick >= minSpacing) at.push(tick);
    }
  }
  // Nearly linear.
  if (high - low < 1 && at.length < 3) return numberTicks(min, max, maxTicks, minSpacing);
  return { at, spacing: 0 };
}

/**
 * Ticks for a symmetric-logarithmic axis: 0, and those of a logarithmic axis on both sides, from the
 * linear part on if there is space.
 * @param {number} linear  end of the linear part
 * @param {import("./types.js").Range} range  in axis coordinates
 * @returns {MakeTicks}
 */
function symlogTicks(linear, range) {
  return (min, max, maxTicks, minSpacing) => {
    // Nearly linear.
    if (Math.max(-min, max) < 10 * linear) return numberTicks(min, max, maxTicks, minSpacing);
    const space = (range[1] - range[0]) / maxTicks;
    const has0 = min <= 0 && max >= 0;
    const start = has0 && space > 0.25 ? 10 * linear : linear;
    /** @param {number} low @param {number} high */
    const side = (low, high) => {
      const first = Math.max(low, start);
      return high < first ? [] : logTicks(first, high, Math.max(1, Math.log10(high / first) / space)).at;
    };
    return { at: [...side(-max, -min).map((tick) => -tick).reverse(), ...(has0 ? [0] : []), ...side(min, max)], spacing: 0 };
  };
}

/** All multiples of powers of ten on a logarithmic axis. @param {number} min @param {number} max @param {true | number} log */
function minorTicks(min, max, log) {
  const at = [];
  const last = Math.min(Math.max(-min, max), 1e308);
  for (let power = Math.floor(Math.log10(log === true ? min : log)); 10 ** power <= last; power++) {
    for (let factor = 1; factor < 10; factor++) at.push(factor * 10 ** power, -factor * 10 ** power);
  }
  return at.filter((tick) => tick >= min && tick <= Math.min(max, 1e308)).sort((a, b) => a - b);
}

/** Ticks for durations in seconds, at round minutes, hours and so on. @type {MakeTicks} */
export function durationTicks(min, max, maxTicks) {
  if (!(max > min)) return numberTicks(min, max, maxTicks);
  const raw = (max - min) / maxTicks;
  if (raw <= 0.5) return numberTicks(min, max, maxTicks);
  const spacing = DURATIONS.find((duration) => duration >= raw) ?? 86400 * numberTicks(0, (max - min) / 86400, maxTicks, 1).spacing;
  return { at: multiples(min, max, spacing), spacing };
}

/** Ticks for durations in seconds on a logarithmic axis; with 0, if the axis has a linear part. @type {(min: number, max: number, maxTicks: number, linear: number) => Ticks} */
export function logDurationTicks(min, max, maxTicks, linear) {
  const all = linear ? [0, ...LOG_DURATIONS.filter((tick) => tick >= linear)] : LOG_DURATIONS;
  const at = all.filter((tick) => tick >= min && tick <= max);
  if (at.length < 2 || (!linear && max / min < 10)) return durationTicks(min, max, maxTicks);
  const every = Math.ceil(at.length / maxTicks);
  return { at: at.filter((_, i) => i % every === 0), spacing: 0 };
}

/** Ticks for seconds since the epoch, at round times in the browser's time zone. @type {MakeTicks} */
export function timeTicks(min, max, maxTicks) {
  const { at, spacing } = durationTicks(min, max, maxTicks);
  if (spacing < 60 || !(max > min)) return { at, spacing };
  // Multiples of an hour or a day are round times in UTC. Shifted by the offset of the local time
  // zone, they are round in local time.
  const offset = new Date(min * 1000).getTimezoneOffset() * 60;
  // The spacing, and shorter ones in case there is at most one tick, which does not say how long the
  // axis is. Then there may be space for every nth tick only.
  const spacings = [spacing, ...DURATIONS.filter((shorter) => shorter < spacing).reverse()];
  for (const each of spacings) {
    const ticks = multiples(min - offset, max - offset, each).map((tick) => tick + offset);
    const every = Math.max(1, Math.ceil((ticks.length - 1) / maxTicks));
    if (ticks.length > 1) return { at: ticks.filter((_, i) => i % every === 0), spacing: each };
  }
  return { at, spacing };
}

/** The multiples of a spacing from `min` to `max`, at most 200. @param {number} min @param {number} max @param {number} spacing */
function multiples(min, max, spacing) {
  const first = Math.ceil(min / spacing - 1e-9);
  const last = Math.floor(max / spacing + 1e-9);
  // The spacing is too fine for the precision of doubles.
  if (Math.max(Math.abs(first), Math.abs(last)) > 1e15) return [min];
  const at = [];
  // Products, not sums, because rounding errors of sums add up. Dividing by a power of ten gives
  // 0.3 and not 0.30000000000000004.
  const scale = spacing < 1 ? Math.round(1 / 10 ** Math.floor(Math.log10(spacing))) : 1;
  const unit = Math.round(spacing * scale);
  const exact = scale <= 1e15 && Math.abs(spacing * scale - unit) < 1e-9;
  for (let i = first; i <= last && at.length < 200; i++) {
    // + 0 turns -0 into 0.
    at.push((exact && scale > 1 ? (i * unit) / scale : i * spacing) + 0);
  }
  return at;
}

// --- labels --------------------------------------------------------------------------------------

/**
 * Labels for the ticks of one axis. All have the same number of decimals, just enough to tell
 * neighbouring ticks apart.
 * @type {MakeLabels}
 */
export function formatTicks(ticks, spacing) {
  const largest = Math.max(0, ...ticks.map(Math.abs));
  if (spacing === 0) return ticks.map(compact);
  if (largest >= 1e15 || (largest > 0 && largest < 1e-4)) {
    const digits = Math.max(0, Math.floor(Math.log10(largest)) - Math.floor(Math.log10(spacing) + 1e-9));
    return ticks.map((tick) => (tick === 0 ? "0" : shortExponent(tick.toExponential(Math.min(digits, 17)))));
  }
  const [divisor, unit] = unitFor(largest, spacing);
  const decimals = decimalsOf(spacing / divisor);
  return ticks.map((tick) => (tick === 0 ? "0" : (tick / divisor).toFixed(decimals) + unit));
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

/** The label of one tick of a logarithmic axis. @param {number} value */
function compact(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return shortExponent(value.toExponential(2));
  for (const [divisor, unit] of UNITS) if (size >= divisor) return Number((value / divisor).toFixed(2)) + unit;
  return String(Number(value.toPrecision(3)));
}

/** Shortens a number in exponential notation: `1.50e+7` becomes `1.5e7`. @param {string} text */
function shortExponent(text) {
  return text.replace(/\.?0*e\+?/, "e");
}

/** Number of decimals needed to write all multiples of a spacing exactly: 2 for 0.25. At most 12. @param {number} spacing */
function decimalsOf(spacing) {
  for (let decimals = 0; decimals < 12; decimals++) {
    const scaled = spacing * 10 ** decimals;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, scaled) && Math.round(scaled) > 0) return decimals;
  }
  return 12;
}

/** Labels for the ticks of an axis of durations, such as `1m30s` for 90 seconds. @type {MakeLabels} */
export function formatDurationTicks(ticks, spacing) {
  if (spacing < 1) return formatTicks(ticks, spacing).map((text) => (text === "0" ? text : `${text}s`));
  return ticks.map((tick) => {
    const size = Math.round(Math.abs(tick));
    const counts = { d: size / 86400, h: (size % 86400) / 3600, m: (size % 3600) / 60, s: size % 60 };
    const text = Object.entries(counts).map(([unit, count]) => (count >= 1 ? Math.floor(count) + unit : "")).join("");
    return text === "" ? "0" : (tick < 0 ? "−" : "") + text;
  });
}

/**
 * Labels for the ticks of a wall time axis. Only the first tick of a day has the date, on a second
 * line; if all ticks are days, only the first tick of a year has the year there.
 * @type {MakeLabels}
 */
export function formatTimeTicks(ticks, spacing) {
  let day = "";
  return ticks.map((tick) => {
    const [today, clock = ""] = formatTime(tick).split(" ");
    const isNew = today !== day;
    const isNewYear = today.slice(0, -6) !== day.slice(0, -6);
    day = today;
    if (spacing >= 86400) {
      const label = new Date(tick * 1000).toLocaleDateString("en", { month: "short", day: "numeric" });
      return isNewYear ? `${label}\n${today.slice(0, -6)}` : label;
    }
    const time = clock.slice(0, spacing < 60 ? 8 : 5);
    return isNew ? `${time}\n${today}` : time;
  });
}
