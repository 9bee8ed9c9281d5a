// The Markdown of notes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { nodesOf } from "../../tbcore_notes/static/markdown.js";

/** @import { Node } from "../../tbcore_notes/static/markdown.js" */

/** Nodes as HTML, for reading. @param {readonly Node[]} nodes @returns {string} */
const shown = (nodes) =>
  nodes.map((node) => (typeof node === "string" ? node : `<${[node[0], ...Object.values(node[1])].join(" ")}>${shown(node[2])}</${node[0]}>`)).join("").replaceAll("<br></br>", "<br>");

/** All texts and tags in a tree. @param {readonly Node[]} nodes @returns {{ texts: string[], tags: string[], links: string[] }} */
function partsOf(nodes) {
  const parts = { texts: /** @type {string[]} */ ([]), tags: /** @type {string[]} */ ([]), links: /** @type {string[]} */ ([]) };
  for (const node of nodes) {
    if (typeof node === "string") parts.texts.push(node);
    else {
      const inner = partsOf(node[2]);
      parts.tags.push(node[0], ...inner.tags);
      parts.texts.push(...inner.texts);
      parts.links.push(...(node[1].href ? [node[1].href] : []), ...inner.links);
    }
  }
  return parts;
}

test("what people write by hand is drawn, and each line stays one", () => {
  const table = [
    ["why\n\nso\nand so", "<p>why</p><p>so<br>and so</p>"],
    ["# Result\nbest **so far**, *not* _final_, ~~bad~~", "<h2>Result</h2><p>best <strong>so far</strong>, <em>not</em> <em>final</em>, <del>bad</del></p>"],
    ["see:\n- a\n- b `x*y`\n  - c\n    more\n\nend", "<p>see:</p><ul><li>a</li><li>b <code>x*y</code><ul><li>c<br>more</li></ul></li></ul><p>end</p>"],
    ["3. a\n4. b\n   - c", "<ol 3><li>a</li><li>b<ul><li>c</li></ul></li></ol>"],
    ["> said\n> # so\nnot", "<blockquote><p>said</p><h2>so</h2></blockquote><p>not</p>"],
    ["```yaml\na: [1]\n  **b**\n\n```\nx", "<pre><code>a: [1]\n  **b**\n</code></pre><p>x</p>"],
    ["so:\n| lr | loss |\n|:--|--:|\n| 1e-3 | **0.4** |\n| a\\|b |\nend", "<p>so:</p><table><tr><th>lr</th><th>loss</th></tr><tr><td>1e-3</td><td><strong>0.4</strong></td></tr><tr><td>a|b</td></tr></table><p>end</p>"],
    ["# so\r\n- [x] a\r\rb\r\n```\r\nc\r\n```\r\n", "<h2>so</h2><ul><li>☑ a</li></ul><p>b</p><pre><code>c</code></pre>"],
    ["a | b\n-|-\n1 | 2\n\nx", "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><p>x</p>"],
    ["x | y\nnot | one", "<p>x | y<br>not | one</p>"],
    ["- [ ] rerun\n- [x] plot\n- [y]", "<ul><li>☐ rerun</li><li>☑ plot</li><li>[y]</li></ul>"],
    ["a\n---\nb", "<p>a</p><hr></hr><p>b</p>"],
    ["[paper](https://a.example/x_y_z) **https://b.example**", "<p><a https://a.example/x_y_z>paper</a> <strong><a https://b.example>https://b.example</a></strong></p>"],
    ["1e-3 * 2 * 3, my_run_name, sweep/*, exp/*, -5 %, 2*3*4, \\*x\\*", "<p>1e-3 * 2 * 3, my_run_name, sweep/*, exp/*, -5 %, 2*3*4, *x*</p>"],
    ["#paper", "<p>#paper</p>"],
    ["-", "<p>-</p>"],
    ["```", "<pre><code></code></pre>"],
    ["", ""],
  ];
  for (const [text, found] of table) assert.equal(shown(nodesOf(text)), found, text);
});

test("only addresses of the web are links, and HTML is text", () => {
  const table = /** @type {const} */ ([
    ["see https://a.example/x?y=1&z#q, and (http://b.example).", ["https://a.example/x?y=1&z#q", "http://b.example"]],
    ["javascript:alert(1) data:text/html,x file:///etc [x](javascript:alert(1)) [y](//z)", []],
    ['<a href="https://a.example/">x</a> <img src=x onerror=alert(1)>', ["https://a.example/"]],
  ]);
  for (const [text, links] of table) {
    const parts = partsOf(nodesOf(text));
    assert.deepEqual(parts.links, links, text);
    assert.deepEqual(parts.tags.filter((tag) => tag !== "a"), ["p"]);
    assert.equal(parts.texts.join(""), text);
  }
});

test("any text ends in time, with known elements alone", () => {
  const known = new Set("p br h2 h3 h4 h5 h6 hr blockquote ul ol li pre code a strong em del table tr th td".split(" "));
  const pieces = ["|", "|-|\n", ">", "> ", "- ", "1. ", "  ", "*", "**", "_", "~~", "`", "[", "](https://", ")", "#", "\n", "```\n", "\\", "https://", ":", " ", "x"];
  const texts = pieces.flatMap((a) => pieces.map((b) => (a + b).repeat(10_000 / (a + b).length)));
  let seed = 1;
  const next = () => (seed = (seed * 48271) % 2147483647);
  for (let i = 0; i < 300; i++) texts.push(Array.from({ length: 200 }, () => pieces[next() % pieces.length]).join(""));
  // Time of the processor, so that a busy machine does not fail the test. They take about a second.
  const before = process.cpuUsage();
  for (const text of texts) for (const tag of partsOf(nodesOf(text)).tags) assert.ok(known.has(tag), tag);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 15_000_000, `${user + system} µs`);
});
