/**
 * Which metric a sweep is about, and whether its small or its great values are good. Guessed from names. Pure.
 */

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Goal} Goal
 */

const SMALL = new Set(
  "loss losses err error errors cost perplexity ppl nll bce mse rmse mae mape smape kl divergence fid kid lpips wer cer ter eer regret brier energy latency time seconds duration distance".split(
    " ",
  ),
);
const GREAT = new Set(
  "acc accuracy reward rewards return returns score scores auc auroc auprc roc f1 f2 fbeta precision recall map ap iou miou dice psnr ssim bleu rouge meteor cider mrr ndcg hit hits r2 success win winrate elo top1 top5 throughput likelihood specificity sensitivity kappa mcc purity correlation".split(
    " ",
  ),
);
const HELD_OUT = /(^|[^a-z])(val|valid|validation|eval|evaluation|test|dev|holdout)([^a-z]|$)/i;

/**
 * @param {string} name  of a metric, with or without its group
 * @returns {Goal | null} null: the name does not say
 */
export function guessGoal(name) {
  // The last word decides: the accuracy of "loss/val_accuracy", the error of "score_error".
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/);
  for (const word of words.reverse()) {
    if (SMALL.has(word)) return "min";
    if (GREAT.has(word)) return "max";
  }
  return null;
}

/**
 * The metric to begin with: one whose goal is known, measured on data held out, that most groups have. One that was
 * not declared only where those that were say nothing: libraries declare one that stays -1 unless it is used.
 * @param {readonly Column[]} metrics  in the order of the experiment, which counts where all else is equal
 * @returns {Column | null}
 */
export function likelyMetric(metrics) {
  const declared = metrics.filter(({ isExtra }) => !isExtra);
  return mostLikely(declared.some(saysSomething) ? declared : metrics);
}

/** Its values differ, or there is one so far. @param {Column} metric */
function saysSomething({ cells }) {
  const numbers = cells.filter((cell) => Number.isFinite(cell));
  return numbers.length === 1 || numbers.some((number) => number !== numbers[0]);
}

/** @param {readonly Column[]} metrics @returns {Column | null} */
function mostLikely(metrics) {
  /** @type {Column | null} */
  let best = null;
  let most = -1;
  for (const metric of metrics) {
    const name = `${metric.metric?.group}/${metric.metric?.tag}`;
    const goal = guessGoal(name);
    const present = metric.cells.filter((cell) => cell !== null && Number.isFinite(cell)).length / Math.max(1, metric.cells.length);
    const score = (saysSomething(metric) ? 1 : 0.5) * present * (1 + (goal === null ? 0 : goal === "max" ? 2.5 : 2) + (HELD_OUT.test(name) ? 1 : 0));
    if (score > most) {
      most = score;
      best = metric;
    }
  }
  return best;
}

/**
 * The row with the best value; of equal ones the first. A single one is not the best of anything.
 * @param {readonly number[]} rows
 * @param {Column | null} metric
 * @param {Goal} goal
 * @returns {number | null} null: less than two rows have a number there
 */
export function bestRow(rows, metric, goal) {
  if (!metric) return null;
  let best = null;
  let value = NaN;
  let count = 0;
  for (const row of rows) {
    const cell = metric.cells[row];
    if (typeof cell !== "number" || Number.isNaN(cell)) continue;
    count++;
    if (best === null || (goal === "min" ? cell < value : cell > value)) {
      best = row;
      value = cell;
    }
  }
  return count > 1 ? best : null;
}
