/**
 * The rows of the run list: runs below the folders of their paths or below their groups, or just runs. Pure.
 *
 *     exp/a/train, exp/a/eval, exp/b/train   ->   exp/
 *                                                   a/
 *                                                     train
 *                                                     eval
 *                                                   b/train      a folder with one child is folded into it
 */

/**
 * @typedef {object} Row
 * @property {"run" | "folder" | "group"} kind
 * @property {string} key  unlike that of any other row
 * @property {string} name  of the run, of the group, or the path of the folder
 * @property {string} label  the part of the name that the rows above do not say
 * @property {number} depth  0 at the top
 * @property {number} position  among its siblings, from 1
 * @property {number} numSiblings  itself too
 * @property {readonly string[]} runs  all runs below, or the run itself
 * @property {boolean} isOpen  whether the rows below it are listed
 *
 * @typedef {{ label: string, name: string, runs: string[], children: Node[] | null, folders: Map<string, Node> | null }} Node
 *   a run when it has no children
 */

/**
 * Rows by path. Runs keep their order; a folder stands where its first run would.
 * @param {readonly string[]} runs
 * @param {(key: string) => boolean} isOpen  of folders
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
  list(root, 0);
  return rows;

  /** @param {Node} parent @param {number} depth */
  function list(parent, depth) {
    const children = parent.children ?? [];
    for (let i = 0; i < children.length; i++) {
      let node = children[i];
      let { label } = node;
      while (node.children?.length === 1) {
        node = node.children[0];
        label += node.label;
      }
      const { name, runs } = node;
      const kind = node.children ? "folder" : "run";
      const key = node.children ? `folder:${name}` : name;
      const open = node.children !== null && isOpen(key);
      rows.push({ kind, key, name, label, depth, position: i + 1, numSiblings: children.length, runs, isOpen: open });
      if (open) list(node, depth + 1);
    }
  }
}

/**
 * Rows by group, in the order of their first runs. A group of one run is that run. Labels leave out the folders that all
 * groups are in, and those of members what all of the group are in.
 * @param {readonly string[]} runs
 * @param {ReadonlyMap<string, string>} groupOf  run to group
 * @param {(key: string) => boolean} isOpen  of groups
 * @returns {Row[]}
 */
export function groupRows(runs, groupOf, isOpen) {
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const run of runs) {
    const name = groupOf.get(run) ?? run;
    const members = groups.get(name);
    if (members) members.push(run);
    else groups.set(name, [run]);
  }
  const start = commonFolder([...groups].flatMap(([name, members]) => (members.length > 1 ? [name] : [])));
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
    const row = { name, label: name.slice(start), depth: 0, position, numSiblings: groups.size, runs: members, isOpen: isOpen(key) };
    rows.push({ kind: "group", key, ...row });
    if (!row.isOpen) continue;
    const said = commonFolder(members);
    members.forEach((run, i) => rows.push({ ...runRow(run, 1, i + 1, members.length), label: run.slice(said) }));
  }
  return rows;
}

/**
 * Length of the path that names have in common, with the slash at its end.
 * @param {readonly string[]} names
 */
function commonFolder(names) {
  if (names.length < 2) return 0;
  let length = Infinity;
  for (const name of names) {
    let i = 0;
    while (i < length && i < name.length && name[i] === names[0][i]) i++;
    length = i;
  }
  return names[0].lastIndexOf("/", length - 1) + 1;
}

/**
 * One row a run.
 * @param {readonly string[]} runs
 * @returns {Row[]}
 */
export function flatRows(runs) {
  return runs.map((run, i) => runRow(run, 0, i + 1, runs.length));
}

/** @param {string} run @param {number} depth @param {number} position @param {number} numSiblings @returns {Row} */
function runRow(run, depth, position, numSiblings) {
  return { kind: "run", key: run, name: run, label: run, depth, position, numSiblings, runs: [run], isOpen: false };
}

/** @param {string} label @param {string} name @param {string[]} runs @returns {Node} */
function makeNode(label, name, runs) {
  return { label, name, runs, children: [], folders: new Map() };
}

/**
 * Where a label is cut when there is no room: in the middle, because names differ at their ends.
 * @param {string} label
 * @returns {[head: string, tail: string]} the tail is kept
 */
export function cutLabel(label) {
  const TAIL = 12;
  if (label.length <= TAIL + 4) return ["", label];
  let at = label.length - TAIL;
  if (/[\udc00-\udfff]/.test(label[at])) at--; // not between the halves of a character
  return [label.slice(0, at), label.slice(at)];
}
