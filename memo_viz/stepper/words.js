// Events in words: fills the templates of optimizer/trace/vocabulary.json, as memo_viz/words.py does, and makes
// links of what has a place on the page.

import { visible } from "./dom.js";
import { count, figure } from "./figures.js";

/**
 * @typedef {import("./model.js").State} State
 * @typedef {import("./model.js").TraceEvent} TraceEvent
 * @typedef {{text: string, group?: number, goal?: number, mexpr?: number, event?: number}} Part a piece of a sentence, and what
 *   it leads to
 * @typedef {{meaning: string, fields: Record<string, string[]>, sentence: string, parts?: Record<string, [string[], string][]>,
 *   values?: Record<string, Record<string, string>>}} Kind
 * @typedef {{types: Record<string, string>, facts: Record<string, string[]>, kinds: Record<string, Kind>}} Vocabulary
 */

/** A text in quotes, or a word with the number of its column. */
const COLUMN = /'(?:[^']|'')*'|([^\s#(),[\]']+)(?:#(\d+))?/g;

/** A task's text: what it does, traits, a limit, the absence of one. In traits stand names of a user's, so they are found by what is
 * around them; nothing behind them has a bracket that closes. */
const TASK = /^(.*?)(?: for (?:any|((?:order|group)\(.*\))))?(?:, limit (\d+(?:\.\d+)?(?:e[+-]\d+)?))?((?:, no limit)?)$/s;

/** The parts of a task's text. @param {string} text */
export function taskParts(text) {
  const [, what, traits, limit, end] = /** @type {RegExpExecArray} */ (TASK.exec(text));
  return { what, traits, limit, end };
}

/** What the numbers in events stand for: names of groups, traits of goals and operators of expressions at the end. */
export class Names {
  /** @param {{groups: Record<string, string>, whole: Record<string, string>, goals: Record<string, [number, string]>,
   *   mexprs: Record<string, string>, several: string[]}} data `whole`: names of sets that are shortened elsewhere; `several`:
   *   columns whose name alone is not enough
   *  @param {Map<number, string>} tasks */
  constructor(data, tasks) {
    this.data = data;
    this.tasks = tasks;
    this.several = new Set(data.several);
  }

  /** A set of relations that became a group is called as that. @param {number} id */
  group(id) {
    const { groups, goals } = this.data;
    return groups[id] ?? (id < 0 ? groups[goals[-2 - id]?.[0]] : undefined) ?? `G${id}`;
  }

  /** @param {number} id */
  goal(id) {
    const known = this.data.goals[id];
    if (!known) return `goal ${id}`;
    return this.group(known[0]) + (known[1] === "any" ? "" : ` ${this.traits(known[1])}`);
  }

  /** @param {number} id */
  mexpr(id) {
    const op = this.data.mexprs[id];
    return op === undefined ? `m${id}` : `${op} m${id}`;
  }

  /** What a task does, with names for the numbers in it.
   * @param {string} text @returns {Part[]} */
  task(text) {
    const { what, traits, limit, end } = taskParts(text);
    const rest = (traits ? ` ${this.traits(traits)}` : "") + (limit ? `, limit ${figure(limit)}` : "") + end;
    const parts = what.split(/\b((?:group|goal|expression) \d+)/).map((piece, i) => {
      if (i % 2 === 0) return { text: this.line(piece) };
      const [what, number] = piece.split(" ");
      const id = Number(number);
      if (what === "group") return { text: this.group(id), group: id };
      return what === "goal" ? { text: this.goal(id), goal: id } : { text: this.mexpr(id), mexpr: id };
    });
    return rest ? [...parts, { text: rest }] : parts;
  }

  /** @param {string} text */
  traits(text) {
    const found = /^(order|group)\((.*)\)$/s.exec(text);
    if (!found) return text === "any" ? "in any order" : this.text(text);
    return `${found[1] === "order" ? "ordered" : "grouped"} by ${this.text(found[2])}`;
  }

  /** A text of the trace with columns as short as they may be.
   * @param {string} text */
  text(text) {
    return this.line(text.replace(COLUMN, (whole, name, number) => (number && !this.several.has(name) ? name : whole)));
  }

  /** @param {string} text */
  line(text) {
    return visible(text).replaceAll("\n", " ");
  }
}

/** @param {Part[]} parts */
export const plain = (parts) => parts.map((part) => part.text).join("");

/** Fills the templates of one event. */
class Filler {
  /** @param {TraceEvent} event @param {Kind} kind @param {Vocabulary} words @param {Names} names @param {State} state */
  constructor(event, kind, words, names, state) {
    this.kind = kind;
    this.names = names;
    this.state = state;
    this.types = { ...words.facts, ...kind.fields };
    /** @type {Record<string, any>} */
    this.values = { ...event, ...facts(event, state) };
  }

  /** @param {string} template @returns {Part[]} */
  fill(template) {
    return template
      .split(/\{(\w+(?::\w+)?)\}/)
      .flatMap((piece, i) => (i % 2 ? this.hole(piece) : piece ? [{ text: piece }] : []));
  }

  /** @param {string} hole a name, and what to show it as where that is not its own type @returns {Part[]} */
  hole(hole) {
    const [name, type] = hole.split(":");
    const cases = this.kind.parts?.[name];
    if (cases)
      return this.fill(/** @type {[string[], string]} */ (cases.find(([names]) => names.every((n) => this.there(n))))[1]);
    const value = this.values[name];
    const said = this.kind.values?.[name]?.[String(value)];
    return said === undefined ? this.show(type ?? this.types[name][0].replace("?", ""), value) : this.fill(said);
  }

  /** @param {string} name */
  there(name) {
    const value = this.values[name];
    return ![null, undefined, false, Infinity].includes(value) && !(Array.isArray(value) && value.length === 0);
  }

  /** @param {string} type @param {any} value @returns {Part[]} */
  show(type, value) {
    const names = this.names;
    switch (type) {
      case "count":
        return [{ text: count(value) }];
      case "number":
        return [{ text: figure(value) }];
      case "limit":
        return [{ text: value === Infinity ? "at any cost" : `for ${figure(value)} or less` }];
      case "event":
        return [eventPart(value)];
      case "group":
        return [{ text: names.group(value), group: value }];
      case "goal":
        return [{ text: names.goal(value), goal: value }];
      case "mexpr":
        return [{ text: names.mexpr(value), mexpr: value }];
      case "task":
        return names.task(names.tasks.get(value) ?? `task ${value}`);
      case "traits":
        return [{ text: names.traits(value) }];
      case "choice":
        return [{ text: String(value) }];
      case "groups":
        return this.each(value, (id) => this.show("group", id));
      case "relations":
        return value.length === 1 ? this.show("group", value[0]) : this.set(value);
      case "goals":
        return this.each(value, (id) => this.show("goal", id));
      case "mexprs":
        return this.each(value, (id) => this.show("mexpr", id));
      case "each_traits":
        return this.each(value, (traits) => this.show("traits", traits));
      case "columns":
        return this.each(value, (text) => [{ text: names.text(text) }]);
      case "plans":
        return this.each(value, (id) => this.plan(id));
      case "bounds":
        return this.each(value, (id) => this.bound(id));
      default:
        return [{ text: names.text(String(value).trim().replace(/\s+/g, " ")) }];
    }
  }

  /** @param {any[]} values @param {(value: any) => Part[]} show @returns {Part[]} */
  each(values, show) {
    return values.length
      ? values.flatMap((value, i) => (i ? [{ text: " and " }, ...show(value)] : show(value)))
      : [{ text: "nothing" }];
  }

  /** @param {number[]} groups @returns {Part[]} */
  set(groups) {
    const named = groups.flatMap((id, i) => (i ? [{ text: ", " }, ...this.show("group", id)] : this.show("group", id)));
    return [{ text: "{" }, ...named, { text: "}" }];
  }

  /** @param {number} id @returns {Part[]} */
  plan(id) {
    const best = this.state.goals.get(id)?.best;
    const goal = { text: this.names.goal(id), goal: id };
    return best ? [goal, { text: ` for ${figure(best.cost)}` }, ...by(best.event)] : [goal];
  }

  /** A goal, or a group where the way that was cut is a logical expression, and what it costs at least.
   * @param {number} id @returns {Part[]} */
  bound(id) {
    const found = source(/** @type {TraceEvent} */ (this.values), id, this.state);
    return found
      ? [boundPart(found, id, this.names), { text: ` at least ${figure(found.lower)}` }, ...by(found.lower_event)]
      : [{ text: this.names.goal(id), goal: id }];
  }
}

/** @param {number} event @returns {Part} */
const eventPart = (event) => ({ text: count(event), event });

/** @param {number | null} event @returns {Part[]} */
const by = (event) => (event === null ? [] : [{ text: " (event " }, eventPart(event), { text: ")" }]);

/** Where the numbers of an event came from; see `facts` in the vocabulary.
 * @param {TraceEvent} event @param {State} state @returns {Record<string, number>} */
function facts(event, state) {
  if (event.kind === "best") return difference(event.old, event.cost);
  if (event.kind === "limit") return difference(event.old, event.new);
  const goal = event.kind === "prune" ? state.goals.get(event.goal) : undefined;
  return goal ? { ...cutSum(event, state), ...enough(event), ...limitSource(event.limit, goal) } : {};
}

/** By how much a figure rises, or falls where that cannot be seen.
 * @param {number} old @param {number} now @returns {Record<string, number>} */
function difference(old, now) {
  if (now > old) return { more: now - old };
  return now < old && figure(now) === figure(old) ? { less: old - now } : {};
}

/** Why a way is cut whose bound lies below what a plan may cost.
 * @param {TraceEvent} event @returns {Record<string, number>} */
export function enough({ lower, limit, spent, mechanism }) {
  if (!(lower < limit * (1 - 1e-9)) || limit === Infinity || mechanism === "limit") return {};
  return spent >= limit ? { total: spent } : { near: limit - lower };
}

/** What a way that is cut costs itself, and with its inputs by now, where they were proved to cost more since.
 * @param {TraceEvent} event @param {State} state @returns {{own: number, now?: number}} */
export function cutSum(event, state) {
  const inputs = event.sources.reduce(
    (/** @type {number} */ sum, /** @type {number} */ id) => sum + (source(event, id, state)?.lower ?? 0),
    0,
  );
  const own = inputs < event.lower ? Math.max(event.local, event.lower - inputs) : event.local;
  return own + inputs > event.lower * (1 + 1e-9) ? { own, now: own + inputs } : { own };
}

/** What gave a part of the bound of a way that is cut: a goal, or a group where the way is a logical expression.
 * @param {TraceEvent} event @param {number} id @param {State} state */
export function source(event, id, state) {
  return state.mexprs.get(event.mexpr ?? NaN)?.logical ? state.groups.get(id) : state.goals.get(id);
}

/** @param {ReturnType<typeof source>} found @param {number} id @param {Names} names @returns {Part} */
export function boundPart(found, id, names) {
  return found && "traits" in found ? { text: names.goal(id), goal: id } : { text: names.group(id), group: id };
}

/** What set the most that a plan for a goal may cost: its best plan, or the limit passed down, whichever has that figure.
 * @param {number} limit @param {import("./model.js").Goal} goal @returns {Record<string, number>} */
function limitSource(limit, goal) {
  if (goal.best?.cost === limit && goal.best.event !== null) return { plan_event: goal.best.event };
  if (goal.limit_event === null || goal.limit_goal === null || goal.limit !== limit) return {};
  return { limit_event: goal.limit_event, limit_goal: goal.limit_goal };
}

/**
 * One sentence on an event in the state after it.
 * @param {TraceEvent} event @param {Vocabulary} words @param {Names} names @param {State} state
 * @returns {Part[]}
 */
export function sentence(event, words, names, state) {
  const kind = words.kinds[event.kind];
  if (!kind) return [{ text: `An event of the kind ${names.line(event.kind)}.` }];
  return new Filler(event, kind, words, names, state).fill(kind.sentence);
}
