// index.html and what it names.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../tbcore/web", import.meta.url));
const PAGE = readFileSync(join(WEB, "index.html"), "utf8");
const IMPORTS = JSON.parse(/** @type {RegExpExecArray} */ (/<script type="importmap">(.*?)<\/script>/s.exec(PAGE))[1]).imports;

/** Names of modules that a module imports, as written. @param {string} path */
function importsOf(path) {
  return [...readFileSync(path, "utf8").matchAll(/^(?:import|export)\s(?:[^"]*?\sfrom\s)?"([^"]+)";/gm)].map((found) => found[1]);
}

/** All files that loading a module loads, relative to the web folder. @param {string} path @param {Set<string>} seen */
function reach(path, seen) {
  const name = relative(WEB, path);
  if (seen.has(name)) return seen;
  seen.add(name);
  if (!existsSync(path)) return seen; // a library that was not fetched yet
  for (const specifier of importsOf(path)) {
    const mapped = IMPORTS[specifier];
    reach(mapped ? join(WEB, mapped.replace("./static/tbcore/", "")) : join(dirname(path), specifier), seen);
  }
  return seen;
}

test("the shell's modules are all preloaded, and nothing else is", () => {
  const preloaded = [...PAGE.matchAll(/modulepreload" href="static\/tbcore\/([^"]+)"/g)].map((found) => found[1]);
  const needed = reach(join(WEB, "shell.js"), new Set());
  needed.delete("shell.js");
  // Libraries import each other by their npm names; they may not be fetched here.
  needed.add("vendor/htm.mjs");
  needed.delete("vendor/versions.json");
  assert.deepEqual([...preloaded].sort(), [...needed].sort());
});

test("all addresses in the page are relative and exist", () => {
  const addresses = [...PAGE.matchAll(/(?:href|src)="([^"]+)"/g)].map((found) => found[1]);
  for (const address of addresses) {
    assert.match(address, /^static\/tbcore\//);
    const path = join(WEB, address.replace("static/tbcore/", ""));
    if (!address.includes("/vendor/")) assert.ok(existsSync(path), address);
  }
});

test("the import map has the npm names and tbcore/, all relative", () => {
  assert.deepEqual(Object.keys(IMPORTS).sort(), [
    "@preact/signals",
    "@preact/signals-core",
    "htm",
    "htm/preact",
    "preact",
    "preact/hooks",
    "tbcore/",
    "uplot",
  ]);
  for (const target of Object.values(IMPORTS)) assert.match(target, /^\.\/static\/tbcore\//);
});

test("there is nothing inline that the Content-Security-Policy blocks", () => {
  assert.doesNotMatch(PAGE, /<style|\sstyle=|\son\w+=|javascript:/);
  for (const name of readdirSync(WEB, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js") || name.startsWith("vendor")) continue;
    const text = readFileSync(join(WEB, name), "utf8");
    assert.doesNotMatch(text, /innerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function|style="/, name);
  }
});

test("pure modules import only pure modules, so that they run without a browser", () => {
  const pure = ["address", "colors", "axes", "columns", "cursor", "format", "gestures", "legend-rows", "marks", "names", "pattern", "queue", "raster", "run-groups", "run-order", "run-tree", "selection", "series", "smoothing", "steps", "tag-index", "ticks"];
  for (const name of pure) {
    for (const specifier of importsOf(join(WEB, "lib", `${name}.js`))) {
      assert.ok(pure.some((other) => specifier === `./${other}.js`), `${name}.js imports ${specifier}`);
    }
  }
});

test("what is left out on the way to the browser is comments, not text between backticks", () => {
  /** The rule of tbcore/server/static.py. */
  const left = /^[ \t]*(?:\/\/[^\n]*|\/\*\*(?:[^*]|\*(?!\/))*\*\/[ \t]*)$/gm;
  assert.deepEqual(textOf("a(`x\n// y ${'`' + `// z`}\n`)\n// `w").match(/\S+/g), ["x", "//", "y", "//", "z"]);
  let numFound = 0;
  for (const path of readdirSync(WEB, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".js") || path.startsWith("vendor")) continue;
    const source = readFileSync(join(WEB, path), "utf8");
    const text = textOf(source);
    for (const { index, 0: found } of source.matchAll(left)) {
      assert.equal(text.slice(index, index + found.length).trim(), "", `${path}: ${found}`);
      numFound++;
    }
  }
  assert.ok(numFound > 500);
});

/**
 * What stands between backticks, at its place in the source; all else is spaces and ends of lines.
 * @param {string} source
 */
function textOf(source) {
  const text = source.replace(/[^\n]/g, " ").split("");
  /** @type {number[]} of each `${` that is open, the braces that are open in it */
  const open = [0];
  let isText = false;
  for (let i = 0; i < source.length; i++) {
    const rest = source.slice(i, i + 2);
    if (isText) {
      if (rest[0] === "`") isText = false;
      else if (rest === "${") {
        open.push(0);
        isText = false;
        i++;
      } else {
        text[i] = source[i];
        if (rest[0] === "\\") i++;
      }
      continue;
    }
    const skipped =
      rest === "//" || rest === "/*"
        ? /\/\/[^\n]*|\/\*[^]*?\*\//y
        : rest[0] === '"' || rest[0] === "'"
          ? /(["'])(?:\\.|(?!\1).)*\1/y
          : rest[0] === "/" && /[(,=:[!&|?{};]\s*$/.test(source.slice(Math.max(0, i - 20), i))
            ? /\/(?:\\.|\[(?:\\.|[^\]])*\]|[^/\\\n])+\//y
            : null;
    if (skipped) {
      skipped.lastIndex = i;
      i += (skipped.exec(source)?.[0].length ?? 1) - 1;
    } else if (rest[0] === "`") isText = true;
    else if (rest[0] === "{") open[open.length - 1]++;
    else if (rest[0] === "}" && open[open.length - 1]-- === 0) {
      open.pop();
      isText = true;
    }
  }
  assert.ok(!isText && open.length === 1 && open[0] === 0, "not understood");
  return text.join("");
}
