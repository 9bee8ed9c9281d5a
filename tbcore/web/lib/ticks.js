/** Where the ticks of an axis go. Pure; labels are made in `format.js`. */

/**
 * @typedef {object} Ticks
 * @property {number[]} at  rising, inside the range
 * @property {number} spacing  distance of two ticks; 0 where it is not constant
 */

/**
 * Round numbers: spacings of 1, 2 or 5 times a power of ten.
 * @param {number} min
 * @param {number} max
 * @param {number} most  as many ticks fit
 * @param {number} [least]  no smaller spacing than this: 1 for steps
 * @returns {Ticks}
 */
export function numberTicks(min, max, most, least = 0) {
  if (!(max > min) || most < 1) return { at: Number.isFinite(min) ? [min] : [], spacing: 0 };
  const raw = Math.max(max / most - min / most, least); // divided first: the length may not be finite
  const power = 10 ** Math.floor(Math.log10(raw));
  const spacing = power * ([1, 2, 5].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10);
  return { at: multiples(min, max, spacing), spacing };
}

/** Spacings of durations, in seconds: up to a week; longer ones are multiples of a day. */
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/**
 * Ticks of a length of time: minutes and hours rather than hundreds of seconds.
 * @param {number} min  seconds
 * @param {number} max  seconds
 * @param {number} most
 * @returns {Ticks}
 */
export function durationTicks(min, max, most) {
  if (!(max > min) || most < 1) return numberTicks(min, max, most);
  const raw = (max - min) / most;
  if (raw <= 0.5) return numberTicks(min, max, most);
  const spacing = DURATIONS.find((duration) => duration >= raw) ?? 86400 * numberTicks(0, (max - min) / 86400, most, 1).spacing;
  return { at: multiples(min, max, spacing), spacing };
}

/**
 * Ticks of the reader's local time, at round hours and at midnight.
 * @param {number} min  seconds since the epoch
 * @param {number} max
 * @param {number} most
 * @returns {Ticks}
 */
export function timeTicks(min, max, most) {
  const { at, spacing } = durationTicks(min, max, most);
  if (spacing < 60 || at.length === 0) return { at, spacing };
  // Multiples of an hour or a day are round in UTC; moved by the local offset they are round here.
  const offset = new Date(at[0] * 1000).getTimezoneOffset() * 60;
  return { at: multiples(min - offset, max - offset, spacing).map((tick) => tick + offset), spacing };
}

/**
 * Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where there is room, and thinned out where
 * there is none.
 * @param {number} min  above 0
 * @param {number} max
 * @param {number} most
 * @param {number} [least]  no smaller spacing than this: 1 for steps
 * @returns {Ticks}
 */
export function logTicks(min, max, most, least = 0) {
  const low = Math.log10(min);
  const high = Math.log10(max);
  if (!(high > low)) return { at: [min], spacing: 0 };
  if (high - low < 1) return numberTicks(min, max, most, least); // all but linear
  const every = Math.max(1, Math.ceil((high - low) / most));
  const factors = (high - low) * 3 <= most ? [1, 2, 5] : [1];
  const at = [];
  for (let power = Math.floor(low / every) * every; power <= high; power += every) {
    for (const factor of factors) {
      const tick = factor * 10 ** power;
      if (tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9) && tick >= least) at.push(tick);
    }
  }
  return { at, spacing: 0 };
}

/** Tenfold, or nearly so. */
const LOG_DURATIONS = [1e-3, 1e-2, 1e-1, 1, 10, 60, 600, 3600, 36000, 86400 * 4, 86400 * 40, 86400 * 400];

/**
 * The same for lengths of time.
 * @param {number} min  seconds, above 0
 * @param {number} max
 * @param {number} most
 * @returns {Ticks}
 */
export function logDurationTicks(min, max, most) {
  if (max / min < 10) return durationTicks(min, max, most);
  const at = LOG_DURATIONS.filter((tick) => tick >= min && tick <= max);
  const every = Math.ceil(at.length / most);
  return { at: at.filter((_, i) => i % every === 0), spacing: 0 };
}

/** @param {number} min @param {number} max @param {number} spacing */
function multiples(min, max, spacing) {
  const first = Math.ceil(min / spacing - 1e-9);
  const last = Math.floor(max / spacing + 1e-9);
  if (Math.max(Math.abs(first), Math.abs(last)) > 1e15) return [min]; // finer than numbers are
  /** @type {number[]} */
  const at = [];
  // Products, not sums: no error piles up. The division by a power of ten gives 0.3 rather than 0.30000000000000004.
  const scale = spacing < 1 ? Math.round(1 / 10 ** Math.floor(Math.log10(spacing))) : 1;
  const unit = Math.round(spacing * scale);
  const exact = scale <= 1e15 && Math.abs(spacing * scale - unit) < 1e-9;
  for (let i = first; i <= last && at.length < 200; i++) {
    at.push((exact && scale > 1 ? (i * unit) / scale : i * spacing) + 0); // + 0: no negative zero
  }
  return at;
}
