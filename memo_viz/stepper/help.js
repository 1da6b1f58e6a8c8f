// What the keys do and what signs and colours mean.

import { button, h } from "./dom.js";
import { STATUS, sign } from "./signs.js";

const KEYS = [
  ["→ ←", "next event, previous event"],
  ["Shift → ←", "over: to the next task that is no deeper, past all that this one leads to"],
  ["↓ ↑", "next or previous event about the group shown"],
  ["] [", "to the end of the running task, to the start of the one before"],
  ["n N", "next prune, previous prune"],
  ["b B", "next better plan of a goal, previous"],
  ["f F", "next rule that fired, previous"],
  ["m M", "next merge of groups, previous"],
  ["Home End", "first event, last event"],
  ["/", "find a group, table, operator or rule"],
  ["g", "go to an event by number"],
  ["1 2 3", "the query, the memo, the plan"],
  ["+ − 0", "closer, farther, the whole memo"],
  ["x X", "fold all groups to their names; fold the group shown (or double click)"],
  ["Tab", "into the picture: there arrows lead from group to group, Enter selects"],
  [".", "only what is next to the selected group"],
  ["Esc", "let go of the selected group"],
  ["t", "light, dark, projector"],
];

export class Help {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.element = /** @type {HTMLDialogElement} */ (
      h(
        "dialog",
        { class: "help", "aria-labelledby": "help-title" },
        h("h2", { id: "help-title" }, "Stepping through a search"),
        h(
          "p",
          {},
          "The picture is the memo: a box is a group of expressions that compute the same rows. It stays where it is from its ",
          "first event to the last. The amber box and lines are what this event is about, the thick green ones the best plan of ",
          "the query so far.",
        ),
        h(
          "div",
          { class: "help-columns" },
          h(
            "div",
            {},
            h("h3", {}, "Keys"),
            h(
              "table",
              {},
              h(
                "tbody",
                {},
                KEYS.map(([key, text]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, text))),
              ),
            ),
          ),
          h(
            "div",
            {},
            h("h3", {}, "Goals"),
            h(
              "ul",
              { class: "statuses" },
              Object.entries(STATUS).map(([status, { word, meaning }]) =>
                h("li", {}, sign(status), " ", h("b", {}, word), `: ${meaning}`),
              ),
            ),
            h("h3", {}, "Expressions"),
            h(
              "p",
              {},
              "○ logical, □ physical, ★ best for a goal. A cost with + is the operator's own; without, with its inputs.",
            ),
            h("h3", {}, "Time line"),
            h(
              "p",
              {},
              "Click to go to an event, drag to look closer, double click for the whole search. Marks are taller where more fall together.",
            ),
          ),
        ),
        button("Close (Esc)", () => this.close(), {}, "close"),
      )
    );
  }

  get isOpen() {
    return this.element.open;
  }

  open() {
    this.element.showModal();
    this.element.scrollTop = 0; // where the button is that has the focus, in a small window, is the end
  }

  close() {
    this.element.close();
  }
}
