/** The names of rows and sessions: those of their runs, and those to show. */

import { formatName, plural } from "tbcore/format.js";
import { withArchived } from "tbcore/groups.js";
import { runTitle } from "tbcore/text-names.js";

/** @import { Group, Sweep } from "./types.js" */

/**
 * The sweep with the labels of runs. Its columns have the names, by which rows are sorted and filtered.
 * @param {Sweep} sweep
 * @param {ReadonlyMap<string, string>} labels  of sessions whose label is not their name
 * @returns {Sweep}
 */
export function withLabels(sweep, labels) {
  if (labels.size === 0) return sweep;
  const groups = sweep.groups.map((group) => {
    const sessions = group.sessions.map((session) => ({ ...session, label: labels.get(session.name) ?? session.label }));
    return { ...group, sessions, label: sessions.length === 1 ? sessions[0].label : group.label };
  });
  return { ...sweep, groups };
}

/** The name of a row: that of the session if there is only one. @param {Group} group */
export function nameOf({ label, sessions }) {
  return sessions.length === 1 ? sessions[0].name : label;
}

/** The number of sessions of a row, such as `3 sessions (+2 archived)`; "" if there is only one. @param {Group} group */
export function sizeOf({ sessions, archived = 0 }) {
  return sessions.length + archived > 1 ? withArchived(plural(sessions.length, "session"), archived) : "";
}

/** The tooltip of a row: its label, the name of its only session, and that of its group. @param {Group} group */
export function titleOf(group) {
  const name = nameOf(group);
  return [runTitle({ ...group, name }), ...(group.name === name ? [] : [`group ${formatName(group.name)}`])].join("\n");
}
