// The best plan of the query as it stands at this event, with estimates and costs; and with real rows when it was run.

import { h, put } from "./dom.js";
import { figure } from "./figures.js";
import { branches, guide } from "./trees.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {{op: string, detail: string, rows: number, local: number, cost: number, delivered: string, last: boolean[],
 *   group: number | null}} Row
 * @typedef {{rows: number, ms: number}} Actual
 */

export class PlanView {
  /** @param {App} app @param {(Actual | null)[] | null} actual of the operators of the final plan in pre-order */
  constructor(app, actual) {
    this.app = app;
    this.actual = actual;
    this.element = h("div", { class: "plan-view", tabindex: 0, role: "region", "aria-label": "The plan" });
  }

  render() {
    const { state } = this.app;
    const final = state.plan;
    const rows = final ? this.chosen(final) : this.soFar();
    if (!rows.length) {
      return put(
        this.element,
        h("p", { class: "quiet" }, "The query has no plan at this event yet. Press b for the next better plan of a goal."),
      );
    }
    const actual = final && this.actual?.length === rows.length ? this.actual : null;
    const total = rows[0].cost || 1;
    put(
      this.element,
      h("h3", {}, final ? "The plan chosen" : "The best plan so far"),
      h(
        "table",
        { class: "plan" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["operator", "rows", ...(actual ? ["real rows", "q-error", "ms"] : []), "own cost", "cost"].map((name) =>
              h("th", { scope: "col" }, name),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row, i) => this.row(row, total, actual ? { known: actual[i] } : null)),
        ),
      ),
    );
  }

  /** @param {Row} row @param {number} total @param {{known: Actual | null} | null} actual null: the plan was not run */
  row(row, total, actual) {
    const { names } = this.app;
    const share = Math.min(1, Math.max(0, row.local / total));
    const op = row.op.replaceAll("_", " ");
    const name = row.group === null ? op : this.app.groupLink(row.group, op);
    return h(
      "tr",
      {},
      h(
        "td",
        { class: "operator" },
        h(
          "div",
          {},
          h("span", { class: "guide", "aria-hidden": "true" }, guide(row.last)),
          h(
            "span",
            {},
            h("b", {}, name),
            " ",
            h(
              "span",
              { class: "quiet" },
              names.text(row.detail),
              row.delivered !== "any" ? ` · ${names.traits(row.delivered)}` : "",
            ),
          ),
        ),
      ),
      h("td", {}, figure(row.rows)),
      actual && this.real(row.rows, actual.known),
      h(
        "td",
        { class: "share" },
        share > 0.01 && h("span", { class: "share-bar", style: `width: ${(100 * share).toFixed(1)}%`, "aria-hidden": "true" }),
        figure(row.local),
      ),
      h("td", {}, figure(row.cost)),
    );
  }

  /** What an operator really did, and how far off the estimate was.
   * @param {number} estimate rows @param {Actual | null} known */
  real(estimate, known) {
    if (!known) return [h("td", {}, "–"), h("td", {}, "–"), h("td", {}, "–")];
    const [low, high] = [Math.max(1, Math.min(estimate, known.rows)), Math.max(1, estimate, known.rows)];
    const error = high / low;
    const how = error >= 10 ? "far-off" : error >= 2 ? "off" : "";
    return [h("td", {}, figure(known.rows)), h("td", { class: how }, `×${figure(error)}`), h("td", {}, figure(known.ms))];
  }

  /** @param {any[]} nodes as the event of the kind "plan" has them @returns {Row[]} */
  chosen(nodes) {
    const { state } = this.app;
    const last = branches(nodes.map((node) => node.depth));
    return nodes.map((node, i) => ({ ...node, last: last[i], group: state.goals.get(node.goal)?.group ?? null }));
  }

  /** @returns {Row[]} */
  soFar() {
    const { state } = this.app;
    /** @type {Row[]} */
    const result = [];
    /** @type {[number, boolean[]][]} */
    const pending = state.root === null ? [] : [[state.root, []]];
    while (pending.length) {
      const [id, last] = /** @type {[number, boolean[]]} */ (pending.pop());
      const goal = state.goals.get(id);
      const best = goal?.best;
      if (!goal || !best) return [];
      const { op, detail, delivered, cost, local_cost: local } = best;
      result.push({
        op,
        detail,
        delivered,
        cost,
        local,
        rows: state.groups.get(goal.group)?.rows ?? 0,
        group: goal.group,
        last,
      });
      for (let i = best.inputs.length - 1; i >= 0; i--) pending.push([best.inputs[i], [...last, i === best.inputs.length - 1]]);
    }
    return result;
  }
}
