/** Names of runs and tags: their order, their groups, lists of them in the address, and elements. */
export { Name, RunLabel, compareNames, formatLists, groupTags, labelOf, parseLists, runTitle } from "./lib/text-names.js";
