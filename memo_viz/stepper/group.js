// What is known of the selected group at this event: figures, goals, expressions, and why it is or is not in the plan.

import { h, put } from "./dom.js";
import { count, figure, many } from "./figures.js";
import { canonical, goalAt, groupAt, planGoals, wonBy } from "./model.js";
import { sign, statusOf, statusWord } from "./signs.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./model.js").Group} Group
 * @typedef {import("./model.js").Goal} Goal
 * @typedef {import("./model.js").MExpr} MExpr
 * @typedef {import("./dom.js").Child} Child
 */

const USES = 8; // places where a group was weighed that are told at once

export class GroupPanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.body = h("div", { class: "group-body" });
    this.element = h("section", { class: "panel group", "aria-labelledby": "group-title" }, this.body);
  }

  render() {
    const { app } = this;
    const id = app.shown;
    const group = id === null ? undefined : app.state.groups.get(id);
    if (id === null) {
      return put(
        this.body,
        h("h2", { id: "group-title" }, "Group"),
        h("p", { class: "quiet" }, "Click a group of the picture, or find one by its tables with /."),
      );
    }
    if (!group) {
      const made = app.history.madeGroup.get(id);
      return put(
        this.body,
        h("h2", { id: "group-title" }, app.names.group(id)),
        h(
          "p",
          {},
          "Not in the memo at this event. ",
          made !== undefined && ["It enters with event ", app.eventLink(app.history.events[made].seq), "."],
        ),
      );
    }
    const [name, number] = [app.names.group(id), group.id >= 0 ? `G${group.id}` : "set of relations"];
    put(
      this.body,
      h(
        "h2",
        { id: "group-title" },
        name,
        h("span", { class: "number" }, ` (${name})`.includes(` (${number})`) ? "" : number),
      ),
      h("p", { class: "quiet" }, this.summary(group)),
      this.why(group),
      this.goals(group),
      this.members(group),
      this.columns(group),
    );
  }

  /** @param {Group} group @returns {Child[]} */
  summary(group) {
    const { app } = this;
    const parts = [
      `About ${many(figure(group.rows), "row")}. No plan costs less than ${figure(group.lower)}`,
      ...this.by(group.lower_event),
      ".",
    ];
    if (group.merged_into !== null) {
      const into = canonical(app.state, group.id);
      return ["Merged: it turned out to be ", app.groupLink(into), "."];
    }
    if (group.id < 0) parts.push(" The search knows it as a goal; there are no expressions of the memo for it.");
    else parts.push(group.explored ? " Explored." : " Not explored yet.");
    return parts;
  }

  /** @param {number | null} event @returns {Child[]} */
  by(event) {
    return event === null ? [] : [" (event ", this.app.eventLink(event), ")"];
  }

  // -- why it is in the plan, or not -----------------------------------------------------------------------------------------

  /** @param {Group} group */
  why(group) {
    const { app } = this;
    const { state } = app;
    if (group.merged_into !== null) return null;
    const plan = planGoals(state, state.root);
    const title = h("h3", {}, plan.length ? "Is it in the best plan?" : "Where it is weighed");
    if (plan.some((goal) => this.home(goal) === group.id)) {
      return h("div", { class: "why" }, title, h("p", {}, "Yes: the best plan of the query at this event computes it."));
    }
    const uses = (app.history.usesOf.get(group.id) ?? []).filter((i) => i < app.position);
    const dearest = group.goals.map((id) => goalAt(state, id)).find((goal) => goal.traits === "any");
    /** @type {Child[]} */
    const words = plan.length ? [h("b", {}, "No. ")] : [];
    if (!uses.length) words.push(this.untouched(group));
    else {
      const cuts = uses.filter((i) => app.history.events[i].kind === "prune").length;
      words.push(
        `It was weighed as an input ${times(uses.length)} ${this.soFar}`,
        cuts ? `, and cut${uses.length === 1 ? "" : cuts === uses.length ? " each time" : ` ${times(cuts)}`}` : "",
        ".",
      );
      if (dearest && statusOf(dearest) === "new")
        words.push(" A plan for it was never searched, as its bound alone was enough to decide.");
    }
    const shown = [...uses].reverse().slice(0, USES);
    return h(
      "div",
      { class: "why" },
      title,
      h("p", {}, words),
      shown.length > 0 &&
        h(
          "ul",
          { class: "uses" },
          shown.map((i) => this.use(group, i)),
        ),
      uses.length > USES && h("p", { class: "quiet" }, `and ${count(uses.length - USES)} earlier`),
      this.instead(group, plan),
      this.larger(group),
    );
  }

  /** Where the best plan first joins the relations of this set, for comparison.
   * @param {Group} group @param {number[]} plan */
  instead(group, plan) {
    const { app } = this;
    const { state } = app;
    const mine = group.relations ?? [];
    if (!plan.length || mine.length < 2) return null;
    const joins = plan
      .map((id) => goalAt(state, id))
      .flatMap((goal) => {
        const relations = relationsOf(state, groupAt(state, this.home(goal.id)));
        return relations ? [{ goal, relations }] : [];
      });
    joins.sort((a, b) => a.relations.length - b.relations.length);
    /** @type {Map<Goal, number[]>} the relations of this set that a join of the plan is the first for */
    const first = new Map();
    for (const id of mine) {
      const found = joins.find(({ relations }) => relations.includes(id));
      if (found) first.set(found.goal, [...(first.get(found.goal) ?? []), id]);
    }
    const name = (/** @type {number} */ id) => app.groupLink(id);
    const lines = [...first].slice(0, USES).map(([goal, ids]) => {
      const rival = groupAt(state, this.home(goal.id));
      return h(
        "li",
        { class: "use best" },
        ids.flatMap((id, i) => [i ? ", " : "", name(id)]),
        " in ",
        name(rival.id),
        ": about ",
        h("b", {}, figure(rival.rows)),
        " rows for ",
        h("b", {}, figure(goal.best?.cost ?? 0)),
      );
    });
    return [
      h(
        "p",
        {},
        "This set has about ",
        h("b", {}, figure(group.rows)),
        " rows for at least ",
        h("b", {}, figure(group.lower)),
        ". The best plan first joins",
      ),
      h("ul", { class: "uses" }, lines),
    ];
  }

  /** @param {number} goal */
  home(goal) {
    const { state } = this.app;
    return canonical(state, goalAt(state, goal).group);
  }

  /** What is counted begins with the events of the page. */
  get soFar() {
    return this.app.isWhole ? "so far" : "on this page so far";
  }

  /** @param {Group} group */
  untouched(group) {
    return group.goals.length ? `No way that reads it has been weighed ${this.soFar}.` : "No goal has asked for it so far.";
  }

  /** One event in which the group was an input: what it would have been joined with, and the two numbers.
   * @param {Group} group @param {number} i */
  use(group, i) {
    const { app } = this;
    const event = app.history.events[i];
    const focus = app.history.focus[i];
    const inputs = focus.inputs.map((id) => (app.state.groups.has(id) ? id : (app.memo.alias[id] ?? id)));
    const others = inputs.filter((id) => id !== group.id).map((id) => app.groupLink(id));
    const into = app.goalLink(event.goal);
    const beside = others.length ? ["with ", ...others.flatMap((link, k) => (k ? [" and ", link] : [link])), ", "] : [];
    if (event.kind === "best") {
      return h(
        "li",
        { class: "use best" },
        app.eventLink(event.seq, "best"),
        " ",
        beside,
        "for ",
        into,
        `: a plan for ${figure(event.cost)}.`,
      );
    }
    return h(
      "li",
      { class: "use prune" },
      app.eventLink(event.seq, "prune"),
      " ",
      beside,
      "for ",
      into,
      ": at least ",
      h("b", {}, figure(event.lower)),
      ", where no more than ",
      h("b", {}, figure(event.limit)),
      " was of use.",
    );
  }

  /** The sets that hold one relation more: where a plan that begins with this group would have to go on.
   * @param {Group} group */
  larger(group) {
    const { app } = this;
    const mine = group.relations;
    if (!mine || !mine.length) return null;
    const sets = [...app.state.groups.values()].filter(
      (other) =>
        other.relations && other.relations.length === mine.length + 1 && mine.every((id) => other.relations?.includes(id)),
    );
    if (!sets.length) return null;
    sets.sort((a, b) => (a.event ?? 0) - (b.event ?? 0)); // steps back change the order of the table
    return h(
      "details",
      { class: "larger" },
      h("summary", {}, `Sets with one relation more (${sets.length})`),
      h(
        "ul",
        {},
        sets.map((set) => {
          const goal = app.state.goals.get(set.goals[0]);
          const cost = goal?.best
            ? `best plan ${figure(goal.best.cost)}`
            : `at least ${figure(Math.max(set.lower, goal?.lower ?? 0))}`;
          return h("li", {}, goal && sign(statusOf(goal)), " ", app.groupLink(set.id), ` ${cost}`);
        }),
      ),
    );
  }

  // -- goals -----------------------------------------------------------------------------------------------------------------

  /** @param {Group} group */
  goals(group) {
    if (!group.goals.length) return null;
    const { state } = this.app;
    const rows = group.goals.map((id) => this.goal(goalAt(state, id)));
    return h("div", {}, h("h3", {}, "Goals"), h("ul", { class: "goals" }, rows));
  }

  /** @param {Goal} goal */
  goal(goal) {
    const { app } = this;
    const best = goal.best;
    const fact = (/** @type {string} */ name, /** @type {Child[]} */ ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
    const limit = Number.isFinite(goal.limit) ? [figure(goal.limit), ...this.limitSource(goal)] : ["none"];
    return h(
      "li",
      { class: `goal${app.focus?.goal === goal.id ? " event" : ""}` },
      h(
        "p",
        { class: "goal-name" },
        sign(statusOf(goal)),
        " ",
        h("b", {}, app.names.traits(goal.traits)),
        ` · ${statusWord(goal)}`,
      ),
      h(
        "dl",
        {},
        fact("limit", ...limit),
        fact("at least", figure(goal.lower), ...this.by(goal.lower_event)),
        fact("best plan", ...(best ? [figure(best.cost), ...this.by(best.event)] : ["none"])),
        best && fact("its way", ...this.way(goal)),
      ),
    );
  }

  /** @param {Goal} goal @returns {Child[]} */
  limitSource(goal) {
    const { app } = this;
    if (goal.limit_goal === null || goal.limit_goal === goal.id) return this.by(goal.limit_event);
    return [" for ", app.goalLink(goal.limit_goal), ...this.by(goal.limit_event)];
  }

  /** @param {Goal} goal @returns {Child[]} */
  way(goal) {
    const { app } = this;
    const best = /** @type {import("./model.js").Best} */ (goal.best);
    const name =
      best.mexpr !== null && best.mexpr >= 0
        ? app.link({ text: app.names.mexpr(best.mexpr), mexpr: best.mexpr })
        : best.op.replaceAll("_", " ");
    const inputs = best.inputs.map((id) => app.goalLink(id));
    /** @type {Child[]} */
    const over = inputs.flatMap((link, i) => [i ? " and " : " over ", link]);
    return [name, ` ${figure(best.local_cost)}`, ...over];
  }

  // -- expressions -----------------------------------------------------------------------------------------------------------

  /** @param {Group} group */
  members(group) {
    const { app } = this;
    const own = [...group.logical, ...group.physical].filter((id) => id >= 0);
    if (!own.length) return null;
    const cuts = this.cuts(group);
    const rows = own.map((id) => this.member(group, /** @type {MExpr} */ (app.state.mexprs.get(id)), cuts));
    return h("div", {}, h("h3", {}, `Expressions (${own.length})`), h("ul", { class: "members" }, rows));
  }

  /** The last event that cut each expression of a group.
   * @param {Group} group */
  cuts(group) {
    const { history, position } = this.app;
    /** @type {Map<number, import("./model.js").TraceEvent>} */
    const found = new Map();
    for (const i of history.ofGroup.get(group.id) ?? []) {
      const event = history.events[i];
      if (i < position && event.kind === "prune" && event.mexpr !== null) found.set(event.mexpr, event);
    }
    return found;
  }

  /** @param {Group} group @param {MExpr} mexpr @param {Map<number, import("./model.js").TraceEvent>} cuts */
  member(group, mexpr, cuts) {
    const { app } = this;
    const inputs = mexpr.inputs.map((id) => app.groupLink(id));
    const origin = mexpr.rule
      ? [
          "by ",
          mexpr.rule,
          mexpr.source === null ? "" : [" from ", app.link({ text: `m${mexpr.source}`, mexpr: mexpr.source })],
        ].flat()
      : ["as the query has it"];
    return h(
      "li",
      {
        class: `member ${mexpr.logical ? "logical" : "physical"}${app.focus?.mexpr === mexpr.id ? " event" : ""}`,
        "data-mexpr": mexpr.id,
      },
      h(
        "p",
        { class: "member-name" },
        h("b", {}, mexpr.op.replaceAll("_", " ")),
        h("span", { class: "number" }, `m${mexpr.id}`),
        inputs.map((link, i) => [i ? ", " : " ", link]).flat(),
      ),
      mexpr.detail && h("p", { class: "detail", title: app.names.text(mexpr.detail) }, app.names.text(mexpr.detail)),
      h("p", { class: "quiet" }, origin, this.by(mexpr.event), ". ", this.verdict(group, mexpr, cuts.get(mexpr.id))),
    );
  }

  /** What became of a physical expression.
   * @param {Group} group @param {MExpr} mexpr @param {import("./model.js").TraceEvent | undefined} cut @returns {Child[]} */
  verdict(group, mexpr, cut) {
    if (mexpr.logical) return [];
    const { state } = this.app;
    const goals = group.goals.map((id) => goalAt(state, id));
    const won = wonBy(goals, mexpr.id, planGoals(state, state.root));
    const own = mexpr.local_cost === null ? "" : `Costs ${figure(mexpr.local_cost)} itself. `;
    if (won?.best)
      return [own, h("b", {}, `Best so far: ${figure(won.best.cost)} with its inputs`), ...this.by(won.best.event), "."];
    if (cut) return [own, `Cut: at least ${figure(cut.lower)}, allowed ${figure(cut.limit)}`, ...this.by(cut.seq), "."];
    if (mexpr.local_cost === null) return ["Not costed."];
    const rival = goals.find((goal) => goal.traits === "any")?.best;
    return [
      own,
      rival ? `Not the best; that costs ${figure(rival.cost)} with its inputs` : "No plan with it is known yet",
      ...(rival ? this.by(rival.event) : []),
      ".",
    ];
  }

  /** @param {Group} group */
  columns(group) {
    if (!group.columns.length) return null;
    return h(
      "details",
      {},
      h("summary", {}, `Columns (${group.columns.length})`),
      h("p", { class: "columns" }, group.columns.map((name) => this.app.names.text(name)).join(", ")),
    );
  }
}

/** The relations that a group joins, also where it began as a set and got a group later.
 * @param {import("./model.js").State} state @param {Group} group */
function relationsOf(state, group) {
  const graph = group.logical.map((id) => state.mexprs.get(id)).find((mexpr) => mexpr?.op === "join_graph");
  return group.relations ?? graph?.inputs ?? null;
}

/** @param {number} n */
const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${count(n)} times`);
