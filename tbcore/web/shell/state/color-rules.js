/**
 * Colours of runs by a rule:
 *
 *     family            a hue for each family of runs, with shades of it for the members
 *     by:lr             a colour for each value of an attribute, or a scale for many numbers
 *
 * A family are the runs of a folder, or runs whose names differ only in a seed. Pure functions, no
 * DOM; loaded when the user chooses a rule.
 */

import { statisticsOf } from "../../lib/group-statistics.js";
import { familyColors, valueColors } from "../../lib/ui/rule-colors.js";
import { attributesOf } from "./groups.js";
import { repeatedGroups } from "./repetitions.js";
import { groupsOf } from "./tree.js";
import { WORDS, withoutPart } from "../../lib/word-rules.js";

/** @import { Theme } from "../../host.js" */
/** @import { Legend } from "../../lib/ui/rule-colors.js" */
/** @import { AttributeValue } from "./attributes.js" */
/** @import { ColumnOf } from "./groups.js" */

/** A folder with a larger share of all runs is not one family if its own folders can be families. */
const MAX_SHARE = 3 / 4;

/**
 * The colours of runs, or of their groups.
 * @param {string} rule  not empty
 * @param {readonly string[]} runs  in the order of `data/runs`, so that colours are stable
 * @param {ReadonlyMap<string, string> | null} groupOf  group of each run; null if runs are not grouped
 * @param {Theme} theme
 * @param {ColumnOf} columnOf
 * @param {import("../../lib/group-statistics.js").Average} [average]  which groups with different numbers have the colours of
 * @param {readonly string[]} [allRuns]  also archived ones, without which families and values would have other colours
 * @returns {{ colors: Map<string, string>, legend: Legend | null } | null} run or group to
 *   `#rrggbb`; null while the attribute is read, or if the rule names none
 */
export function colorsByRule(rule, runs, groupOf, theme, columnOf, average = "mean", allRuns = runs) {
  const [members, allMembers] = [runs, allRuns].map((names) => groupsOf(names, (run) => groupOf?.get(run) ?? run));
  if (rule === "family") {
    const familyOf = familiesOf(allRuns);
    // A group belongs to the family of its first run.
    const families = groupsOf([...allMembers.keys()], (name) => familyOf.get(allMembers.get(name)?.[0] ?? "") ?? name);
    return { colors: familyColors(families, theme), legend: null };
  }
  const [attribute] = attributesOf(rule);
  const column = attribute === undefined ? null : columnOf(attribute);
  if (!column) return null;
  const values = new Map([...allMembers].flatMap(([name, all]) => {
    const value = commonValue((members.get(name) ?? all).flatMap((run) => column.get(run) ?? []), average);
    return value === undefined ? [] : [[name, value]];
  }));
  return valueColors([...members.keys()], values, theme);
}

/**
 * Why a rule is invalid, as it can be in a link; null if it is valid.
 * @param {string} rule
 * @param {(attribute: string) => string | null} mistakeIn  what is wrong with an attribute
 */
export function colorError(rule, mistakeIn) {
  if (rule === "" || rule === "family") return null;
  if (!rule.startsWith("by:")) return "expected “family”, or “by:” and an attribute, as in by:lr";
  const [attribute, ...others] = attributesOf(rule);
  if (attribute === undefined || others.length > 0) return "name one attribute after by:, as in by:lr";
  return mistakeIn(attribute);
}

/**
 * The value of a group: that of all its runs, or else the average of numbers.
 * @param {readonly AttributeValue[]} values
 * @param {import("../../lib/group-statistics.js").Average} average
 * @returns {AttributeValue | undefined} undefined if there is none
 */
function commonValue(values, average) {
  if (values.every((value) => value === values[0])) return values[0];
  if (values.some((value) => typeof value !== "number")) return undefined;
  const statistics = statisticsOf(values.map(Number), average);
  return statistics.count > 0 ? statistics.average : undefined;
}

/**
 * The family of each run: the folder that it is in, without its seeds. Folders are split into the
 * folders inside them until no family has most of the runs. A folder with several groups of
 * repetitions is split into these groups.
 * @param {readonly string[]} runs
 * @returns {Map<string, string>}
 */
export function familiesOf(runs) {
  const names = new Map(runs.map((run) => [run, WORDS.seeds.group(run).split("/")]));
  const segmentsOf = (/** @type {string} */ run) => names.get(run) ?? [];
  /** Families by the path of their folder. @type {Map<string, string[]>} */
  let families = new Map([["", [...runs]]]);
  for (let depth = 1; ; depth++) {
    const [largest, members] = [...families].reduce((a, b) => (b[1].length > a[1].length ? b : a));
    if (members.length <= MAX_SHARE * runs.length) break;
    const inside = groupsOf(members, (run) => segmentsOf(run).slice(0, depth).join("/"));
    if (inside.size === members.length || !members.some((run) => segmentsOf(run).length >= depth)) break;
    families.delete(largest);
    for (const [path, runs] of inside) families.set(path, runs);
  }
  for (const [path, members] of [...families]) {
    if (!repeatedGroups(members)) continue;
    families.delete(path);
    for (const [name, runs] of groupsOf(members, (run) => withoutPart(WORDS.seeds.group(run)))) families.set(name, runs);
  }
  if (families.size < 2) families = new Map(runs.map((run) => [run, [run]]));
  return new Map([...families].flatMap(([family, members]) => members.map((run) => [run, family])));
}
