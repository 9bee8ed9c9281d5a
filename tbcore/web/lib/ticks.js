/** Positions of an axis' ticks. Pure functions, no DOM; `format.js` makes the labels. */

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
