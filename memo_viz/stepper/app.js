// The page: a position in the search, what is selected, and the panels that show both.

import { button, h, put, reveal } from "./dom.js";
import { EventPanel, Sentence } from "./event.js";
import { count } from "./figures.js";
import { GroupPanel } from "./group.js";
import { Help } from "./help.js";
import { History } from "./history.js";
import { MemoView } from "./memo.js";
import { Model, canonical, stateJson } from "./model.js";
import { PlanView } from "./plan.js";
import { RewritingView, isRewriting } from "./rewriting.js";
import { SearchBox } from "./search.js";
import { StackPanel } from "./stack.js";
import * as steps from "./steps.js";
import { Timeline } from "./timeline.js";
import { Names, plain, sentence } from "./words.js";

/**
 * @typedef {import("./model.js").TraceEvent} TraceEvent
 * @typedef {import("./history.js").Focus} Focus
 * @typedef {import("./words.js").Part} Part
 * @typedef {"memo" | "tree" | "plan"} View
 * @typedef {{title: string, events: TraceEvent[], base: any, total: number, sql: string, names: any, layout: any, words: any,
 *   actual: (import("./plan.js").Actual | null)[] | null}} Data what memo_viz/stepper/page.py puts into the page
 */

const VIEWS = /** @type {[View, string][]} */ ([
  ["tree", "Query"],
  ["memo", "Memo"],
  ["plan", "Plan"],
]);
const THEMES = ["auto", "light", "dark", "projector"];

