// The task stack: what runs now, what was just pushed and popped, what waits.

import { h, put } from "./dom.js";
import { figure } from "./figures.js";
import { taskParts } from "./words.js";

const SHOWN = 150;

/** @typedef {import("./app.js").App} App @typedef {import("./model.js").Task} Task */

export class StackPanel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.list = h("ol", { class: "tasks", "aria-label": "Tasks, the next to run first" });
    this.note = h("p", { class: "quiet" });
    this.element = h(
      "section",
      { class: "panel stack", "aria-labelledby": "stack-title" },
      h("h2", { id: "stack-title" }, "Task stack"),
      this.note,
      this.list,
    );
  }

  render() {
    const { state, event, history } = this.app;
    const rows = [];
    const maker = state.running?.id ?? (event?.kind === "task_end" ? event.id : undefined);
    if (event?.kind === "task_end") rows.push(this.row({ ...history.tasks.get(event.id), id: event.id }, "gone"));
    if (state.running) rows.push(this.row(state.running, "running"));
    const waiting = [...state.stack].reverse();
    const base = Math.min(
      ...waiting.slice(0, SHOWN).map((task) => this.depth(task)),
      state.running ? this.depth(state.running) : Infinity,
    );
    this.base = Number.isFinite(base) ? base : 0;
    for (const task of waiting.slice(0, SHOWN))
      rows.push(this.row(task, task.parent !== null && task.parent === maker ? "pushed" : ""));
    if (waiting.length > SHOWN) rows.push(h("li", { class: "quiet" }, `and ${waiting.length - SHOWN} more`));
    put(this.list, rows);
    put(this.note, waiting.length ? `${waiting.length} waiting` : state.running ? "nothing waits" : "empty");
  }

  /** @param {{id: number}} task */
  depth(task) {
    return this.app.history.tasks.get(task.id)?.depth ?? 0;
  }

  /** @param {any} task @param {string} how */
  row(task, how) {
    const indent = Math.min(6, Math.max(0, this.depth(task) - (this.base ?? 0)));
    const words = { gone: "done", running: "runs now", pushed: "just pushed" }[how];
    return h(
      "li",
      { class: `task ${how}`, style: `--indent: ${indent}` },
      h("span", { class: "task-name" }, h("span", {}, task.name), words && h("span", { class: "tag" }, words)),
      h("span", { class: "task-text" }, this.words(task.text ?? "")),
    );
  }

  /** What a task does, and the limit of its goal.
   * @param {string} text */
  words(text) {
    const { app } = this;
    const { what, limit, end } = taskParts(text);
    const goal = /\bgoal (\d+)/.exec(what);
    const most = app.state.goals.get(Number(goal?.[1]))?.limit ?? Infinity;
    const said = app.names.task(text).map((part) => app.link(part));
    return most < Infinity && !limit && !end ? [...said, `, limit ${figure(most)}`] : said;
  }
}
