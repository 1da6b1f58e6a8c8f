// What the search knows of a goal, as a small sign beside its colour, so that nobody has to tell colours apart.

import { s } from "./dom.js";

/** @typedef {import("./model.js").Goal} Goal */

/** A word, an explanation and a picture (paths in a square of 12) for what `statusOf` says of a goal. */
export const STATUS = /** @type {Record<string, {word: string, meaning: string, path: string, filled?: string}>} */ ({
  new: { word: "not searched", meaning: "nobody has asked for a plan yet", path: "M6 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8z" },
  planned: {
    word: "not searched, has a plan",
    meaning: "nobody has asked for its best plan; this one came with a first plan of the region, or with the table of all sets",
    path: "M6 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8z M4 6l1.5 1.5L8 4.5",
  },
  open: {
    word: "being searched",
    meaning: "the search for its best plan is under way",
    path: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z",
    filled: "M6 1.5a4.5 4.5 0 0 0 0 9z",
  },
  optimal: { word: "optimal", meaning: "its best plan is known, and proven to be the best", path: "M2 6.5 L5 9.5 L10.5 2.5" },
  bounded: {
    word: "bounded",
    meaning: "it has a plan; another may cost less, but not less than the bound",
    path: "M2 6.5 L5 9.5 L10.5 2.5 M2 11.2h8.5",
  },
  below: {
    word: "too dear",
    meaning: "it has no plan within the limit: any plan costs the bound or more",
    path: "M2.5 2.5 L9.5 9.5 M9.5 2.5 L2.5 9.5",
  },
  impossible: {
    word: "impossible",
    meaning: "it has no plan at all",
    path: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z M3 9 L9 3",
  },
  abandoned: { word: "abandoned", meaning: "the budget was spent before it was settled", path: "M2 6h8" },
});

/** The status of a goal; of one that is new, also whether it has a plan.
 * @param {Goal} goal */
export const statusOf = (goal) => (goal.status === "new" && goal.best ? "planned" : goal.status);

/** What a status is called.
 * @param {Goal} goal */
export const statusWord = (goal) => STATUS[statusOf(goal)]?.word ?? goal.status;

/** The sign of a status as an SVG group at the origin.
 * @param {string} status */
export function signShape(status) {
  const { path = "", filled } = STATUS[status] ?? {};
  return s(
    "g",
    { class: `sign-shape status-${status}` },
    s("path", { d: path }),
    filled && s("path", { class: "filled", d: filled }),
  );
}

/** The same as a picture of its own, in a line of text.
 * @param {string} status */
export function sign(status) {
  const { word = status, meaning = "" } = STATUS[status] ?? {};
  return s(
    "svg",
    { class: "sign-inline", viewBox: "0 0 12 12", width: 12, height: 12, role: "img", "aria-label": word },
    s("title", {}, `${word}: ${meaning}`),
    signShape(status),
  );
}

/** What a group shows: the status of its goal without traits, else of its first.
 * @param {Goal[]} goals */
export function mainGoal(goals) {
  return goals.find((goal) => goal.traits === "any") ?? goals[0];
}
