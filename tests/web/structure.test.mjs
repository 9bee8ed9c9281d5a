// The size of the page's modules: lines of files and of functions, and the number of public names.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { relative, sep } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isFunctionLikeDeclaration } from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Lines of the longest file. */
const MAX_FILE = 400;
/** Lines of the longest function, with the functions inside it. */
const MAX_FUNCTION = 120;
/** Number of names that plugins can import from all public modules together. */
const MAX_NAMES = 80;

/** @typedef {{ path: string, lines: number, functions: { name: string, lines: number }[] }} Module */

/** The modules of the page and of all plugins. @returns {Module[]} */
function readModules() {
  const api = new API({ cwd: ROOT });
  try {
    const [{ program, rootFiles }] = api.updateSnapshot({ openProjects: [`${ROOT}tsconfig.json`] }).getProjects();
    return rootFiles.flatMap((file) => {
      const path = relative(ROOT, file).replaceAll(sep, "/");
      return /^(tbcore\/web|plugins)\//.test(path) ? [measure(path, program.getSourceFile(file))] : [];
    });
  } finally {
    api.close();
  }
}

/** @param {string} path @param {import("typescript/unstable/ast").SourceFile} source @returns {Module} */
function measure(path, source) {
  /** @type {Module["functions"]} */
  const functions = [];
  /** @param {import("typescript/unstable/ast").Node} node */
  const visit = (node) => {
    if (isFunctionLikeDeclaration(node)) {
      const name = (node.name ?? node.parent.name)?.getText() ?? "anonymous";
      functions.push({ name, lines: node.getText().split("\n").length });
    }
    node.forEachChild(visit);
  };
  visit(source);
  return { path, lines: source.text.trimEnd().split("\n").length, functions };
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
  const files = readdirSync(`${ROOT}tbcore/web`).filter((file) => file.endsWith(".js"));
  const names = await Promise.all(files.map(async (file) => Object.keys(await import(`tbcore/${file}`)).map((name) => `${file} ${name}`)));
  assert.ok(names.flat().includes("ui.js Icon"));
  assert.ok(names.flat().length <= MAX_NAMES, `${names.flat().length} names: ${names.flat().join(", ")}`);
});
