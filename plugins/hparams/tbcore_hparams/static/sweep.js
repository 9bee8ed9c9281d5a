/**
 * The sweep: what the route `table` says, as columns with a cell for each group of sessions. Pure.
 */

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").Sweep} Sweep
 */

/** Names of groups that are made of their hyperparameters say nothing to a reader. */
const HASH = /^[0-9a-f]{32,}$/;
const HASH_LENGTH = 8;

/**
 * @param {{ header: any, tables: Record<string, Float64Array>[] }} answer  as readColumns gives it
 * @returns {Sweep}
 */
export function readSweep({ header, tables: [byGroup, bySession] }) {
  const sessions = readSessions(header.sessions);
  /** @type {Session[][]} */
  const members = header.groups.names.map(() => []);
  header.sessions.group.forEach((/** @type {number} */ group, /** @type {number} */ i) => members[group].push(sessions[i]));
  /** @type {Group[]} */
  const groups = header.groups.names.map((/** @type {string} */ name, /** @type {number} */ i) => ({
    name,
    label: members[i].length === 1 ? members[i][0].name : HASH.test(name) ? name.slice(0, HASH_LENGTH) : name,
    sessions: members[i],
  }));

  /** @type {Column[]} */
  const hparams = header.hparams.map((/** @type {any} */ info, /** @type {number} */ i) => ({
    key: `h.${info.name}`,
    kind: "hparam",
    index: i,
    label: labelOf(info.display_name, info.name, header.hparams),
    description: info.description,
    type: info.type,
    differs: info.differs,
    isExtra: isExtra(info, header.hparams),
    cells: hparamCells(header.strings[i], byGroup[`h${i}`], info.nan),
    metric: null,
  }));
  /** @type {Column[]} */
  const metrics = header.metrics.map((/** @type {any} */ info, /** @type {number} */ i) => ({
    key: `m.${info.group.replace(/[\\.]/g, "\\$&")}.${info.tag}`, // no two are alike: the first bare point ends the group
    kind: "metric",
    index: i,
    label: labelOf(info.display_name, info.group ? `${info.group}.${info.tag}` : info.tag, header.metrics),
    description: info.description,
    type: "number",
    differs: true,
    isExtra: isExtra(info, header.metrics),
    cells: cellsOf(byGroup, i, ""),
    metric: { group: info.group, tag: info.tag },
  }));
  const differing = hparams.filter(({ differs, isExtra }) => differs && !isExtra);
  const same = hparams.filter(({ differs, isExtra }) => !differs && !isExtra);
  const extra = hparams.filter(({ isExtra }) => isExtra);
  const columns = [...infoColumns(groups), ...differing, ...same, ...extra, ...metrics];
  return {
    columns,
    byKey: new Map(columns.map((column) => [column.key, column])),
    metrics,
    groups,
    sessions,
    ofSessions: metrics.map((_, i) => ({
      value: bySession[`m${i}`],
      step: bySession[`m${i}.step`],
      wallTime: bySession[`m${i}.wall_time`],
    })),
    extremes: "m0.lowest" in byGroup ? metrics.map((_, i) => ({ lowest: extremeOf(byGroup, bySession, i, "lowest"), highest: extremeOf(byGroup, bySession, i, "highest") })) : null,
    description: header.experiment.description.trim(),
  };
}

/**
 * What is shown of a name. The same metric of several runs is often called the same: then the name says which it is.
 * @param {string} displayName  "": none
 * @param {string} name
 * @param {readonly { display_name: string }[]} all  of its kind
 */
function labelOf(displayName, name, all) {
  if (displayName === "" || displayName === name) return name;
  return all.filter((other) => other.display_name === displayName).length > 1 ? `${displayName} (${name})` : displayName;
}

/**
 * @param {Record<string, Float64Array>} byGroup
 * @param {number} i  of the metric
 * @param {string} which  "" is the last value
 * @returns {Cell[]}
 */
function cellsOf(byGroup, i, which) {
  const numSessions = byGroup[`m${i}.sessions`];
  return Array.from(byGroup[`m${i}${which}`], (value, row) => (numSessions[row] > 0 ? value : null));
}

/**
 * @param {Record<string, Float64Array>} byGroup
 * @param {Record<string, Float64Array>} bySession
 * @param {number} i
 * @param {"lowest" | "highest"} which
 * @returns {import("./types.js").MetricValues}
 */
function extremeOf(byGroup, bySession, i, which) {
  return {
    cells: cellsOf(byGroup, i, `.${which}`),
    ofSessions: { value: bySession[`m${i}.${which}`], step: bySession[`m${i}.${which}_step`], wallTime: bySession[`m${i}.wall_time`] },
  };
}

/**
 * The sweep with the best value over the steps in place of the last one, of each metric of which it is known what is
 * better.
 * @param {Sweep} sweep
 * @param {(metric: Column) => import("./types.js").Goal | null} goalOf
 * @returns {Sweep}  as it was where there are only last values
 */
export function withBestValues(sweep, goalOf) {
  const { extremes } = sweep;
  if (!extremes) return sweep;
  const ofSessions = [...sweep.ofSessions];
  const metrics = sweep.metrics.map((metric) => {
    const goal = goalOf(metric);
    if (!goal) return metric;
    const of = goal === "min" ? "lowest" : "highest";
    const best = extremes[metric.index][of];
    ofSessions[metric.index] = best.ofSessions;
    return /** @type {Column} */ ({ ...metric, of, title: metric.label, label: `${metric.label} (${goal})`, cells: best.cells });
  });
  const columns = [...sweep.columns.filter(({ kind }) => kind !== "metric"), ...metrics];
  return { ...sweep, columns, byKey: new Map(columns.map((column) => [column.key, column])), metrics, ofSessions };
}

