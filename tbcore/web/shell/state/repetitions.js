/**
 * Whether runs look like repetitions of a few trainings with different seeds, and what to call them.
 * Pure functions, no DOM; loaded when they are needed.
 */

import { groupsOf } from "./tree.js";
import { SEED, WORDS, withoutPart } from "../../lib/word-rules.js";

/** Names that say that a group is a model. */
const MODEL = /resnet|vgg|vit|cnn|mlp|lstm|gru|rnn|unet|bert|gpt|t5|llama|former|conv|dense|net|model|tiny|small|base|large/i;
/** How to call the repetitions that a word in a run's name counts. @type {readonly [RegExp, string][]} */
const NOUNS = [[/fold/i, "folds"], [/trial/i, "trials"], [/rep|try/i, "repetitions"]];

/**
 * Groups of trainings that look like repetitions with different seeds, by their names without
 * seeds. Runs for training and evaluation of one training count once.
 * @param {readonly string[]} runs
 * @returns {[name: string, trainings: string[]][] | null} null if there are fewer than two groups
 *   of several trainings, or if these are at most half of all trainings
 */
export function repeatedGroups(runs) {
  const trainings = [...new Set(runs.map(withoutPart))];
  const groups = [...groupsOf(trainings, WORDS.seeds.group)].filter(([, members]) => members.length > 1);
  const numRepeated = groups.reduce((sum, [, members]) => sum + members.length, 0);
  return groups.length < 2 || 2 * numRepeated <= trainings.length ? null : groups;
}

/**
 * The repetitions in the runs: `{ text: "4 models × 5 seeds", noun: "seeds" }`.
 * @param {readonly string[]} runs
 * @returns {{ text: string, noun: string } | null} null if there are none, see `repeatedGroups`
 */
export function repetitionsOf(runs) {
  const groups = repeatedGroups(runs);
  if (!groups) return null;
  const sizes = groups.map(([, members]) => members.length);
  const [seed = ""] = groups[0][1][0].split("/").flatMap((segment) => segment.match(SEED) ?? []);
  const noun = NOUNS.find(([word]) => word.test(seed))?.[1] ?? "seeds";
  const what = `${groups.length} ${groups.every(([name]) => MODEL.test(name)) ? "models" : "groups"}`;
  const [fewest, most] = [Math.min(...sizes), Math.max(...sizes)];
  return { text: fewest === most ? `${what} × ${most} ${noun}` : `${what} of ${fewest} to ${most} ${noun}`, noun };
}
