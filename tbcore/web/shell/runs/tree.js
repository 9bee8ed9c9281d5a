/**
 * The rows of the run list: runs in folders by path, runs in groups, or a flat list. Pure
 * functions, no DOM.
 *
 *     exp/a/train, exp/a/eval, exp/b/train   ->   exp/
 *                                                   a/
 *                                                     train
 *                                                     eval
 *                                                   b/train      a folder with one child has no row
 */

/**
 * @typedef {object} Row
 * @property {"run" | "folder" | "group"} kind
 * @property {string} key  unique among all rows
 * @property {string} name  name of the run or group, or path of the folder
 * @property {string} label  the name without the part that the rows above it already show
 * @property {number} depth  0 at the top level
 * @property {number} position  position among its siblings, from 1
 * @property {number} numSiblings  number of siblings, including itself
 * @property {readonly string[]} runs  all runs in the folder or group, or the run itself
 * @property {boolean} isOpen  whether the rows inside it are shown
 *
 * @typedef {object} Node  a folder, or a run if `children` is null
 * @property {string} label  its last path segment
 * @property {string} name  its path
 * @property {string[]} runs  all runs below it, or the run itself
 * @property {Node[] | null} children  in order
 * @property {Map<string, Node> | null} folders  maps label to folder, for the children that are
 *   folders
 */

/**
 * Rows of runs in folders. Runs keep their order; a folder is at the position of its first run.
 * @param {readonly string[]} runs
 * @param {(key: string) => boolean} isOpen  whether a folder is open
 * @returns {Row[]}
 */
export function treeRows(runs, isOpen) {
  const root = makeNode("", "", []);
  for (const run of runs) {
    let node = root;
    let start = 0;
    for (let slash = run.indexOf("/"); slash >= 0 && slash < run.length - 1; slash = run.indexOf("/", start)) {
      const label = run.slice(start, slash + 1);
      start = slash + 1;
      let folder = node.folders?.get(label);
      if (!folder) {
        folder = makeNode(label, run.slice(0, start), []);
        node.folders?.set(label, folder);
        node.children?.push(folder);
      }
      folder.runs.push(run);
      node = folder;
    }
    node.children?.push({ label: run.slice(start), name: run, runs: [run], children: null, folders: null });
  }
  /** @type {Row[]} */
  const rows = [];
  addRows(root, 0);
  return rows;

  /** Adds the rows of a folder's children. @param {Node} parent @param {number} depth */
  function addRows(parent, depth) {
    const children = parent.children ?? [];
    for (let i = 0; i < children.length; i++) {
      let node = children[i];
      let { label } = node;
      // A folder with one child is merged with the child.
      while (node.children?.length === 1) {
        node = node.children[0];
        label += node.label;
      }
      const { name, runs } = node;
      const kind = node.children ? "folder" : "run";
      const key = node.children ? `folder:${name}` : name;
      const open = node.children !== null && isOpen(key);
      rows.push({ kind, key, name, label, depth, position: i + 1, numSiblings: children.length, runs, isOpen: open });
      if (open) addRows(node, depth + 1);
    }
  }
}

/**
 * Rows of runs in groups, in the order of the groups' first runs. A group of one run is shown as
 * that run. Labels are shortened: the label of a group omits the folders that all groups have in
 * common; the label of a run omits the folders that all runs of its group have in common.
 * @param {readonly string[]} runs
 * @param {ReadonlyMap<string, string>} groupOf  run to group
 * @param {(key: string) => boolean} isOpen  whether a group is open
 * @returns {Row[]}
 */
export function groupRows(runs, groupOf, isOpen) {
  const groups = groupsOf(runs, (run) => groupOf.get(run) ?? run);
  const groupPrefixLength = commonFolderLength([...groups].flatMap(([name, members]) => (members.length > 1 ? [name] : [])));
  /** @type {Row[]} */
  const rows = [];
  let position = 0;
  for (const [name, members] of groups) {
    position++;
    if (members.length === 1) {
      rows.push(runRow(members[0], 0, position, groups.size));
      continue;
    }
    const key = `group:${name}`;
    const row = { name, label: name.slice(groupPrefixLength), depth: 0, position, numSiblings: groups.size, runs: members, isOpen: isOpen(key) };
    rows.push({ kind: "group", key, ...row });
    if (!row.isOpen) continue;
    const runPrefixLength = commonFolderLength(members);
    members.forEach((run, i) => rows.push({ ...runRow(run, 1, i + 1, members.length), label: run.slice(runPrefixLength) }));
  }
  return rows;
}

/**
 * The runs of each group; groups are in the order of their first runs.
 * @template T
 * @param {readonly T[]} runs
 * @param {(run: T) => string} group
 * @returns {Map<string, T[]>}
 */
export function groupsOf(runs, group) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const run of runs) {
    const name = group(run);
    const members = groups.get(name);
    if (members) members.push(run);
    else groups.set(name, [run]);
  }
  return groups;
}

/**
 * The length of the folder that all names have in common, including its final slash.
 * @param {readonly string[]} names
 */
function commonFolderLength(names) {
  if (names.length < 2) return 0;
  let length = Infinity;
  for (const name of names) {
    let i = 0;
    while (i < length && i < name.length && name[i] === names[0][i]) i++;
    length = i;
  }
  return names[0].lastIndexOf("/", length - 1) + 1;
}

/** Rows of a flat list, one per run. @param {readonly string[]} runs @returns {Row[]} */
export function flatRows(runs) {
  return runs.map((run, i) => runRow(run, 0, i + 1, runs.length));
}

/**
 * The row of a run, with its full name as the label.
 * @param {string} run
 * @param {number} depth
 * @param {number} position
 * @param {number} numSiblings
 * @returns {Row}
 */
function runRow(run, depth, position, numSiblings) {
  return { kind: "run", key: run, name: run, label: run, depth, position, numSiblings, runs: [run], isOpen: false };
}

/** A new folder. @param {string} label @param {string} name @param {string[]} runs @returns {Node} */
function makeNode(label, name, runs) {
  return { label, name, runs, children: [], folders: new Map() };
}
