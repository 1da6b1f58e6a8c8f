// Trees of operators, and two trees beside each other with what differs marked by colour and by sign.

import { h } from "./dom.js";

/**
 * @typedef {import("./model.js").FlatTree} FlatTree
 * @typedef {{op: string, detail: string, depth: number, key: string, last: boolean[], extra?: import("./dom.js").Child}} Line
 */

/** The operators of a tree from the top, each with the branches that lead to it.
 * @param {FlatTree} tree @returns {Line[]} */
export function lines(tree) {
  const last = branches(tree.map(([depth]) => depth));
  return tree.map(([depth, op, detail], i) => ({ op, detail, depth, key: `${op}\u0000${detail}`, last: last[i] }));
}

/** For operators in order, parents first: is the branch that leads through each level to it the last one there?
 * @param {number[]} depths @returns {boolean[][]} */
export function branches(depths) {
  /** @type {boolean[]} by depth: does another operator follow under the same parent? */
  let follows = [];
  const result = depths.map(() => /** @type {boolean[]} */ ([]));
  for (let i = depths.length - 1; i >= 0; i--) {
    const depth = depths[i];
    result[i] = Array.from({ length: depth }, (_, level) => !follows[level + 1]);
    follows = follows.slice(0, depth + 1);
    follows[depth] = true;
  }
  return result;
}

/** What draws the branches that lead to a line.
 * @param {boolean[]} last for each level: is this branch the last of its parent? */
export function guide(last) {
  return last.map((end, i) => (i === last.length - 1 ? (end ? "└─ " : "├─ ") : end ? "   " : "│  ")).join("");
}

/**
 * Lines of `before` that are not in `after`, and the other way round: "gone", "new", "moved" (in both, elsewhere) or "".
 * @param {Line[]} before @param {Line[]} after
 * @returns {[string[], string[]]}
 */
export function differences(before, after) {
  const [kept, stays] = longestCommon(before, after);
  const spare = counts(before.filter((_, i) => !kept.has(i)));
  const marks = after.map((line, i) => {
    if (stays.has(i)) return "";
    const left = spare.get(line.key) ?? 0;
    if (!left) return "new";
    spare.set(line.key, left - 1);
    return "moved";
  });
  const moved = counts(after.filter((_, i) => marks[i] === "moved"));
  const marksBefore = before.map((line, i) => {
    if (kept.has(i)) return "";
    const left = moved.get(line.key) ?? 0;
    if (!left) return "gone";
    moved.set(line.key, left - 1);
    return "moved";
  });
  return [marksBefore, marks];
}

/** @param {Line[]} found */
function counts(found) {
  /** @type {Map<string, number>} */
  const result = new Map();
  for (const { key } of found) result.set(key, (result.get(key) ?? 0) + 1);
  return result;
}

const MOST_CELLS = 4_000_000; // beyond which only what two trees begin and end with is known to have stayed

/** Indices of a longest common subsequence of two trees' lines, same depth or not.
 * @param {Line[]} a @param {Line[]} b @returns {[Set<number>, Set<number>]} */
function longestCommon(a, b) {
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head].key === b[head].key) head++;
  let tail = 0;
  while (tail < shorter - head && a[a.length - 1 - tail].key === b[b.length - 1 - tail].key) tail++;
  const found = inBetween(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const ends = (/** @type {Line[]} */ lines) => lines.map((_, i) => i).filter((i) => i < head || i >= lines.length - tail);
  const all = (/** @type {number} */ i, /** @type {Line[]} */ lines) => new Set([...ends(lines), ...[...found[i]].map((at) => at + head)]);
  return [all(0, a), all(1, b)];
}

/** @param {Line[]} a @param {Line[]} b @returns {[Set<number>, Set<number>]} */
function inBetween(a, b) {
  const width = b.length + 1;
  if ((a.length + 1) * width > MOST_CELLS) return [new Set(), new Set()];
  const best = new Int32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] =
        a[i].key === b[j].key ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  /** @type {[Set<number>, Set<number>]} */
  const found = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i].key === b[j].key) {
      found[0].add(i++);
      found[1].add(j++);
    } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) i++;
    else j++;
  }
  return found;
}

const SIGNS = /** @type {Record<string, string>} */ ({ gone: "−", new: "+", moved: "~", "": "" });
const SPOKEN = /** @type {Record<string, string>} */ ({
  gone: "only before",
  new: "only after",
  moved: "elsewhere in the other tree",
});

/**
 * A tree as a list, a line for each operator.
 * @param {Line[]} found @param {string[]} marks @param {(text: string) => string} show what to write for a text of the trace
 * @param {string} label
 */
export function treeView(found, marks, show, label) {
  return h(
    "ol",
    { class: "tree", "aria-label": label },
    found.map((line, i) =>
      h(
        "li",
        { class: `tree-line ${marks[i] ?? ""}` },
        h(
          "span",
          { class: "sign", "aria-label": SPOKEN[marks[i]], role: SPOKEN[marks[i]] ? "img" : null },
          SIGNS[marks[i] ?? ""],
        ),
        h("span", { class: "guide", "aria-hidden": "true" }, guide(line.last)),
        h("span", { class: "tree-text" }, h("b", {}, show(line.op)), " ", show(line.detail), line.extra),
      ),
    ),
  );
}

/**
 * A tree before a step, and what came of it: one tree, or several of which each is an answer. Before, what none of them has is
 * marked.
 * @param {[string, Line[]]} before a title and a tree @param {[string, Line[]][]} after @param {(text: string) => string} show
 */
export function beforeAfter([title, before], after, show) {
  const found = after.map(([, lines]) => differences(before, lines));
  const kept = (/** @type {number} */ i) => found.map(([marks]) => marks[i]);
  const gone = before.map((_, i) => (kept(i).includes("") ? "" : kept(i).includes("moved") ? "moved" : "gone"));
  const side = (/** @type {string} */ name, /** @type {Line[]} */ tree, /** @type {string[]} */ marks) =>
    h("div", { class: "side" }, h("h3", {}, name), treeView(tree, marks, show, name));
  return h(
    "div",
    { class: "before-after" },
    side(title, before, gone),
    after.map(([name, tree], i) => side(name, tree, found[i][1])),
  );
}
