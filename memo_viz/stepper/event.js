// The event: one sentence, and beside it the numbers or the trees that it is about.

import { h, put, s } from "./dom.js";
import { count, figure } from "./figures.js";
import { canonical } from "./model.js";
import { beforeAfter } from "./trees.js";
import { boundPart, cutSum, enough, sentence, source } from "./words.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./model.js").TraceEvent} TraceEvent
 * @typedef {import("./model.js").MExpr} MExpr
 * @typedef {import("./trees.js").Line} Line
 */

const RESULTS = 6; // of one firing that are shown
const PARTS = 4; // colours of the parts of a bar

const CALLED = /** @type {Record<string, string>} */ ({
  header: "begin",
  rewrite: "rewrite",
  stage: "stage",
  group: "new group",
  mexpr: "expression",
  merge: "merge",
  region: "region",
  task_push: "push",
  task_start: "run",
  task_end: "done",
  explored: "explored",
  bind: "pattern fits",
  skip: "no result",
  fire: "rule fires",
  root: "root",
  goal: "new goal",
  place: "set gets a group",
  goal_open: "goal opens",
  goal_close: "goal closes",
  limit: "limit",
  cost: "cost",
  best: "new best",
  enforce: "enforcer",
  pass_through: "traits asked",
  derive: "traits offered",
  lower: "bound",
  prune: "prune",
  cycle: "cycle",
  table: "table",
  restart: "restart",
  recost: "costed again",
  budget: "budget",
  plan: "plan",
  dropped: "left out",
});

/** The band above the picture: what happens, said once and large. */
export class Sentence {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.kind = h("span", { class: "kind" });
    this.number = h("span", { class: "number" });
    this.text = h("p", { class: "words", "aria-live": "polite" });
    this.element = h(
      "section",
      { class: "sentence", tabindex: 0, "aria-label": "The event in words" },
      h("div", { class: "tag-line" }, this.kind, this.number),
      this.text,
    );
  }

  render() {
    const { event, words, names, state } = this.app;
    if (!event) {
      put(this.kind, "start");
      put(this.number, "");
      return put(this.text, "Nothing has happened yet. Press → for the first event.");
    }
    put(this.kind, CALLED[event.kind] ?? event.kind);
    put(
      this.number,
      [`event ${count(event.seq)}`, event.task !== null && `task ${count(event.task)}`, `${(event.t / 1000).toFixed(1)} ms`]
        .filter(Boolean)
        .join(" · "),
    );
    this.element.dataset.kind = event.kind;
    const parts = sentence(event, words, names, state);
    this.text.classList.toggle("long", parts.reduce((sum, part) => sum + part.text.length, 0) > 300);
    const show = event.kind === "header" ? (/** @type {string} */ text) => [text] : figures;
    put(
      this.text,
      parts.flatMap((part) => (Object.keys(part).length === 1 ? show(part.text) : this.app.link(part))),
    );
  }
}

/** Text with its figures set off.
 * @param {string} text */
function figures(text) {
  return text.split(/(\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?)/).map((piece, i) => (i % 2 ? h("b", {}, piece) : piece));
}

