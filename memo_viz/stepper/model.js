// The memo, the goals and the task stack at any event: what optimizer/trace/changes.py does, with a log that steps backwards.
// States have the fields of optimizer/trace/state.py, so that the two can be compared.

/**
 * @typedef {{kind: string, seq: number, task: number | null, [field: string]: any}} TraceEvent
 * @typedef {{id: number, columns: string[], rows: number, lower: number, logical: number[], physical: number[], goals: number[],
 *   explored: boolean, merged_into: number | null, relations: number[] | null, event: number | null,
 *   lower_event: number | null}} Group
 * @typedef {{id: number, group: number, op: string, detail: string, inputs: number[], logical: boolean, rule: string | null,
 *   source: number | null, local_cost: number | null, event: number | null}} MExpr
 * @typedef {{mexpr: number | null, op: string, detail: string, inputs: number[], delivered: string, local_cost: number,
 *   cost: number, event: number | null}} Best
 * @typedef {{id: number, group: number, traits: string, status: string, limit: number, lower: number, best: Best | null,
 *   opened: number, event: number | null, lower_event: number | null, limit_event: number | null,
 *   limit_goal: number | null}} Goal
 * @typedef {{id: number, name: string, parent: number | null, text: string}} Task
 * @typedef {[number, string, string][]} FlatTree operators, parents first: depth, operator, what it does
 * @typedef {{groups: Map<number, Group>, mexprs: Map<number, MExpr>, goals: Map<number, Goal>, stack: Task[],
 *   running: Task | null, root: number | null, tree: FlatTree | null, plan: any[] | null}} State
 */

const CLOSED = { win: "optimal", bounded: "bounded", fail: "below", impossible: "impossible", abandoned: "abandoned" };

/** The id of a set of relations as a group, and of the join chosen for it as an expression.
 * @param {number} goal */
export const setId = (goal) => -2 - goal;

/** Every change to a state goes through here, which remembers how to take it back. */
class Log {
  /** @type {(() => void)[]} */
  undo = [];

  /** @template {object} T @template {keyof T} K @param {T} object @param {K} key @param {T[K]} value */
  set(object, key, value) {
    const old = object[key];
    if (old === value) return;
    object[key] = value;
    this.undo.push(() => {
      object[key] = old;
    });
  }

  /** @template K, V @param {Map<K, V>} map @param {K} key @param {V} value */
  put(map, key, value) {
    const had = map.has(key);
    const old = /** @type {V} */ (map.get(key));
    map.set(key, value);
    this.undo.push(() => {
      if (had) map.set(key, old);
      else map.delete(key);
    });
  }

  /** @template K, V @param {Map<K, V>} map @param {K} key */
  drop(map, key) {
    const old = /** @type {V} */ (map.get(key));
    map.delete(key);
    this.undo.push(() => map.set(key, old));
  }

  /** @template T @param {T[]} list @param {T} value */
  append(list, value) {
    list.push(value);
    this.undo.push(() => list.pop());
  }

  /** @template T @param {T[]} list @returns {T} */
  pop(list) {
    const value = /** @type {T} */ (list.pop());
    this.undo.push(() => list.push(value));
    return value;
  }
}

/** A window of a trace and a position in it: position n is the state after the first n events of the window. */
export class Model {
  /**
   * @param {TraceEvent[]} events
   * @param {any} [base] the state before the first of them, as `stateJson` writes it
   */
  constructor(events, base) {
    this.events = events;
    this.position = 0;
    /** @type {State} */
    this.state = base ? stateOf(base) : emptyState();
    this.log = new Log();
    /** @type {number[]} how long the log was before each event */
    this.marks = [];
  }

  /** @param {number} position */
  seek(position) {
    position = Math.max(0, Math.min(position, this.events.length));
    while (this.position < position) {
      this.marks.push(this.log.undo.length);
      apply(this.state, this.events[this.position++], this.log);
    }
    while (this.position > position) {
      const mark = /** @type {number} */ (this.marks.pop());
      while (this.log.undo.length > mark) /** @type {() => void} */ (this.log.undo.pop())();
      this.position--;
    }
    return this.state;
  }
}

/** The group that `id` was merged into, itself when it was not.
 * @param {State} state @param {number} id @returns {number} */
