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
 * Over: past the task at the top of the stack and all that it pushes; backwards, to before it began.
 * @param {History} history @param {number} position @param {1 | -1} direction
 */
export function over(history, position, direction) {
  const left = (/** @type {number} */ p) => (p > 0 ? history.tasksLeft[p - 1] : 0);
  const last = history.events.length;
  const here = left(position);
  if (direction > 0) {
    let p = position + 1;
    while (p < last && left(p) >= here && here > 0) p++;
    return Math.min(p, last);
  }
  let p = position - 1;
  while (p > 0 && left(p) >= here && here > 0) p--;
  return Math.max(p, 0);
}

/**
 * To the end of the running task, or to the start of the next one.
 * @param {History} history @param {number} position @param {1 | -1} direction
 */
export function task(history, position, direction) {
  const kind = direction > 0 ? "task_end" : "task_start";
  return find(history, position, direction, (event) => event.kind === kind) ?? (direction > 0 ? history.events.length : 0);
}
