/** Names of runs and tags: their order, their groups, lists of them in the address, and elements. */
export { compareNames } from "./lib/address.js";
export { Name, RunLabel, formatLists, groupTags, labelOf, parseLists, runTitle, textTitle } from "./lib/text-names.js";