export function canonical(state, id) {
  let group = state.groups.get(id);
  while (group && group.merged_into !== null) {
    id = group.merged_into;
    group = state.groups.get(id);
  }
  return id;
}

/** Goals of the plan below `goal`, it first; empty while it has no plan.
 * @param {State} state @param {number | null} goal */
export function planGoals(state, goal) {
  /** @type {number[]} */
  const result = [];
  const pending = goal === null ? [] : [goal];
  while (pending.length) {
    const id = /** @type {number} */ (pending.pop());
    const best = state.goals.get(id)?.best;
    if (!best) return [];
    result.push(id);
    pending.push(...[...best.inputs].reverse());
  }
  return result;
}

/** The goal that an expression is the best plan of: of several the one in the plan of the root, else the cheapest.
 * @param {Goal[]} goals @param {number} mexpr @param {number[]} plan */
export function wonBy(goals, mexpr, plan) {
  const won = goals.filter((goal) => goal.best?.mexpr === mexpr);
  won.sort((a, b) => Number(plan.includes(b.id)) - Number(plan.includes(a.id)) || (a.best?.cost ?? 0) - (b.best?.cost ?? 0));
  return /** @type {Goal | undefined} */ (won[0]);
}

/** @param {State} state @param {TraceEvent} event @param {Log} log */
function apply(state, event, log) {
  CHANGES[event.kind]?.(state, event, log);
}

/** A group that is there. @param {State} state @param {number} id */
export const groupAt = (state, id) => /** @type {Group} */ (state.groups.get(id));
/** A goal that is there. @param {State} state @param {number} id */
export const goalAt = (state, id) => /** @type {Goal} */ (state.goals.get(id));
/** @param {number[]} ids */
const sorted = (ids) => [...ids].sort((a, b) => a - b);