export class App {
  /** @param {Data} data @param {HTMLElement} root */
  constructor(data, root) {
    this.data = data;
    this.words = data.words;
    this.sql = data.sql;
    this.model = new Model(data.events, data.base);
    this.history = new History(this.model);
    const tasks = new Map([...this.history.tasks].map(([id, task]) => [id, task.text]));
    this.names = new Names(data.names, tasks);
    this.groupIds = new Set([...Object.keys(data.layout.boxes), ...Object.keys(data.layout.alias)].map(Number));
    this.state = this.model.state;
    this.position = 0;
    /** @type {TraceEvent | null} */
    this.event = null;
    /** @type {Focus | null} */
    this.focus = null;
    /** @type {number | null} the group that the user chose */
    this.selected = null;
    /** @type {View} */
    this.view = "memo";
    /** @type {View | null} what the event before this one is best seen in */
    this.wanted = null;

    this.themeButton = button("Theme (t)", () => this.nextTheme(), { class: "plain" }, "theme");
    this.where = h("output", { class: "where", "aria-live": "off" });
    this.spoken = h("output", { class: "spoken", "aria-live": "polite" });
    this.setTheme(stored("planscope-theme") ?? "auto");
    this.memo = new MemoView(this, data.layout);
    this.rewriting = new RewritingView(this);
    this.plan = new PlanView(this, data.actual);
    this.stack = new StackPanel(this);
    this.sentence = new Sentence(this);
    this.eventPanel = new EventPanel(this);
    this.group = new GroupPanel(this);
    this.timeline = new Timeline(this);
    this.search = new SearchBox(this);
    this.help = new Help(this);
    root.append(...this.build());
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.readFragment());
  }

  // -- the frame -------------------------------------------------------------------------------------------------------------

  build() {
    this.tabs = VIEWS.map(([view, name], i) =>
      button(`${name} (${i + 1})`, () => this.show(view), { role: "tab", id: `tab-${view}`, "aria-controls": "stage" }, name),
    );
    const step = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ go) =>
      button(label, go, { class: "step" }, text);
    this.stage = h(
      "div",
      { class: "stage", id: "stage", role: "tabpanel", tabindex: -1 },
      this.memo.element,
      this.rewriting.element,
      this.plan.element,
    );
    return [
      h(
        "header",
        { class: "top" },
        h("h1", {}, "planscope", h("span", { class: "title" }, this.names.line(this.data.title))),
        h(
          "div",
          { class: "transport", role: "toolbar", "aria-label": "Steps" },
          step("To the start (Home)", "⇤", () => this.seek(this.least())),
          step("Back over (Shift ←)", "«", () => this.seek(steps.over(this.history, this.position, -1))),
          step("Previous event (←)", "‹", () => this.seek(this.position - 1)),
          this.where,
          this.spoken,
          step("Next event (→)", "›", () => this.seek(this.position + 1)),
          step("Over, past all that this task leads to (Shift →)", "»", () =>
            this.seek(steps.over(this.history, this.position, 1)),
          ),
          step("To the end (End)", "⇥", () => this.seek(this.history.events.length)),
        ),
        this.search.element,
        h(
          "div",
          { class: "plain-buttons" },
          this.themeButton,
          button("Help (?)", () => this.help.open(), { class: "plain" }, "help"),
        ),
      ),
      this.sentence.element,
      h("aside", { class: "left", "aria-label": "Task stack", tabindex: 0 }, this.stack.element),
      h(
        "main",
        { class: "centre" },
        h(
          "div",
          { class: "bar-row" },
          h("div", { class: "tabs", role: "tablist", "aria-label": "What is shown" }, this.tabs),
          this.memo.status,
          this.memo.buttons,
        ),
        this.partial(),
        this.stage,
      ),
      h("aside", { class: "right", "aria-label": "Event and group", tabindex: 0 }, this.eventPanel.element, this.group.element),
      this.timeline.element,
      this.help.element,
    ];
  }

  /** Whether the page has all events of the trace. */
  get isWhole() {
    return this.history.events.length >= this.data.total;
  }

  /** Which events the page has, where it has not all of them. */
  partial() {
    const { events } = this.history;
    if (this.isWhole || !events.length) return null;
    const [first, last] = [events[0].seq, events[events.length - 1].seq];
    return h(
      "p",
      { class: "partial" },
      `This page has events ${count(first)} to ${count(last)} of ${count(this.data.total)}. `,
      last + 1 < this.data.total ? `planscope trace … --from ${last + 1} makes a page of the next.` : "",
    );
  }

  /** @param {View} view */
  show(view) {
    this.view = view;
    this.render();
  }

  /** @param {string} theme */
  setTheme(theme) {
    this.theme = THEMES.includes(theme) ? theme : "auto";
    if (this.theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.theme;
    put(this.themeButton, this.theme === "auto" ? "theme" : this.theme);
    store("planscope-theme", this.theme);
  }

  nextTheme() {
    this.setTheme(THEMES[(THEMES.indexOf(this.theme ?? "auto") + 1) % THEMES.length]);
  }

  // -- going about -----------------------------------------------------------------------------------------------------------

  least() {
    return Math.min(1, this.history.events.length);
  }

  /** @param {number} position */
  seek(position) {
    this.state = this.model.seek(position);
    this.position = this.model.position;
    this.event = this.position ? this.history.events[this.position - 1] : null;
    this.focus = this.position ? this.history.focus[this.position - 1] : null;
    const kind = this.event?.kind ?? "header";
    const wanted = isRewriting(kind) ? "tree" : kind === "plan" ? "plan" : "memo";
    if (wanted !== this.wanted) this.view = wanted;
    this.wanted = wanted;
    this.render();
  }

  /** To the event of this number.
   * @param {number} seq */
  goTo(seq) {
    const i = this.history.at(seq);
    if (i >= 0) this.seek(i + 1);
  }

  /** @param {typeof steps.MARKS[number]} mark @param {1 | -1} direction */
  jump(mark, direction) {
    const position = steps.find(this.history, this.position, direction, mark.is);
    if (position === null) this.say(`no ${direction > 0 ? "more" : "earlier"} ${mark.name}`);
    else this.seek(position);
  }

  /** @param {string} rule */
  nextFiring(rule) {
    const is = (/** @type {TraceEvent} */ event) => event.rule === rule && (event.kind === "fire" || event.kind === "rewrite");
    const position = steps.find(this.history, this.position, 1, is) ?? steps.find(this.history, 0, 1, is);
    if (position !== null) this.seek(position);
  }

  /** Selects a group, and shows it where `visit`.
   * @param {number | null} id @param {boolean} [visit] */
  select(id, visit = false) {
    this.selected = id === null ? null : canonical(this.state, this.memo.standing(id));
    if (visit && this.selected !== null) {
      this.view = "memo";
      this.memo.show(this.selected);
    }
    this.render();
  }

  /** @param {number} id */
  selectMExpr(id) {
    const made = this.history.madeMExpr.get(id);
    if (!this.state.mexprs.has(id) && made !== undefined) this.seek(made + 1);
    const mexpr = this.state.mexprs.get(id);
    if (!mexpr) return;
    this.select(mexpr.group, true);
    reveal(this.group.element.closest(".right"), this.group.element.querySelector(`[data-mexpr="${id}"]`));
  }

  /** @param {number} id */
  selectGoal(id) {
    const goal = this.state.goals.get(id);
    if (goal) this.select(goal.group, true);
  }

  /** The group that the panel is about: the selected one, else that of the event. */
  get shown() {
    return this.selected ?? this.focus?.group ?? null;
  }

  /** @param {string} text a word on what did not happen, in place of the position */
  say(text) {
    for (const element of [this.where, this.spoken]) put(element, text);
  }

  // -- drawing ---------------------------------------------------------------------------------------------------------------

  render() {
    const { event } = this;
    const last = this.history.events[this.history.events.length - 1];
    put(this.where, h("b", {}, event ? count(event.seq) : "–"), ` of ${count(last?.seq ?? 0)}`);
    put(this.spoken);
    VIEWS.forEach(([view], i) => this.tabs?.[i].setAttribute("aria-selected", String(view === this.view)));
    for (const element of [this.memo.element, this.memo.buttons, this.memo.status]) element.hidden = this.view !== "memo";
    this.rewriting.element.hidden = this.view !== "tree";
    this.plan.element.hidden = this.view !== "plan";
    this.stage?.setAttribute("aria-labelledby", `tab-${this.view}`);
    this.sentence.render();
    this.stack.render();
    this.eventPanel.render();
    this.group.render();
    this.timeline.render();
    this.memo.render();
    if (this.view === "tree") this.rewriting.render();
    if (this.view === "plan") this.plan.render();
    this.writeFragment();
  }

  /** A piece of a sentence: text, or what leads to what it names.
   * @param {Part} part @returns {Node | string} */
  link(part) {
    const { text, group, goal, mexpr, event } = part;
    if (event !== undefined) return this.eventLink(event, undefined, text);
    if (group !== undefined) {
      const number = group >= 0 ? `G${group}` : "a set of relations"; // two groups have one name where one went into the other
      return this.anchor(text, "group", `#g=${group}`, () => this.select(group, true), number);
    }
    if (goal !== undefined)
      return this.anchor(text, "group", `#g=${this.state.goals.get(goal)?.group ?? ""}`, () => this.selectGoal(goal));
    if (mexpr !== undefined)
      return this.anchor(text, "mexpr", `#g=${this.state.mexprs.get(mexpr)?.group ?? ""}`, () => this.selectMExpr(mexpr));
    return text;
  }

  /** @param {number} id @param {string} [text] */
  groupLink(id, text = this.names.group(id)) {
    return this.link({ text, group: id });
  }

  /** @param {number} id */
  goalLink(id) {
    return this.link({ text: this.names.goal(id), goal: id });
  }

  /** @param {number} seq @param {string} [kind] @param {string} [text] */
  eventLink(seq, kind, text) {
    if (this.history.at(seq) < 0) return text ?? count(seq);
    return this.anchor(text ?? count(seq), `event ${kind ?? ""}`, `#e=${seq}`, () => this.goTo(seq));
  }

  /** @param {string} text @param {string} kind @param {string} to @param {() => void} go @param {string} [title] */
  anchor(text, kind, to, go, title) {
    const click = (/** @type {MouseEvent} */ event) => {
      if (event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      go();
    };
    return h("a", { class: `link ${kind}`, href: to, title, click }, text);
  }

  // -- the address -----------------------------------------------------------------------------------------------------------

  /** The position as the fragment of the address, so that a link points at a step. */
  writeFragment() {
    const parts = [];
    if (this.event) parts.push(`e=${this.event.seq}`);
    if (this.selected !== null) parts.push(`g=${this.selected}`);
    if (this.view !== this.wanted) parts.push(`v=${this.view}`);
    this.fragment = `#${parts.join("&")}`;
    try {
      window.history.replaceState(null, "", this.fragment);
    } catch {
      // a page inside a notebook has no address of its own
    }
  }

  readFragment() {
    if (location.hash === this.fragment) return;
    const wanted = new URLSearchParams(location.hash.slice(1));
    const last = this.history.events.at(-1)?.seq ?? 0;
    const at = wanted.has("e") ? this.history.at(Math.min(Number(wanted.get("e")), last)) : -1;
    this.selected = this.wanted = null; // what the link does not say is as the event has it
    this.seek(at >= 0 ? at + 1 : this.position || this.least());
    const group = wanted.get("g");
    if (group && this.groupIds.has(Number(group))) this.select(Number(group), true);
    const view = VIEWS.find(([name]) => name === wanted.get("v"));
    if (view) this.show(view[0]);
  }

  // -- the keyboard ----------------------------------------------------------------------------------------------------------

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.isOpen) return;
    if (this.memo.key(event.key)) return event.preventDefault();
    const scrolls = document.activeElement?.matches("aside, .sentence, .plan-view");
    if (scrolls && (event.key === "ArrowDown" || event.key === "ArrowUp")) return;
    const { history, position } = this;
    const over = event.shiftKey;
    const ahead = (/** @type {1 | -1} */ direction) =>
      this.seek(over ? steps.over(history, position, direction) : position + direction);
    const mark = steps.MARKS.find(({ key }) => key === event.key.toLowerCase());
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowRight: () => ahead(1),
      ArrowLeft: () => ahead(-1),
      ArrowDown: () => this.ofGroup(1),
      ArrowUp: () => this.ofGroup(-1),
      Home: () => this.seek(this.least()),
      End: () => this.seek(history.events.length),
      "]": () => this.seek(steps.task(history, position, 1)),
      "[": () => this.seek(steps.task(history, position, -1)),
      "/": () => this.search.open(),
      g: () => this.search.open("#"),
      "?": () => this.help.open(),
      t: () => this.nextTheme(),
      x: () => this.memo.toggle("folded"),
      X: () => this.memo.turn(this.shown),
      ".": () => this.memo.toggle("near"),
      0: () => this.memo.fit(),
      "+": () => this.memo.zoom(1.25),
      "=": () => this.memo.zoom(1.25),
      "-": () => this.memo.zoom(0.8),
      Escape: () => this.select(null),
    };
    VIEWS.forEach(([view], i) => (keys[String(i + 1)] = () => this.show(view)));
    const action = mark ? () => this.jump(mark, event.key === mark.key ? 1 : -1) : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** To the next event about the group that the panel shows, or the one before.
   * @param {1 | -1} direction */
  ofGroup(direction) {
    const all = new Set(this.history.ofGroup.get(this.shown ?? NaN));
    const position = steps.find(this.history, this.position, direction, (_, i) => all.has(i));
    if (position !== null) this.seek(position);
    else this.say(`no ${direction > 0 ? "more" : "earlier"} event of it`);
  }

  // -- for tests and for whoever looks from outside --------------------------------------------------------------------------

  /** The state at this event as the replayer writes it. */
  json() {
    return stateJson(this.state);
  }

  /** The event in words. */
  said() {
    return this.event ? plain(sentence(this.event, this.words, this.names, this.state)) : "";
  }
}

/** @param {string} key */
function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // no storage here
  }
}

/** @param {string} key @param {string} value */
function store(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // no storage here
  }
}
