/**
 * The drawn boxes as a tree, for the keyboard and for screen readers.
 */

import { html } from "htm/preact";
import { formatName, plural } from "tbcore/format.js";
import { Icon, VirtualList } from "tbcore/ui.js";
import { costText } from "./colors.js";
import { scopeOf } from "./paths.js";

/** @typedef {import("./scene.js").Box} Box */

/**
 * The tree.
 * @param {object} props
 * @param {import("./model.js").Model} props.model
 * @param {import("./graph-view.js").GraphView} props.view
 * @param {import("./colors.js").ColorBy} props.by
 */
export function Outline({ model, view, by }) {
  const boxes = [...(model.shown.value?.scene.boxes.values() ?? [])];
  const selected = model.selected.value;
  const index = boxes.findIndex(({ name }) => name === selected);
  /** Selects a box and brings it into view. @param {Box | undefined} box */
  const go = (box) => {
    if (!box) return;
    model.select(box.name);
    view.reveal(box.name);
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = /** @type {Box | undefined} */ (boxes[index]);
    const isGroup = box !== undefined && box.kind !== "op";
    if (event.key === "ArrowDown") go(boxes[Math.min(boxes.length - 1, index + 1)]);
    else if (event.key === "ArrowUp") go(boxes[Math.max(0, index - 1)]);
    else if (event.key === "Home") go(boxes[0]);
    else if (event.key === "End") go(boxes[boxes.length - 1]);
    else if ((event.key === "Enter" || event.key === " ") && isGroup) model.toggle(box.name);
    else if (event.key === "ArrowRight" && isGroup) box.open ? go(boxes[index + 1]) : model.toggle(box.name);
    else if (event.key === "ArrowLeft" && box) isGroup && box.open ? model.toggle(box.name) : go(boxes.find(({ name }) => name === scopeOf(box.name)));
    else return;
    event.preventDefault();
  };
  return html`<p class="hint">${plural(boxes.length, "box", "boxes")} drawn</p>
    <${VirtualList}
      items=${boxes}
      rowHeight=${26}
      role="tree"
      label="Outline of the drawing"
      keyOf=${(/** @type {Box} */ box) => box.name}
      showIndex=${index}
      onKeyDown=${onKeyDown}
      renderRow=${(/** @type {Box} */ box, /** @type {number} */ row) => html`<${Row} box=${box} row=${row} index=${index} model=${model} go=${go} by=${by} />`}
    />`;
}

/**
 * A row of the tree.
 * @param {object} props
 * @param {Box} props.box
 * @param {number} props.row
 * @param {number} props.index  of the selected row; below 0 for none
 * @param {import("./model.js").Model} props.model
 * @param {(box: Box) => void} props.go
 * @param {import("./colors.js").ColorBy} props.by
 */
function Row({ box, row, index, model, go, by }) {
  const isSelected = row === index;
  const isGroup = box.kind !== "op";
  const cost = costText(by, box);
  /**
   * Moves the focus to the row that was selected by keyboard.
   * @param {HTMLElement | null} element
   */
  const follow = (element) => {
    const root = /** @type {ShadowRoot | null} */ (element?.getRootNode() ?? null);
    if (isSelected && element && root?.activeElement?.closest("[role=tree], .tb-list")) element.focus({ preventScroll: true });
  };
  return html`<div
    role="treeitem"
    class="outline-row ${box.auxiliary ? "auxiliary" : ""}"
    aria-level=${box.depth + 1}
    aria-selected=${isSelected}
    aria-expanded=${isGroup ? box.open : undefined}
    aria-label="${box.label}, ${isGroup ? box.sub : box.op}${cost && `, ${cost}`}${box.auxiliary ? ", auxiliary" : ""}"
    tabindex=${isSelected || (index < 0 && row === 0) ? 0 : -1}
    ref=${follow}
    title=${formatName(box.name)}
    style=${{ paddingLeft: `${8 + 14 * Math.min(box.depth, 12)}px` }}
    onClick=${() => go(box)}
    onDblClick=${() => isGroup && model.toggle(box.name)}
  >
    <span class="twist" onClick=${(/** @type {Event} */ event) => isGroup && (event.stopPropagation(), model.toggle(box.name))}>
      ${isGroup && html`<${Icon} name="chevron" />`}
    </span>
    <span class="label">${formatName(box.label)}</span><small>${cost || (isGroup ? box.nodes.toLocaleString("en") : box.op)}</small>
  </div>`;
}
