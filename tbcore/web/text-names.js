/** Names of runs and tags: their order, their groups, lists of them in the address, and elements. */
export { commonLengths } from "./lib/format.js";
export { Name, RunLabel, compareNames, formatLists, groupTags, parseLists } from "./lib/text-names.js";
