// What a walk through all events once tells of each: which group it is about, what the root had, where else a group was weighed.

import { canonical, setId } from "./model.js";
import { taskParts } from "./words.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./model.js").State} State
 * @typedef {import("./model.js").TraceEvent} TraceEvent
 * @typedef {{group: number | null, goal: number | null, mexpr: number | null, inputs: number[]}} Focus what an event is about;
 *   `inputs`: the groups it reads from
 * @typedef {{name: string, text: string, depth: number}} TaskSpan
 */

export class History {
  /** @param {Model} model at its first position; it is there again afterwards */
  constructor(model) {
    const n = model.events.length;
    this.events = model.events;
    this.first = n ? model.events[0].seq : 0;
    /** @type {Focus[]} by index of the event */
    this.focus = [];
    /** Cost of the root's best plan and its proven bound after each event; NaN while there is none. */
    this.best = new Float64Array(n).fill(NaN);
    this.lower = new Float64Array(n).fill(NaN);
    /** @type {Map<number, TaskSpan>} */
    this.tasks = new Map();
    /** @type {Map<number, number[]>} indices of the events about a group, or that read it */
    this.ofGroup = new Map();
    /** @type {Map<number, number[]>} indices of prunes and bests in which a group is an input */
    this.usesOf = new Map();
    /** @type {Map<number, number>} index of the event that made a group or an expression */
    this.madeGroup = new Map();
    this.madeMExpr = new Map();
    const { stack, running } = model.state; // tasks from before a window
    for (const task of running ? [running, ...stack] : stack) this.addTask(task);
    for (let i = 0; i < n; i++) this.note(model.seek(i + 1), model.events[i], i);
    model.seek(0);
  }

  /** The index of the event with number `seq`; -1 where it is not in the window.
   * @param {number} seq */
  at(seq) {
    const i = seq - this.first;
    if (this.events[i]?.seq === seq) return i;
    return this.events.findIndex((event) => event.seq === seq);
  }

  /** @param {State} state @param {TraceEvent} event @param {number} i */
  note(state, event, i) {
    const focus = focusOf(state, event, this.tasks);
    this.focus.push(focus);
    const root = state.root === null ? undefined : state.goals.get(state.root);
    if (root) {
      this.lower[i] = root.lower;
      if (root.best) this.best[i] = root.best.cost;
    }
    if (event.kind === "task_push") this.addTask(/** @type {any} */ (event));
    if (event.kind === "group") this.madeGroup.set(event.id, i);
    if (event.kind === "goal" && event.group < 0 && focus.group !== null) this.madeGroup.set(focus.group, i);
    if (event.kind === "mexpr" && !event.duplicate) this.madeMExpr.set(event.id, i);
    if (!event.kind.startsWith("task_")) {
      if (focus.group !== null) list(this.ofGroup, focus.group).push(i);
      if (event.kind === "prune" || event.kind === "best") {
        for (const input of new Set(focus.inputs)) if (input !== focus.group) list(this.usesOf, input).push(i);
      }
    }
    if (event.kind === "place" || event.kind === "merge") this.move(event);
  }

  /** What was known of a set of relations, or of a group that ends, is known of the group it becomes.
   * @param {TraceEvent} event */
  move(event) {
    const from = event.kind === "merge" ? event.gone : setId(event.goal);
    const to = event.kind === "merge" ? event.into : event.group;
    for (const map of [this.ofGroup, this.usesOf]) {
      const both = [...(map.get(from) ?? []), ...(map.get(to) ?? [])].sort((a, b) => a - b);
      if (both.length) map.set(to, both);
    }
  }

  /** @param {import("./model.js").Task} task */
  addTask({ id, parent, name, text }) {
    const above = parent === null ? undefined : this.tasks.get(parent);
    this.tasks.set(id, { name, text, depth: above ? above.depth + 1 : 0 });
  }
}

/** @template V @param {Map<number, V[]>} map @param {number} key @returns {V[]} */
function list(map, key) {
  let found = map.get(key);
  if (!found) map.set(key, (found = []));
  return found;
}

/** @param {State} state @param {TraceEvent} event @param {Map<number, TaskSpan>} tasks @returns {Focus} */
function focusOf(state, event, tasks) {
  const groupOfMExpr = (/** @type {number | null | undefined} */ id) => state.mexprs.get(id ?? NaN)?.group ?? null;
  const groupOfGoal = (/** @type {number | null | undefined} */ id) => state.goals.get(id ?? NaN)?.group ?? null;
  let { goal = null, mexpr = null, group = null } = event;
  /** @type {(number | null)[]} */
  let inputs = [];
  switch (event.kind) {
    case "group":
      group = event.id;
      break;
    case "mexpr":
      mexpr = event.id;
      inputs = event.inputs ?? [];
      break;
    case "merge":
      group = event.into;
      break;
    case "goal":
      group = groupOfGoal(goal);
      break;
    case "prune":
      inputs = event.sources.map((/** @type {number} */ id) => (state.mexprs.get(mexpr)?.logical ? id : groupOfGoal(id)));
      if (event.left) inputs = [...event.left, ...event.right];
      break;
    case "best":
    case "enforce":
      inputs = event.inputs.map(groupOfGoal);
      break;
    case "fire":
    case "cost":
    case "pass_through":
    case "derive":
      inputs = state.mexprs.get(mexpr)?.inputs ?? [];
      break;
    case "limit":
      inputs = event.source === goal ? [] : [groupOfGoal(event.source)];
      break;
    case "cycle":
      inputs = [groupOfGoal(event.input)];
      break;
    case "task_push":
    case "task_start":
    case "task_end":
      ({ group, goal, mexpr } = subject(event.text ?? tasks.get(event.id)?.text ?? ""));
      break;
  }
  group ??= groupOfMExpr(mexpr) ?? groupOfGoal(goal);
  const standing = (/** @type {number | null} */ id) => (id !== null && state.groups.has(id) ? [canonical(state, id)] : []);
  const read = event.kind === "merge" ? [event.gone] : inputs.flatMap(standing);
  return { group: standing(group)[0] ?? null, goal, mexpr, inputs: read };
}

/** What the text of a task speaks of.
 * @param {string} text */
function subject(text) {
  const { what } = taskParts(text);
  const number = (/** @type {RegExp} */ pattern) => {
    const found = pattern.exec(what);
    return found ? Number(found[1]) : null;
  };
  return { group: number(/\bgroup (\d+)/), goal: number(/\bgoal (\d+)/), mexpr: number(/\bexpression (\d+)/) };
}
