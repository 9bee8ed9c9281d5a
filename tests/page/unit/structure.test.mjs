// The page's modules: lines of files and of functions, the number of public names, and which modules import which.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { posix, relative, sep } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { NodeFlags, SyntaxKind, isCallExpression, isExportDeclaration, isFunctionLikeDeclaration, isImportDeclaration, isStringLiteral } from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Lines of the longest file. */
const MAX_FILE = 400;
/** Lines of the longest function, with the functions inside it. */
const MAX_FUNCTION = 120;
/** Number of names that plugins can import from all public modules together. */
const MAX_NAMES = 85;
/**
 * The folders of the page. A module imports only from its own folder and from those before it. Public
 * modules are in "": plugins import them, the page itself does not.
 */
const FOLDERS = ["lib", "lib/ui", "lib/queries", "lib/chart", "lib/cards", "lib/steps", "lib/frame", "shell/state", "shell/runs", "shell", ""];

/**
 * @typedef {object} Module
 * @property {string} path
 * @property {number} lines
 * @property {{ name: string, lines: number }[]} functions
 * @property {string[]} imports  paths of the page's modules that it imports or re-exports, also those that it loads later
 * @property {boolean} onlyReExports
 */

/** The modules of the page, of all plugins, and of extensions. @returns {Module[]} */
function readModules() {
  const api = new API({ cwd: ROOT });
  try {
    const [{ program, rootFiles }] = api.updateSnapshot({ openProjects: [`${ROOT}tsconfig.json`] }).getProjects();
    return rootFiles.flatMap((file) => {
      const path = relative(ROOT, file).replaceAll(sep, "/");
      return /^(tbcore\/web|plugins|extensions)\//.test(path) ? [measure(path, program.getSourceFile(file))] : [];
    });
  } finally {
    api.close();
  }
}

/** @param {string} path @param {import("typescript/unstable/ast").SourceFile} source @returns {Module} */
function measure(path, source) {
  /** @type {Module["functions"]} */
  const functions = [];
  /** @type {string[]} */
  const imports = [];
  /** @param {import("typescript/unstable/ast").Node} node */
  const visit = (node) => {
    if (isFunctionLikeDeclaration(node)) {
      const name = (node.name ?? node.parent.name)?.getText() ?? "anonymous";
      functions.push({ name, lines: node.getText().split("\n").length });
    }
    if (isComment(node)) return;
    const isLoaded = isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword;
    const specifier = isLoaded ? node.arguments[0] : isImportDeclaration(node) || isExportDeclaration(node) ? node.moduleSpecifier : undefined;
    if (specifier && isStringLiteral(specifier) && specifier.text.startsWith(".")) imports.push(posix.join(posix.dirname(path), specifier.text));
    node.forEachChild(visit);
  };
  visit(source);
  const onlyReExports = source.statements.every((node) => isComment(node) || (isExportDeclaration(node) && node.moduleSpecifier !== undefined));
  return { path, lines: source.text.trimEnd().split("\n").length, functions, imports, onlyReExports };
}

/** Whether TypeScript made a node from a comment, for the types in it. @param {import("typescript/unstable/ast").Node} node */
function isComment({ flags }) {
  return (flags & NodeFlags.Reparsed) !== 0;
}

const modules = readModules();

test("no module is too long", () => {
  const tooLong = modules.filter(({ path, lines }) => lines > MAX_FILE);
  assert.ok(modules.length > 100);
  assert.deepEqual(tooLong.map(({ path, lines }) => `${path}: ${lines} lines`), []);
});

test("no function is too long", () => {
  const functions = modules.flatMap(({ path, functions }) => functions.map(({ name, lines }) => ({ name: `${path} ${name}`, lines })));
  const tooLong = functions.filter(({ name, lines }) => lines > MAX_FUNCTION);
  assert.ok(functions.length > 1000);
  assert.deepEqual(tooLong.map(({ name, lines }) => `${name}: ${lines} lines`), []);
});

test("plugins can import few names", async () => {
  const files = readdirSync(`${ROOT}tbcore/web`).filter((file) => file.endsWith(".js") && file !== "frame.js"); // That one is for pages.
  const names = await Promise.all(files.map(async (file) => Object.keys(await import(`tbcore/${file}`)).map((name) => `${file} ${name}`)));
  assert.ok(names.flat().includes("ui.js Icon"));
  const { size } = new Set(names.flat().map((name) => name.split(" ")[1])); // Two modules may have the same function.
  assert.ok(size <= MAX_NAMES, `${size} names: ${names.flat().join(", ")}`);
});

// --- who imports whom ----------------------------------------------------------------------------

/** The modules of the page, without its types and without those of plugins. */
const page = modules.filter(({ path }) => path.startsWith("tbcore/web/") && path !== "tbcore/web/host.js");

/** The folder of a module of the page: "lib/ui" for `tbcore/web/lib/ui/lazy.js`. @param {string} path */
function folderOf(path) {
  return posix.dirname(path).slice("tbcore/web/".length);
}

test("a module of the page imports only from its own folder and from those before it", () => {
  const wrong = page.flatMap(({ path, imports }) =>
    imports.filter((imported) => !(FOLDERS.indexOf(folderOf(imported)) <= FOLDERS.indexOf(folderOf(path)))).map((imported) => `${path} imports ${imported}`),
  );
  assert.deepEqual([...new Set(page.map(({ path }) => folderOf(path)))].sort(), [...FOLDERS].sort());
  assert.ok(page.flatMap(({ imports }) => imports).length > 250);
  assert.deepEqual(wrong, []);
});

test("no module of the page imports itself through others", () => {
  const importsOf = new Map(page.map(({ path, imports }) => [path, imports]));
  const done = new Set();
  /** @type {string[]} */
  const circles = [];
  /** @param {string} path @param {string[]} importers  the modules through which it was reached */
  const follow = (path, importers) => {
    if (importers.includes(path)) circles.push([...importers.slice(importers.indexOf(path)), path].join(" -> "));
    if (importers.includes(path) || done.has(path)) return;
    for (const imported of importsOf.get(path) ?? []) follow(imported, [...importers, path]);
    done.add(path);
  };
  for (const { path } of page) follow(path, []);
  assert.deepEqual(circles, []);
});

test("public modules only re-export what is in lib", () => {
  const faces = page.filter(({ path }) => folderOf(path) === "");
  const wrong = faces.filter(({ onlyReExports, imports }) => !onlyReExports || !imports.every((path) => folderOf(path).startsWith("lib")));
  assert.equal(faces.length, 12);
  assert.deepEqual(wrong.map(({ path }) => path), []);
});
