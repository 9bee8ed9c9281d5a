// Elements of parsed Markdown: only listed elements are created, whatever the response has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { elementsOf } from "../../tbcore_text/static/nodes.js";

/** Elements as text: `tag(name=value ...)[children]`. */
function written(element) {
  if (Array.isArray(element)) return element.map(written).join("");
  if (typeof element === "string") return element;
  const { children, ...props } = element.props;
  const names = Object.entries(props).map(([name, value]) => `${name}=${value}`);
  return `${element.type}(${names.join(" ")})[${[children ?? []].flat(Infinity).map(written).join("")}]`;
}

const drawn = (...nodes) => written(elementsOf(nodes));

test("elements are created with their children", () => {
  assert.equal(drawn("a ", ["em", {}, ["b", ["code", {}, ["c"]]]]), "a em()[bcode()[c]]");
  assert.equal(drawn(["ol", { start: "3" }, [["li", {}, ["x"]]]]), "ol(start=3)[li()[x]]");
  assert.equal(drawn(["td", { align: "right" }, ["1"]]), "td(class=text-right)[1]");
});

test("unknown elements are replaced by their text, and unknown attributes dropped", () => {
  assert.equal(drawn(["script", {}, ["alert(1)"]]), "alert(1)");
  assert.equal(drawn(["img", { src: "https://example.org" }, []]), "");
  assert.equal(drawn(["p", { onclick: "x", style: "y", class: "z" }, ["a"]]), "p()[a]");
  assert.equal(drawn(["td", { align: "x y" }, ["1"]]), "td()[1]");
});

test("links are absolute, and their targets get no referrer", () => {
  const href = "https://example.org/a";
  assert.equal(drawn(["a", { href }, ["a"]]), `a(href=${href} title=${href} target=_blank rel=noopener noreferrer)[a]`);
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "//example.org", "a", ""]) {
    assert.equal(drawn(["a", { href: bad }, ["a"]]), "a()[a]");
  }
});