/** @type {Record<string, (state: State, event: TraceEvent, log: Log) => void>} */
const CHANGES = {
  rewrite(state, event, log) {
    const { tree } = state;
    if (tree && event.at !== null) log.set(state, "tree", replaced(tree, event.at, event.before, event.after));
  },
  stage(state, event, log) {
    log.set(state, "tree", event.tree);
  },
  plan(state, event, log) {
    log.set(state, "plan", event.nodes);
  },
  task_push(state, event, log) {
    log.append(state.stack, { id: event.id, name: event.name, parent: event.parent, text: event.text });
  },
  task_start(state, event, log) {
    log.set(state, "running", log.pop(state.stack));
  },
  task_end(state, event, log) {
    log.set(state, "running", null);
  },
  group(state, event, log) {
    log.put(state.groups, event.id, newGroup(event.id, event, event.columns, null));
  },
  mexpr(state, event, log) {
    if (event.dropped) return dropMExpr(state, event, log);
    if (event.duplicate) return;
    const { id, group, op, detail, inputs, logical, rule, source, seq } = event;
    log.put(state.mexprs, id, {
      id,
      group,
      op,
      detail,
      inputs: [...inputs],
      logical,
      rule,
      source,
      local_cost: null,
      event: seq,
    });
    const home = groupAt(state, group);
    log.append(logical ? home.logical : home.physical, id);
  },
  merge(state, event, log) {
    const keep = groupAt(state, event.into);
    const gone = groupAt(state, event.gone);
    for (const mexpr of state.mexprs.values()) {
      // costs that depend on the figures of either group are out of date
      if (mexpr.group === gone.id || mexpr.inputs.includes(gone.id)) log.set(mexpr, "local_cost", null);
    }
    for (const id of [...gone.logical, ...gone.physical]) {
      const mexpr = state.mexprs.get(id);
      if (mexpr) log.set(mexpr, "group", keep.id);
    }
    log.set(keep, "logical", [...keep.logical, ...gone.logical]);
    log.set(keep, "physical", sorted([...keep.physical, ...gone.physical]));
    for (const id of gone.goals) anew(state, id, log);
    for (const list of /** @type {const} */ (["logical", "physical", "goals"])) log.set(gone, list, []);
    for (const group of state.groups.values()) {
      if (group === gone || group.merged_into === gone.id) log.set(group, "merged_into", keep.id);
    }
    for (const mexpr of state.mexprs.values()) redirect(mexpr, gone.id, keep.id, log);
    if (gone.lower < keep.lower) setLower(keep, gone.lower, event, log);
  },
  explored(state, event, log) {
    log.set(groupAt(state, event.group), "explored", true);
  },
  lower(state, event, log) {
    setLower("goal" in event ? goalAt(state, event.goal) : groupAt(state, event.group), event.lower, event, log);
  },
  budget(state, event, log) {
    if ("tasks" in event) log.set(state, "stack", []); // the search was cut: what was on the stack is dropped
  },
  root(state, event, log) {
    log.set(state, "root", event.goal);
  },
  goal(state, event, log) {
    let group = event.group;
    if (group < 0) {
      group = setId(event.goal);
      log.put(state.groups, group, newGroup(group, event, [], [...event.relations]));
    }
    log.put(state.goals, event.goal, newGoal(event.goal, group, event.traits, event.lower, event.seq, event.seq));
    log.append(groupAt(state, group).goals, event.goal);
  },
  place(state, event, log) {
    const goal = goalAt(state, event.goal);
    const group = groupAt(state, event.group);
    const set = groupAt(state, goal.group);
    log.drop(state.groups, set.id);
    log.set(group, "goals", sorted([...group.goals, goal.id]));
    log.set(group, "physical", sorted([...group.physical, ...set.physical]));
    for (const mexpr of state.mexprs.values()) {
      if (mexpr.id >= 0) continue;
      if (mexpr.group === set.id) log.set(mexpr, "group", group.id);
      redirect(mexpr, set.id, group.id, log);
    }
    log.set(goal, "group", group.id);
  },
  limit(state, event, log) {
    if (event.source === event.goal) return;
    const goal = goalAt(state, event.goal);
    log.set(goal, "limit", event.new);
    log.set(goal, "limit_event", event.seq);
    log.set(goal, "limit_goal", event.source);
  },
  goal_open(state, event, log) {
    const goal = goalAt(state, event.goal);
    if (goal.limit !== event.limit) {
      // not the one that was passed down last
      log.set(goal, "limit_event", null);
      log.set(goal, "limit_goal", null);
    }
    log.set(goal, "status", "open");
    log.set(goal, "limit", event.limit);
    log.set(goal, "opened", event.attempt);
  },
  goal_close(state, event, log) {
    const goal = goalAt(state, event.goal);
    log.set(goal, "status", CLOSED[/** @type {keyof typeof CLOSED} */ (event.result)]);
    if (event.lower !== goal.lower) setLower(goal, event.lower, event, log);
  },
  restart(state, event, log) {
    for (const id of [...state.goals.keys()]) anew(state, id, log);
    for (const group of state.groups.values()) {
      log.set(group, "goals", []);
      log.set(
        group,
        "physical",
        group.physical.filter((id) => id >= 0),
      );
    }
    // splits that were the best ways of goals
    for (const id of [...state.mexprs.keys()]) if (id < 0) log.drop(state.mexprs, id);
  },
  recost(state, event, log) {
    for (const id of event.goals) log.set(goalAt(state, id), "best", null);
  },
  cost(state, event, log) {
    const mexpr = /** @type {MExpr} */ (state.mexprs.get(event.mexpr));
    log.set(mexpr, "local_cost", mexpr.local_cost === null ? event.local : Math.min(event.local, mexpr.local_cost));
  },
  best(state, event, log) {
    const goal = goalAt(state, event.goal);
    let mexpr = event.mexpr;
    if (event.split) {
      // a join that is no expression of the memo
      mexpr = setId(goal.id);
      const inputs = event.inputs.map((/** @type {number} */ below) => goalAt(state, below).group);
      log.put(state.mexprs, mexpr, {
        id: mexpr,
        group: goal.group,
        op: event.op,
        detail: "",
        inputs,
        logical: false,
        rule: null,
        source: null,
        local_cost: event.local,
        event: event.seq,
      });
      const group = groupAt(state, goal.group);
      if (!group.physical.includes(mexpr)) log.set(group, "physical", sorted([...group.physical, mexpr]));
    }
    const { op, detail, inputs, delivered, local, cost, seq } = event;
    log.set(goal, "best", { mexpr, op, detail, inputs: [...inputs], delivered, local_cost: local, cost, event: seq });
  },
};

