// Order, grouping and splitting of names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { splitName } from "../../../tbcore/web/lib/chart/hover-tooltip.js";
import { compareNames, groupTags, labelOf, runTitle } from "../../../tbcore/web/text-names.js";

const ORDERS = JSON.parse(readFileSync(new URL("../../names.json", import.meta.url), "utf8"));

for (const names of ORDERS.ascending) {
  test(`names in natural order: ${names.slice(0, 3).join(", ")}`, () => {
    assertAscending(names);
    assert.deepEqual([...names].reverse().sort(compareNames), names);
  });
}

test("the order is total and antisymmetric", () => {
  const names = ["", "a", "a/", "/a", "0", "00", "a0", "a00", "a00/1", "é", "z", "A", "_", "😀", "1e3", "1e10", "1000", "1.0", "1", "1.10", "1.9", "1.9.1", "v1.9", "v1.10", "1e-3", "0.001"];
  for (const a of names) {
    for (const b of names) {
      const there = Math.sign(compareNames(a, b));
      assert.equal(there, -Math.sign(compareNames(b, a)) + 0, `${a} and ${b}`);
      assert.equal(there === 0, a === b, `${a} and ${b}`);
    }
  }
});

test("tags are grouped by their first segment, in natural order", () => {
  assert.deepEqual(groupTags(["loss/b10", "loss/b9", "acc/x", "loss/b9"]), [
    { name: "loss", tags: ["loss/b9", "loss/b10"] },
    { name: "acc", tags: ["acc/x"] },
  ]);
});

test("tags without a group are together", () => {
  assert.deepEqual(groupTags(["rate", "rate/train", "z", "a"]), [
    { name: "", tags: ["a", "z"] },
    { name: "rate", tags: ["rate", "rate/train"] },
  ]);
});

test("groups with the word loss, acc or val come first", () => {
  const names = (/** @type {string[]} */ ...tags) => groupTags(tags).map(({ name }) => name);
  const groups = ["perf", "eval", "val", "Validation", "Accuracy", "top1-acc", "train_loss", "loss2", "losses"];
  assert.deepEqual(
    names("a", ...groups.map((group) => `${group}/x`)),
    ["loss2", "losses", "train_loss", "Accuracy", "top1-acc", "Validation", "eval", "val", "", "perf"],
  );
  // Words that only begin or end as those are other words.
  assert.deepEqual(names("values/x", "gloss/x", "accelerator/x", "aa/x"), ["aa", "accelerator", "gloss", "values"]);
  // Tags without a group come with the best of them.
  assert.deepEqual(names("epoch", "accuracy", "a/x", "val/x", "loss/x"), ["loss", "", "val", "a"]);
  assert.deepEqual(names("epoch", "loss", "loss_2/x"), ["", "loss_2"]);
});

test("groups with a loss or an accuracy come before those about the machine", () => {
  const tags = ["hp/best_val_loss", "sys/gpu_mem_gb", "train/grad_norm", "train/lr", "train/loss", "val/acc", "val/loss"];
  assert.deepEqual(groupTags(tags), [
    { name: "val", tags: ["val/loss", "val/acc"] },
    { name: "train", tags: ["train/loss", "train/grad_norm", "train/lr"] },
    { name: "hp", tags: ["hp/best_val_loss"] },
    { name: "sys", tags: ["sys/gpu_mem_gb"] },
  ]);
  assert.deepEqual(groupTags([...tags].reverse()), groupTags(tags));
  const names = (/** @type {string[]} */ ...tags) => groupTags(tags).map(({ name }) => name);
  assert.deepEqual(names("MultiClass/f1", "epoch", "perf/step", "zoo/accuracy", "apple/x"), ["zoo", "", "MultiClass", "apple", "perf"]);
});

test("inside a group, loss, acc and val come first", () => {
  assert.deepEqual(groupTags(["epoch_lr", "epoch_accuracy", "epoch_loss", "glossy", "val_f1"])[0].tags, ["epoch_loss", "epoch_accuracy", "val_f1", "epoch_lr", "glossy"]);
  assert.deepEqual(groupTags(["loss/b", "loss/a", "loss/c_loss"])[0].tags, ["loss/c_loss", "loss/a", "loss/b"]);
});

test("tags that are empty or start with a slash are grouped", () => {
  assert.deepEqual(groupTags(["/a/b", "", "//"]), [
    { name: "", tags: [""] },
    { name: "/", tags: ["//"] },
    { name: "/a", tags: ["/a/b"] },
  ]);
  assert.deepEqual(groupTags([]), []);
});

test("a name is split before its last segment", () => {
  assert.deepEqual(splitName("a/b/c"), ["a/b/", "c"]);
  assert.deepEqual(splitName("a"), ["", "a"]);
  assert.deepEqual(splitName("a/b/"), ["a/", "b/"]);
  assert.deepEqual(splitName("."), ["", "."]);
  assert.deepEqual(splitName(""), ["", ""]);
});

/**
 * Asserts that names are in ascending order: each is less than all names after it.
 * @param {string[]} names
 */
function assertAscending(names) {
  names.forEach((name, at) => {
    for (const later of names.slice(at + 1)) assert.ok(compareNames(name, later) < 0, `${name} before ${later}`);
  });
}

test("the tooltip of a run has its label, and its name if that is another", () => {
  assert.equal(runTitle({ name: "a", label: "baseline" }), "baseline\na");
  assert.equal(runTitle({ name: "a", label: "a" }), "a");
  assert.equal(runTitle({ name: "a" }), "a", "of a plugin that knows no labels");
  assert.equal(runTitle({ name: "a\nb", label: "x\u202ey" }).split("\n").length, 2, "what could hide a part is escaped");
  const runs = [{ name: "a", label: "baseline" }];
  assert.deepEqual(["a", "b"].map((name) => labelOf(runs, name)), ["baseline", "b"]);
});
