// Warnings about deprecated names that plugins use.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deprecationsOf, warnDeprecated } from "../../../tbcore/web/shell/deprecated.js";

const STACK = `Error
    at warnDeprecated (http://localhost:6006/runs/static/tbcore/shell/deprecated.js:20:59)
    at draw (http://localhost:6006/runs/static/plugins/hello-2.0/parts/draw.js:7:3)
    at render (http://localhost:6006/runs/static/plugins/other/index.js:7:3)`;

test("a deprecated name is logged once per plugin, with the plugin's name", (t) => {
  const warn = t.mock.method(console, "warn", () => {});

  warnDeprecated("host.old()", "use host.new()", STACK);
  warnDeprecated("host.old()", "use host.new()", STACK);
  warnDeprecated("host.old()", "use host.new()", STACK.replace("hello-2.0", "steps"));
  warnDeprecated("host.old()", "use host.new()");

  assert.deepEqual(
    warn.mock.calls.map(({ arguments: [line] }) => line),
    [
      'plugin "hello-2.0" uses host.old(), which is deprecated: use host.new()',
      'plugin "steps" uses host.old(), which is deprecated: use host.new()',
      "a module uses host.old(), which is deprecated: use host.new()",
    ],
  );
  assert.deepEqual(deprecationsOf("hello-2.0"), [{ name: "host.old()", instead: "use host.new()", count: 2 }]);
  assert.deepEqual(deprecationsOf("unknown"), []);
});
