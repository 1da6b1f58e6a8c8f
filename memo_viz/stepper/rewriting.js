// The way from the text of a query to the tree that the search starts with: every stage and every rewrite, before and after.

import { h, put, reveal } from "./dom.js";
import { beforeAfter, lines, treeView } from "./trees.js";

/** @typedef {import("./app.js").App} App @typedef {import("./model.js").TraceEvent} TraceEvent */

/** @param {string} kind */
export const isRewriting = (kind) => kind === "header" || kind === "rewrite" || kind === "stage";

export class RewritingView {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.steps = app.history.events
      .map((event, i) => ({ event, i }))
      .filter(({ event }) => event.kind === "rewrite" || event.kind === "stage");
    this.list = h("ol", { class: "stages", "aria-label": "Stages and rewrites" });
    this.body = h("div", { class: "stage-body", tabindex: 0, role: "region", "aria-label": "The step before and after" });
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
    put(this.list, this.items(now));
    put(
      this.body,
      step
        ? this.step(
            step.event,
            reached.slice(0, -1).map(({ event }) => event),
          )
        : this.query(),
    );
    reveal(this.list, this.list.querySelector("[aria-current]"));
  }

  /** The query, then each stage: its rewrites and what it gave.
   * @param {number | null} now index of the event whose step is shown */
  items(now) {
    const { app } = this;
    const item = (/** @type {number} */ i, /** @type {string} */ text, /** @type {string} */ how) =>
      h(
        "li",
        { class: how },
        h(
          "button",
          { type: "button", "aria-current": i === (now ?? 0) ? "step" : null, click: () => app.seek(i + 1) },
          broken(text),
        ),
      );
    const result = [item(0, "query", "stage")];
    let heading = "";
    for (const { event, i } of this.steps) {
      if (event.kind === "rewrite" && event.stage !== heading)
        result.push(h("li", { class: "stage" }, h("span", {}, event.stage)));
      if (event.kind === "rewrite") result.push(item(i, app.names.text(event.rule), "rule"));
      else result.push(event.name === heading ? item(i, "result", "rule") : item(i, event.name, "stage"));
      heading = event.kind === "rewrite" ? event.stage : "";
    }
    return result;
  }

  query() {
    return [h("h3", {}, "The query"), h("pre", { class: "sql" }, this.app.sql)];
  }

  /** @param {TraceEvent} event @param {TraceEvent[]} before */
  step(event, before) {
    const show = (/** @type {string} */ text) => this.app.names.text(text);
    if (event.kind === "rewrite") {
      return [
        h("h3", {}, `${event.stage}: ${show(event.rule)}`),
        event.note && h("p", { class: "quiet" }, show(event.note)),
        beforeAfter(["before", lines(event.before)], [["after", lines(event.after)]], show),
        ...this.whole(event, show),
      ];
    }
    const earlier = before.filter((each) => each.kind === "stage").pop();
    if (!earlier)
      return [
        ...this.query(),
        h("h3", {}, `${event.name}: the tree of the query`),
        treeView(lines(event.tree), [], show, "tree"),
      ];
    return [
      h("h3", {}, `after ${event.name}`),
      beforeAfter([`after ${earlier.name}`, lines(earlier.tree)], [[`after ${event.name}`, lines(event.tree)]], show),
    ];
  }

  /** The tree of the whole query after a rewrite, what is new in it marked.
   * @param {TraceEvent} event @param {(text: string) => string} show */
  whole(event, show) {
    const { tree } = this.app.state;
    if (!tree || event.at === null || tree.length === event.after.length) return [];
    const marks = tree.map((_, i) => (i >= event.at && i < event.at + event.after.length ? "new" : ""));
    return [h("h3", {}, "in the whole tree"), treeView(lines(tree), marks, show, "the whole tree")];
  }
}

/** A name that may be broken after its underscores.
 * @param {string} name */
const broken = (name) => name.split(/(?<=_)/).flatMap((part, i) => (i ? [h("wbr", {}), part] : [part]));
