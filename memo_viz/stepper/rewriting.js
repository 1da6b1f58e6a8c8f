// The way from the text of a query to the tree that the search starts with: every stage and every rewrite, before and after.

import { h, put } from "./dom.js";
import { beforeAfter, lines, treeView } from "./trees.js";

/** @typedef {import("./app.js").App} App @typedef {import("./model.js").TraceEvent} TraceEvent */

/** @param {string} kind */
export const isRewriting = (kind) => kind === "header" || kind === "rewrite" || kind === "stage";

export class RewritingView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.steps = app.history.events.map((event, i) => ({ event, i })).filter(({ event }) => event.kind === "rewrite" || event.kind === "stage");
    this.list = h("ol", { class: "stages", "aria-label": "Stages and rewrites" });
    this.body = h("div", { class: "stage-body" });
    this.element = h("div", { class: "rewriting" }, this.list, this.body);
    /** @type {number | null} index of the event whose step is drawn */
    this.drawn = -1;
  }

  render() {
    const { app } = this;
    const reached = this.steps.filter(({ i }) => i < app.position);
    const step = reached[reached.length - 1];
    const now = step?.i ?? null;
    if (now === this.drawn) return;
    this.drawn = now;
    const item = (/** @type {number} */ position, /** @type {string} */ text, /** @type {string} */ how) =>
      h("li", { class: how }, h("button", { type: "button", "aria-current": position === (now ?? 0) + 1 ? "step" : null, click: () => app.seek(position) }, text));
    put(this.list, item(1, "query", ""), this.steps.map(({ event, i }) =>
      item(i + 1, event.kind === "stage" ? event.name : app.names.text(event.rule), event.kind === "stage" ? "stage" : "rule"))); // prettier-ignore
    put(this.body, step ? this.step(step.event, reached.slice(0, -1).map(({ event }) => event)) : this.query());
    this.list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  query() {
    return [h("h3", {}, "The query"), h("pre", { class: "sql" }, this.app.sql)];
  }

  /** @param {TraceEvent} event @param {TraceEvent[]} before */
  step(event, before) {
    const show = (/** @type {string} */ text) => this.app.names.text(text);
    if (event.kind === "rewrite") {
      return [h("h3", {}, `${event.stage}: ${show(event.rule)}`), event.note && h("p", { class: "quiet" }, show(event.note)),
        beforeAfter(lines(event.before), lines(event.after), show, ["before", "after"])]; // prettier-ignore
    }
    const earlier = before.filter((each) => each.kind === "stage").pop();
    if (!earlier) return [...this.query(), h("h3", {}, `${event.name}: the tree of the query`), treeView(lines(event.tree), [], show, "tree")];
    return [h("h3", {}, `after ${event.name}`), beforeAfter(lines(earlier.tree), lines(event.tree), show, [`after ${earlier.name}`, `after ${event.name}`])];
  }
}