/** @param {State} state @param {TraceEvent} event @param {Log} log */
function dropMExpr(state, event, log) {
  const group = groupAt(state, event.group);
  const follow = group.physical.filter((id) => state.mexprs.get(id)?.source === event.id);
  log.set(
    group,
    "logical",
    group.logical.filter((id) => id !== event.id),
  );
  log.set(
    group,
    "physical",
    group.physical.filter((id) => !follow.includes(id)),
  );
  for (const id of [event.id, ...follow]) log.drop(state.mexprs, id);
}

/** @param {MExpr} mexpr @param {number} from @param {number} to @param {Log} log */
function redirect(mexpr, from, to, log) {
  if (mexpr.inputs.includes(from))
    log.set(
      mexpr,
      "inputs",
      mexpr.inputs.map((id) => (id === from ? to : id)),
    );
}

/** @param {Group | Goal} of @param {number} lower @param {TraceEvent} event @param {Log} log */
function setLower(of, lower, event, log) {
  log.set(of, "lower", lower);
  log.set(of, "lower_event", event.seq);
}

/** @param {number} id @param {TraceEvent} event @param {string[]} columns @param {number[] | null} relations @returns {Group} */
function newGroup(id, event, columns, relations) {
  const { rows, lower, seq } = event;
  return {
    id,
    columns: [...columns],
    rows,
    lower,
    logical: [],
    physical: [],
    goals: [],
    explored: false,
    merged_into: null,
    relations,
    event: seq,
    lower_event: seq,
  };
}

/** A goal as it was when it was new. @param {State} state @param {number} id @param {Log} log */
function anew(state, id, log) {
  const { group, traits, event } = goalAt(state, id);
  log.put(state.goals, id, newGoal(id, group, traits, 0, event, null));
}

/** @param {number} id @param {number} group @param {string} traits @param {number} lower @param {number | null} event
 * @param {number | null} lower_event @returns {Goal} */
function newGoal(id, group, traits, lower, event, lower_event) {
  return {
    id,
    group,
    traits,
    status: "new",
    limit: Infinity,
    lower,
    best: null,
    opened: 0,
    event,
    lower_event,
    limit_event: null,
    limit_goal: null,
  };
}

/** `tree` with the part `before` that stands at `at` replaced by `after`.
 * @param {FlatTree} tree @param {number} at @param {FlatTree} before @param {FlatTree} after @returns {FlatTree} */
export function replaced(tree, at, before, after) {
  const depth = tree[at][0];
  const moved = after.map(([own, op, detail]) => /** @type {[number, string, string]} */ ([own + depth, op, detail]));
  return [...tree.slice(0, at), ...moved, ...tree.slice(at + before.length)];
}

/** @returns {State} */
const emptyState = () => ({
  groups: new Map(),
  mexprs: new Map(),
  goals: new Map(),
  stack: [],
  running: null,
  root: null,
  tree: null,
  plan: null,
});

/** A state as plain data, infinite numbers as text: what `MemoState.as_json` says at the same event.
 * @param {State} state */
export function stateJson(state) {
  const table = (/** @type {Map<number, {id: number}>} */ map) => [...map.values()].sort((a, b) => a.id - b.id);
  const { groups, mexprs, goals, ...rest } = state;
  return finite({ groups: table(groups), mexprs: table(mexprs), goals: table(goals), ...rest });
}

/** @param {any} value @returns {any} */
function finite(value) {
  if (typeof value === "number") return Number.isFinite(value) ? value : value > 0 ? "inf" : "-inf";
  if (Array.isArray(value)) return value.map(finite);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, finite(item)]));
  return value;
}

/** Figures of a record that were written as text, as numbers again.
 * @param {any} record @returns {any} */
export function withNumbers(record) {
  for (const key of FIGURES)
    if (record[key] === "inf" || record[key] === "-inf") record[key] = record[key] === "inf" ? Infinity : -Infinity;
  return record;
}

const FIGURES = ["rows", "lower", "limit", "cost", "local", "local_cost", "old", "new", "spent"];

/** @param {any} json @returns {State} */
function stateOf(json) {
  const table = (/** @type {any[]} */ items) =>
    /** @type {Map<number, any>} */ (new Map(items.map((item) => [item.id, withNumbers(item)])));
  for (const goal of json.goals) if (goal.best) withNumbers(goal.best);
  return { ...json, groups: table(json.groups), mexprs: table(json.mexprs), goals: table(json.goals) };
}
