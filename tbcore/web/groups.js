/** The average of a value of each run of a group, with its spread, as numbers and as short text; and what equal values of a hyperparameter have in common. */
export { groupFigure, withArchived } from "./lib/group-figure.js";
export { isRepetition, marksOfBest } from "./lib/comparisons.js";
export { guessGoal } from "./lib/goals.js";
export { statisticsOf } from "./lib/group-statistics.js";
export { groupText } from "./lib/queries/names.js";

/** @typedef {import("./lib/group-figure.js").Statistics} Statistics */
/** @typedef {import("./lib/group-statistics.js").Average} Average */
