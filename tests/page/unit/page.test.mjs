// index.html, the files that it refers to, and rules that hold for all modules of the page.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const WEB = fileURLToPath(new URL("../../../tbcore/web", import.meta.url));
const PAGE = readFileSync(join(WEB, "index.html"), "utf8");
const IMPORTS = JSON.parse(/** @type {RegExpExecArray} */ (/<script type="importmap">(.*?)<\/script>/s.exec(PAGE))[1]).imports;

/** Returns the specifiers of a module's imports. @param {string} path */
function importsOf(path) {
  return [...readFileSync(path, "utf8").matchAll(/^(?:import|export)\s(?:[^"]*?\sfrom\s)?"([^"]+)";/gm)].map((match) => match[1]);
}

/**
 * Adds a module and all modules that it imports, directly or indirectly, to a set; returns the set.
 * @param {string} path
 * @param {Set<string>} loaded  paths relative to the web folder
 */
function addWithImports(path, loaded) {
  const name = relative(WEB, path);
  if (loaded.has(name)) return loaded;
  loaded.add(name);
  if (!existsSync(path)) return loaded; // a library that has not been downloaded
  for (const specifier of importsOf(path)) {
    const mapped = IMPORTS[specifier];
    addWithImports(mapped ? join(WEB, mapped.replace("./static/tbcore/", "")) : join(dirname(path), specifier), loaded);
  }
  return loaded;
}

test("index.html preloads exactly the modules that shell/boot.js imports", () => {
  const preloaded = [...PAGE.matchAll(/modulepreload" href="static\/tbcore\/([^"]+)"/g)].map((match) => match[1]);
  const needed = addWithImports(join(WEB, "shell/boot.js"), new Set());
  needed.delete("shell/boot.js");
  // Imported by another library, which may not have been downloaded.
  needed.add("vendor/htm.mjs");
  needed.delete("vendor/versions.json");
  assert.deepEqual([...preloaded].sort(), [...needed].sort());
});

test("all URLs in index.html are relative and their files exist", () => {
  const addresses = [...PAGE.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1]);
  for (const address of addresses) {
    assert.match(address, /^static\/tbcore\//);
    const path = join(WEB, address.replace("static/tbcore/", ""));
    if (!address.includes("/vendor/")) assert.ok(existsSync(path), address);
  }
});

test("the import map has the libraries' npm names and tbcore/, with relative URLs", () => {
  assert.deepEqual(Object.keys(IMPORTS).sort(), [
    "@preact/signals",
    "@preact/signals-core",
    "htm",
    "htm/preact",
    "preact",
    "preact/hooks",
    "tbcore/",
  ]);
  for (const target of Object.values(IMPORTS)) assert.match(target, /^\.\/static\/tbcore\//);
});

test("no page or module uses inline code that the Content-Security-Policy blocks", () => {
  assert.doesNotMatch(PAGE, /<style|\sstyle=|\son\w+=|javascript:/);
  for (const name of readdirSync(WEB, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js") || name.startsWith("vendor")) continue;
    const text = readFileSync(join(WEB, name), "utf8");
    assert.doesNotMatch(text, /innerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function|style="/, name);
  }
});

test("pure modules import only pure modules, so that they run without a browser", () => {
  const chart = ["axes", "draw", "gestures", "hover", "keyboard", "legend-rows", "model", "raster", "series", "ticks"];
  const state = ["groups", "selection", "tree"];
  const pure = [
    ...["lib/address.js", "lib/comparisons.js", "lib/format.js", "lib/group-figure.js", "lib/group-statistics.js", "lib/ui/colors.js", "lib/word-rules.js"],
    ...["expression-syntax", "globs", "names", "offers", "old-links", "tag-queries"].map((name) => `lib/queries/${name}.js`),
    ...chart.map((name) => `lib/chart/${name}.js`),
    ...state.map((name) => `shell/state/${name}.js`),
  ];
  for (const name of pure) {
    for (const specifier of importsOf(join(WEB, name))) {
      const imported = relative(WEB, join(WEB, dirname(name), specifier));
      assert.ok(pure.includes(imported), `${name} imports ${specifier}`);
    }
  }
});

test("the server strips comments from modules, but no text of template literals", () => {
  /** The comments that the server strips, as in tbcore/server/static.py. */
  const stripped = /^[ \t]*(?:\/\/[^\n]*|\/\*\*(?:[^*]|\*(?!\/))*\*\/[ \t]*)$|\/\*\* @type (?:[^*\n]|\*(?!\/))*\*\/ ?/gm;
  assert.deepEqual(textOf("a(`x\n// y ${'`' + `// z`}\n`)\n// `w").match(/\S+/g), ["x", "//", "y", "//", "z"]);
  let numStripped = 0;
  const plugins = fileURLToPath(new URL("../../../plugins", import.meta.url));
  const paths = [WEB, ...readdirSync(plugins).map((name) => join(plugins, name, `tbcore_${name}`, "static"))]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)));
  for (const path of paths) {
    if (!path.endsWith(".js") || path.includes("vendor")) continue;
    const source = readFileSync(path, "utf8");
    const text = textOf(source);
    for (const { index, 0: comment } of source.matchAll(stripped)) {
      assert.equal(text.slice(index, index + comment.length).trim(), "", `${path}: ${comment}`);
      numStripped++;
    }
  }
  assert.ok(numStripped > 2000);
});

/**
 * Returns the source with all characters replaced by spaces, except line ends and the text of
 * template literals.
 * @param {string} source
 */
function textOf(source) {
  const text = source.replace(/[^\n]/g, " ").split("");
  /** Numbers of open braces: at the top level, and then in each open `${`. @type {number[]} */
  const open = [0];
  let isText = false; // inside of a template literal
  for (let i = 0; i < source.length; i++) {
    const next = source.slice(i, i + 2);
    if (isText) {
      if (next[0] === "`") isText = false;
      else if (next === "${") {
        open.push(0);
        isText = false;
        i++;
      } else {
        text[i] = source[i];
        if (next[0] === "\\") i++;
      }
      continue;
    }
    // A comment, a string or a regular expression is skipped as a whole.
    const skipped =
      next === "//" || next === "/*"
        ? /\/\/[^\n]*|\/\*[^]*?\*\//y
        : next[0] === '"' || next[0] === "'"
          ? /(["'])(?:\\.|(?!\1).)*\1/y
          : next[0] === "/" && /[(,=:[!&|?{};]\s*$/.test(source.slice(Math.max(0, i - 20), i))
            ? /\/(?:\\.|\[(?:\\.|[^\]])*\]|[^/\\\n])+\//y
            : null;
    if (skipped) {
      skipped.lastIndex = i;
      i += (skipped.exec(source)?.[0].length ?? 1) - 1;
    } else if (next[0] === "`") isText = true;
    else if (next[0] === "{") open[open.length - 1]++;
    else if (next[0] === "}" && open[open.length - 1]-- === 0) {
      open.pop();
      isText = true;
    }
  }
  assert.ok(!isText && open.length === 1 && open[0] === 0, "unbalanced braces or backticks");
  return text.join("");
}