/** What the event is about, in figures or trees. */
export class EventPanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.body = h("div", {});
    this.element = h(
      "section",
      { class: "panel event-panel", "aria-labelledby": "event-title" },
      h("h2", { id: "event-title" }, "This event"),
      this.body,
    );
  }

  render() {
    const { event } = this.app;
    put(this.body, event ? (this.details(event) ?? this.about(event)) : null);
  }

  /** @param {TraceEvent} event */
  details(event) {
    switch (event.kind) {
      case "prune":
        return this.prune(event);
      case "best":
        return this.best(event);
      case "fire":
        return this.fire(event);
      case "mexpr":
        return event.duplicate || event.dropped ? null : this.expression(event.id);
      case "bind":
      case "skip":
      case "cost":
        return this.expression(event.mexpr);
      default:
        return null;
    }
  }

  /** What this kind of event means.
   * @param {TraceEvent} event */
  about(event) {
    const kind = this.app.words.kinds[event.kind];
    const keys = "→ goes on, n to the next prune, b to the next better plan, / finds a group, ? tells all keys.";
    return [h("p", { class: "quiet" }, kind ? kind.meaning : ""), event.kind === "header" && h("p", {}, keys)];
  }

  // -- bounds and costs ------------------------------------------------------------------------------------------------------

  /** A bar of what a way costs at least, against what was allowed.
   * @param {TraceEvent} event */
  prune(event) {
    const { app } = this;
    const { state } = app;
    const { own, now } = cutSum(event, state);
    const { near, total } = enough(event);
    const parts = event.sources.map((/** @type {number} */ id) => {
      const found = source(event, id, state);
      return { part: boundPart(found, id, app.names), least: found?.lower ?? 0, event: found?.lower_event ?? null };
    });
    return h(
      "div",
      {},
      this.bar([own, ...parts.map((/** @type {{least: number}} */ each) => each.least)], event.limit),
      h(
        "table",
        { class: "sum" },
        h(
          "tbody",
          {},
          !event.left && this.sumRow(0, "its own cost", own),
          parts.map((/** @type {any} */ each, /** @type {number} */ i) =>
            this.sumRow(i + 1, app.link(each.part), each.least, each.event, "at least"),
          ),
          now !== undefined && this.totalRow("by now in all", now),
          this.totalRow(now === undefined ? "a plan costs at least" : "known when it was cut", event.lower),
          total !== undefined && this.totalRow("with the plans its inputs have", total),
          h("tr", { class: "limit" }, h("th", { scope: "row" }, "a plan may cost"), h("td", {}, figure(event.limit))),
          h(
            "tr",
            { class: "over" },
            h("th", { scope: "row" }, near === undefined ? "too dear by" : "less by, near enough"),
            h("td", {}, figure(near ?? Math.max(0, (total ?? event.lower) - event.limit))),
          ),
        ),
      ),
    );
  }

  /** @param {string} name @param {number} value */
  totalRow(name, value) {
    return h("tr", { class: "total" }, h("th", { scope: "row" }, name), h("td", {}, figure(value)));
  }

  /** @param {number} i which part of the bar @param {import("./dom.js").Child} name @param {number} value
   * @param {number | null} [event] what it came from @param {string} [how] */
  sumRow(i, name, value, event = null, how = "") {
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        h("span", { class: `key part-${i % PARTS}`, "aria-hidden": "true" }),
        name,
        how && h("span", { class: "quiet" }, ` ${how}`),
        event !== null && h("span", { class: "number" }, "event ", this.app.eventLink(event)),
      ),
      h("td", {}, figure(value)),
    );
  }

  /** @param {number[]} values @param {number} limit */
  bar(values, limit) {
    const total = values.reduce((a, b) => a + b, 0);
    const end = Math.max(total, Number.isFinite(limit) ? limit : 0) * 1.02 || 1;
    let x = 0;
    const pieces = values.map((value, i) => {
      const piece = s("rect", {
        class: `part-${i % PARTS}`,
        x: `${(100 * x) / end}%`,
        y: 8,
        width: `${(100 * value) / end}%`,
        height: 14,
      });
      x += value;
      return piece;
    });
    const at = `${(100 * Math.min(limit, end)) / end}%`;
    return s(
      "svg",
      {
        class: "bar",
        height: 30,
        width: "100%",
        role: "img",
        "aria-label": `at least ${figure(total)}, allowed ${figure(limit)}`,
      },
      pieces,
      Number.isFinite(limit) && s("line", { class: "limit-mark", x1: at, x2: at, y1: 1, y2: 29 }),
    );
  }

  /** @param {TraceEvent} event */
  best(event) {
    const { app } = this;
    const inputs = event.inputs.map((/** @type {number} */ id) => ({ id, best: app.state.goals.get(id)?.best ?? null }));
    return h(
      "div",
      {},
      this.bar([event.local, ...inputs.map((/** @type {any} */ each) => each.best?.cost ?? 0)], event.old),
      h(
        "table",
        { class: "sum" },
        h(
          "tbody",
          {},
          this.sumRow(0, event.op.replaceAll("_", " "), event.local),
          inputs.map((/** @type {any} */ each, /** @type {number} */ i) =>
            this.sumRow(i + 1, app.goalLink(each.id), each.best?.cost ?? 0, each.best?.event ?? null),
          ),
          this.totalRow("the plan costs", event.cost),
          h(
            "tr",
            { class: "limit" },
            h("th", { scope: "row" }, "the best before"),
            h("td", {}, event.old === Infinity ? "none" : figure(event.old)),
          ),
        ),
      ),
    );
  }

  // -- expressions -----------------------------------------------------------------------------------------------------------

  /** What a rule was applied to and what it made, both down to the groups they share.
   * @param {TraceEvent} event */
  fire(event) {
    const { app } = this;
    const { state } = app;
    const source = state.mexprs.get(event.mexpr);
    const all = event.new.map((/** @type {number} */ id) => state.mexprs.get(id)).filter(Boolean);
    if (!source || !all.length) return this.expression(event.mexpr);
    const own = all.filter((/** @type {MExpr} */ mexpr) => canonical(state, mexpr.group) === canonical(state, source.group));
    const made = /** @type {MExpr[]} */ (own.length ? own : all); // what is in other groups is a part of these
    const before = this.lines(source, new Set(made.flatMap((mexpr) => mexpr.inputs)));
    const leaves = new Set(before.filter((line) => line.op === "").map((line) => Number(line.key.split(" ")[1])));
    const after = made
      .slice(0, RESULTS)
      .map(
        (mexpr) =>
          /** @type {[string, Line[]]} */ ([
            mexpr.logical ? `after: m${mexpr.id}` : `a way to carry it out: m${mexpr.id}`,
            this.lines(mexpr, leaves),
          ]),
      );
    return h(
      "div",
      {},
      beforeAfter([`before: m${source.id}`, before], after, (text) => app.names.text(text)),
      made.length > RESULTS && h("p", { class: "quiet" }, `and ${count(made.length - RESULTS)} more`),
    );
  }

  /** An expression from the top. Input groups that `shared` has are leaves, others are opened once by their oldest expression.
   * @param {MExpr} root @param {Set<number>} shared @returns {Line[]} */
  lines(root, shared) {
    const { app } = this;
    /** @type {Line[]} */
    const result = [];
    const visit = (/** @type {MExpr} */ mexpr, /** @type {boolean[]} */ last) => {
      result.push({
        op: mexpr.op.replaceAll("_", " "),
        detail: mexpr.detail,
        depth: last.length,
        key: `${mexpr.op} ${mexpr.detail}`,
        last,
      });
      mexpr.inputs.forEach((raw, i) => {
        const id = canonical(app.state, raw);
        const below = [...last, i === mexpr.inputs.length - 1];
        const first = app.state.mexprs.get(app.state.groups.get(id)?.logical[0] ?? NaN);
        if (shared.has(id) || !first || !first.inputs.length || last.length > 1 || root.inputs.length > 2) {
          const extra = app.groupLink(id);
          result.push({ op: "", detail: "", depth: below.length, key: `group ${id}`, last: below, extra });
        } else visit(first, below);
      });
    };
    visit(root, []);
    return result;
  }

  /** @param {number} id */
  expression(id) {
    const { app } = this;
    const mexpr = app.state.mexprs.get(id);
    if (!mexpr) return null;
    return h(
      "dl",
      { class: "facts" },
      h("dt", {}, mexpr.logical ? "logical" : "physical"),
      h("dd", {}, h("b", {}, mexpr.op.replaceAll("_", " ")), " ", app.names.text(mexpr.detail)),
      mexpr.inputs.length > 0 && [
        h("dt", {}, "over"),
        h(
          "dd",
          {},
          mexpr.inputs.flatMap((input, i) => [i ? ", " : "", app.groupLink(input)]),
        ),
      ],
      h("dt", {}, "in"),
      h("dd", {}, app.groupLink(mexpr.group)),
    );
  }
}
