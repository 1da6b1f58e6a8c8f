// Where to go from a position: the next event of a kind, over what is on the stack, out of a task.

/**
 * @typedef {import("./history.js").History} History
 * @typedef {import("./model.js").TraceEvent} TraceEvent
 */

/** Kinds of events that have a mark on the time line and a key. `is`: which events; `key`: n goes forward, N back. */
export const MARKS = [
  { name: "firings", key: "f", is: (/** @type {TraceEvent} */ e) => e.kind === "fire" || e.kind === "rewrite" },
  { name: "prunes", key: "n", is: (/** @type {TraceEvent} */ e) => e.kind === "prune" },
  { name: "merges", key: "m", is: (/** @type {TraceEvent} */ e) => e.kind === "merge" },
  { name: "new bests", key: "b", is: (/** @type {TraceEvent} */ e) => e.kind === "best" },
];

/**
 * The position just after the next event for which `is` holds, or the last one before; null where there is none.
 * @param {History} history @param {number} position @param {1 | -1} direction @param {(event: TraceEvent, index: number) => boolean} is
 */
export function find(history, position, direction, is) {
  for (let i = position - 1 + direction; i >= 0 && i < history.events.length; i += direction) {
    if (is(history.events[i], i)) return i + 1;
  }
  return null;
}

/**
 * Over: to the next task that is no deeper than the one at the position, past all that it leads to; backwards to the one before
 * it. Before the search: from stage to stage.
 * @param {History} history @param {number} position @param {1 | -1} direction
 */
export function over(history, position, direction) {
  const { events, tasks } = history;
  const here = events[position - 1];
  const rewriting = !here || here.kind === "rewrite" || here.kind === "header" || (here.kind === "stage" && direction < 0);
  const stage = rewriting ? find(history, position, direction, (event) => event.kind === "stage") : null;
  const depth = depthAt(history, position);
  const next = (/** @type {TraceEvent} */ event) => event.kind === "task_start" && (tasks.get(event.id)?.depth ?? 0) <= depth;
  return stage ?? find(history, position, direction, next) ?? (direction > 0 ? events.length : 0);
}

/** How deep the task is that started last. Before the first task: deeper than any.
 * @param {History} history @param {number} position */
function depthAt(history, position) {
  for (let i = position - 1; i >= 0; i--) {
    const event = history.events[i];
    if (event.kind === "task_start") return history.tasks.get(event.id)?.depth ?? 0;
  }
  return Infinity;
}

/**
 * To the end of the running task, or to the start of the next one.
 * @param {History} history @param {number} position @param {1 | -1} direction
 */
export function task(history, position, direction) {
  const kind = direction > 0 ? "task_end" : "task_start";
  return find(history, position, direction, (event) => event.kind === kind) ?? (direction > 0 ? history.events.length : 0);
}
