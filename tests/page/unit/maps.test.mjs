// The page never takes an object for a map of names from logs, links or settings: `names[name]` is a
// function for `constructor`, which every object inherits.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SyntaxKind } from "typescript/unstable/ast";
import { API, TypeFlags } from "typescript/unstable/sync";

/** @import { Node } from "typescript/unstable/ast" */
/** @import { Checker, Type } from "typescript/unstable/sync" */
/** @typedef {{ node: Node, object: Node, key: Node }} Lookup */

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Types of keys that are no names from elsewhere. */
const HARMLESS = TypeFlags.NumberLike | TypeFlags.ESSymbolLike;

/**
 * The faults in all modules of a project: "path:line: code".
 * @param {string} config  path of its tsconfig.json
 */
function faultsIn(config) {
  const api = new API({ cwd: ROOT });
  try {
    const [{ program, checker, rootFiles }] = api.updateSnapshot({ openProjects: [config] }).getProjects();
    const lookups = rootFiles.flatMap((file) => lookupsIn(/** @type {Node} */ (program.getSourceFile(file))));
    const types = checker.getTypeAtLocation(lookups.map(({ key }) => key));
    const faults = lookups.filter((lookup, i) => !isKnown(checker, types[i]) && !isGuarded(lookup) && !isKeyOfKeyboard(checker, lookup.key));
    return { numLookups: lookups.length, faults: faults.map(({ node }) => `${placeOf(node)}: ${node.getText()}`) };
  } finally {
    api.close();
  }
}

/** All places where a value is looked up by a computed key. @param {Node} source @returns {Lookup[]} */
function lookupsIn(source) {
  /** @type {Lookup[]} */
  const lookups = [];
  /** @param {any} node */
  const visit = (node) => {
    // object[key]
    if (node.kind === SyntaxKind.ElementAccessExpression) lookups.push({ node, object: node.expression, key: node.argumentExpression });
    // key in object
    const isIn = node.kind === SyntaxKind.BinaryExpression && node.operatorToken.kind === SyntaxKind.InKeyword;
    if (isIn && node.left.kind !== SyntaxKind.PrivateIdentifier) lookups.push({ node, object: node.right, key: node.left });
    // const { [key]: value } = object; the value is dropped if it is called `_`
    const isPattern = node.kind === SyntaxKind.BindingElement && node.propertyName?.kind === SyntaxKind.ComputedPropertyName;
    if (isPattern && node.name.getText() !== "_") lookups.push({ node, object: node, key: node.propertyName.expression });
    node.forEachChild(visit);
  };
  visit(source);
  return lookups;
}

/**
 * Whether the code determines the possible keys: numbers, symbols, texts that the type lists, names of
 * the object's own type (`keyof`), and templates that begin with a fixed text and a number.
 * @param {Checker} checker
 * @param {Type | undefined} type
 * @returns {boolean}
 */
function isKnown(checker, type) {
  if (!type) return false;
  if (type.isUnionType()) return type.getTypes().every((part) => isKnown(checker, part));
  if (type.isTemplateLiteralType()) return type.texts[0] !== "" && checker.typeToString(type.getTypes()[0]) === "number";
  if (type.isStringLiteralType()) return !(type.value in {});
  return (type.flags & HARMLESS) !== 0 || type.isIndexType() || type.isTypeParameter();
}

/** Whether the lookup depends on `Object.hasOwn(object, key)`, by `?:`, `&&` or `if`. @param {Lookup} lookup */
function isGuarded({ node, object, key }) {
  const guard = `Object.hasOwn(${object.getText()}, ${key.getText()})`;
  for (let /** @type {any} */ inner = node, outer = inner.parent; outer; [inner, outer] = [outer, outer.parent]) {
    const isBranch = outer.whenTrue === inner || outer.thenStatement === inner;
    if (isBranch && (outer.condition ?? outer.expression).getText() === guard) return true;
    if (outer.operatorToken?.kind === SyntaxKind.AmpersandAmpersandToken && outer.right === inner && outer.left.getText() === guard) return true;
  }
  return false;
}

/** Whether a key is the name of a key of the keyboard, which only the browser sets. @param {Checker} checker @param {any} key */
function isKeyOfKeyboard(checker, key) {
  const event = key.name?.getText() === "key" && checker.getTypeAtLocation(key.expression);
  return event && checker.typeToString(event) === "KeyboardEvent";
}

/** @param {Node} node */
function placeOf(node) {
  const source = node.getSourceFile();
  const line = source.text.slice(0, node.getStart()).split("\n").length;
  return `${relative(ROOT, source.fileName).replaceAll(sep, "/")}:${line}`;
}

test("no object of the page or of a plugin is used as a map of names", () => {
  const { faults, numLookups } = faultsIn(`${ROOT}tsconfig.json`);
  assert.ok(numLookups > 500);
  assert.deepEqual(faults, [], "use a Map, or Object.hasOwn(object, name) before object[name]; see docs/front_end.md");
});

test("the check finds each kind of lookup", () => {
  const folder = mkdtempSync(join(tmpdir(), "maps-"));
  const bad = [
    "tags[name] ?? []",
    "tags[name] ??= []",
    "tags[json.name]",
    "json[name]",
    "json.runs[json.name]",
    "name in tags",
    "{ const { [name]: found } = tags; }",
    "Object.fromEntries([[name, 1]])[name]",
    "Object.hasOwn(tags, other) ? tags[name] : []",
    "Object.hasOwn(tags, name) ? [] : tags[name]",
    "tags[`${name}1`]",
    '({ constructor: 1 })[/** @type {"constructor" | "a"} */ (name)]',
  ];
  const good = [
    "Object.hasOwn(tags, name) ? tags[name] : []",
    "Object.hasOwn(tags, name) && tags[name].length",
    "if (Object.hasOwn(tags, name)) tags[name].push(name)",
    "{ const { [name]: _, ...others } = tags; }",
    "new Map([[name, 1]]).get(name)",
    "name[0]",
    "tags.a[json.index - 1]",
    "tags[`h${1 + 1}`]",
    "({ light: 1, dark: 2 })[theme]",
    "({ ArrowUp: 1 })[event.key]",
  ];
  const params = [
    "@param {Record<string, string[]>} tags @param {any} json @param {string} name @param {string} other",
    '@param {"light" | "dark"} theme @param {KeyboardEvent} event',
  ];
  const program = (/** @type {string[]} */ lines) => `/** ${params.join(" ")} */\nexport function use(tags, json, name, other, theme, event) {\n${lines.join(";\n")};\n}\n`;
  const options = { allowJs: true, checkJs: true, strict: true, noEmit: true, target: "es2022", lib: ["es2024", "dom"], types: [] };
  try {
    for (const [file, lines] of Object.entries({ "bad.js": bad, "good.js": good })) writeFileSync(join(folder, file), program(lines));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.js"] }));
    const { faults } = faultsIn(join(folder, "tsconfig.json"));
    assert.deepEqual(faults.map((fault) => /(\w+\.js:\d+):/.exec(fault)?.[1]), bad.map((_, i) => `bad.js:${i + 3}`));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
