/**
 * Whether low or high values of a metric are better, by the words of its name. Commands have the same rule:
 * tests/goals.json has what both must do. No DOM.
 */

const LOWER_IS_BETTER = new Set(
  "loss losses err error errors cost perplexity ppl nll bce mse rmse mae mape smape kl divergence fid kid lpips wer cer ter eer regret brier energy latency time seconds duration distance".split(
    " ",
  ),
);
const HIGHER_IS_BETTER = new Set(
  "acc accuracy reward rewards return returns score scores auc auroc auprc roc f1 f2 fbeta precision recall map ap iou miou dice psnr ssim bleu rouge meteor cider mrr ndcg hit hits r2 success win winrate elo top1 top5 throughput fps likelihood specificity sensitivity kappa mcc purity correlation".split(
    " ",
  ),
);

/** Words after which a name is not that of what is optimised: `loss_scale`, `return_std`. */
const OF_SOMETHING_ELSE = new Set("scale weight coef coefficient std stddev var variance norm count num".split(" "));
/** What only the last part of a path says: `time/iterations` is no time. */
const OF_LAST_PART = new Set("energy latency time seconds duration distance".split(" "));

/**
 * The goal that the last known word of a name suggests: in `loss/val_accuracy`, that is `accuracy`.
 * @param {string} name
 * @returns {"min" | "max" | null} null if no word is known
 */
export function guessGoal(name) {
  const wordsOf = (/** @type {string} */ text) => text.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z0-9]+/);
  const last = wordsOf(name.slice(name.lastIndexOf("/") + 1));
  if (last.some((word) => OF_SOMETHING_ELSE.has(word))) return null;
  // With a number, too: `loss2`.
  for (const word of wordsOf(name).reverse().flatMap((each) => [each, each.replace(/\d+$/, "")])) {
    if (LOWER_IS_BETTER.has(word) && (last.includes(word) || !OF_LAST_PART.has(word))) return "min";
    if (HIGHER_IS_BETTER.has(word)) return "max";
  }
  return null;
}