/**
 * Whether it was found beside what the experiment declares. One that declares nothing of its kind hides nothing.
 * @param {{ declared: boolean }} info
 * @param {readonly { declared: boolean }[]} all
 */
function isExtra(info, all) {
  return !info.declared && all.some(({ declared }) => declared);
}

/**
 * Texts and booleans, and numbers where there are some: among these, NaN stands for no value but where it was logged.
 * @param {readonly Cell[] | undefined} strings
 * @param {Float64Array | undefined} numbers
 * @param {readonly number[]} [nan]  rows
 */
function hparamCells(strings, numbers, nan = []) {
  /** @type {Cell[]} */
  const cells = numbers ? Array.from(numbers, (value, row) => (Number.isNaN(value) ? (strings?.[row] ?? null) : value)) : [...(strings ?? [])];
  for (const row of nan) cells[row] = NaN;
  return cells;
}

/** @param {any} columns @returns {Session[]} */
function readSessions(columns) {
  return columns.names.map((/** @type {string} */ name, /** @type {number} */ index) => ({
    name,
    index,
    // Nobody said how it ended: it may still run.
    status: columns.status[index] === "unknown" ? "no end logged" : columns.status[index],
    start: columns.start[index] || NaN,
    end: columns.end[index] || NaN,
    modelUri: columns.model_uri[index],
    monitorUrl: columns.monitor_url[index],
  }));
}

/**
 * What is known of a group beside its hyperparameters and metrics.
 * @param {readonly Group[]} groups
 * @returns {Column[]}
 */
function infoColumns(groups) {
  /** @type {[key: string, label: string, type: Column["type"], description: string, read: (group: Group) => Cell][]} */
  const columns = [
    ["name", "Name", "string", "The run of the session, or the group of sessions with the same hyperparameters", ({ label }) => label],
    ["status", "Status", "string", "What the job said at its end", ({ sessions }) => statusOf(sessions)],
    ["sessions", "Sessions", "number", "How many runs have these hyperparameters", ({ sessions }) => sessions.length],
    ["start", "Started", "time", "When the first of its sessions began", ({ sessions }) => least(sessions.map(({ start }) => start))],
    ["duration", "Duration", "duration", "From start to end, the mean of its sessions", ({ sessions }) => meanDuration(sessions)],
  ];
  return columns.map(([key, label, type, description, read], index) => {
    const cells = groups.map(read);
    // A row is found by the name of any of its sessions.
    const texts = key === "name" ? groups.map(({ label: name, sessions }) => [name, ...sessions.map((session) => session.name)].join("\n")) : undefined;
    return { key, kind: "info", index, label, description, type, differs: new Set(cells).size > 1, isExtra: false, cells, texts, metric: null };
  });
}

/** @param {readonly Session[]} sessions */
function statusOf(sessions) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { status } of sessions) counts.set(status, (counts.get(status) ?? 0) + 1);
  if (counts.size === 1) return sessions[0].status;
  return Array.from(counts, ([status, count]) => `${count} ${status}`).join(", ");
}

/** @param {readonly number[]} values */
function least(values) {
  const known = values.filter(Number.isFinite);
  return known.length > 0 ? Math.min(...known) : null;
}

/** @param {readonly Session[]} sessions */
function meanDuration(sessions) {
  const known = sessions.map(({ start, end }) => end - start).filter((duration) => duration >= 0);
  return known.length > 0 ? known.reduce((sum, duration) => sum + duration, 0) / known.length : null;
}

/**
 * The run that has a metric of a session: `exp/a` and `eval` is `exp/a/eval`.
 * @param {string} session
 * @param {string} group  of the metric
 */
export function runOf(session, group) {
  const path = group.split("/").filter(Boolean).join("/");
  if (path === "") return session;
  return session === "." ? path : `${session}/${path}`;
}

/**
 * Which sessions are shown, and in which colour: those that are a run that is shown, or that have one below them.
 * @param {readonly { name: string, color: string }[]} runs
 * @returns {Map<string, string>} folder or run, to a colour
 */
export function colorsOfRuns(runs) {
  /** @type {Map<string, string>} */
  const colors = new Map();
  for (const { name, color } of runs) {
    for (let slash = name.lastIndexOf("/"); slash > 0; slash = name.lastIndexOf("/", slash - 1)) {
      const parent = name.slice(0, slash);
      if (colors.has(parent)) break; // and so have those above it
      colors.set(parent, color);
    }
    if (!colors.has(".")) colors.set(".", color);
  }
  for (const { name, color } of runs) colors.set(name, color);
  return colors;
}

/**
 * The session that a run belongs to: itself, or the nearest above it.
 * @param {string} run
 * @param {ReadonlyMap<string, unknown>} sessions  by name
 * @returns {string | null}
 */
export function sessionOf(run, sessions) {
  for (let name = run; ; name = name.slice(0, name.lastIndexOf("/"))) {
    if (sessions.has(name)) return name;
    if (!name.includes("/")) return sessions.has(".") ? "." : null;
  }
}
