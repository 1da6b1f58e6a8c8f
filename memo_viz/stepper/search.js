// One box that finds groups, expressions and rules by any words of theirs, and events by number.

import { h, put, shorten } from "./dom.js";
import { count, many } from "./figures.js";

/** @typedef {import("./app.js").App} App @typedef {{title: string, kind: string, text: string, go: () => void}} Found */

const SHOWN = 12;
const NUMBER = / \((g|goal )\d+\)$/; // of a name that two groups have
const UNASKED = "no goal asked for it: larger sets that hold it were cut first, such as the next one";

export class SearchBox {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.input = /** @type {HTMLInputElement} */ (
      h("input", {
        type: "text",
        role: "combobox",
        placeholder: "find a group, table, operator, rule, event",
        "aria-label": "Find a group, table, operator, rule or event number",
        "aria-expanded": "false",
        "aria-controls": "found",
        "aria-autocomplete": "list",
        autocomplete: "off",
        spellcheck: "false",
        input: () => this.list(),
        keydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
        focus: () => this.list(),
        blur: () => setTimeout(() => this.close(), 150),
      })
    );
    this.results = h("ul", { class: "found", id: "found", role: "listbox", "aria-label": "Found", hidden: true });
    this.element = h("div", { class: "search", role: "search" }, this.input, this.results);
    /** @type {Found[]} */
    this.found = [];
    this.active = 0;
    /** @type {Found[] | null} */
    this.all = null;
  }

  /** @param {string} [text] */
  open(text = "") {
    this.input.value = text;
    this.input.focus();
    this.input.select();
    this.list();
  }

  close() {
    this.results.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  /** @returns {Found[]} */
  everything() {
    const { app } = this;
    const { events } = app.history;
    const groups = [...app.groupIds].map((id) => {
      const name = app.names.group(id);
      return {
        title: name,
        kind: id >= 0 ? `group G${id}` : "set of relations",
        text: this.whole(id) + (id >= 0 ? ` g${id}` : ""),
        go: () => app.select(id, true),
      };
    });
    const mexprs = events
      .filter((event) => event.kind === "mexpr" && !event.duplicate)
      .map((event) => ({
        title: `${event.op.replaceAll("_", " ")} ${app.names.text(event.detail)}`,
        kind: `m${event.id} in ${app.names.group(event.group)}`,
        text: `${event.op} ${event.op.replaceAll("_", " ")} ${event.detail} m${event.id} ${event.rule ?? ""}`.toLowerCase(),
        go: () => app.selectMExpr(event.id),
      }));
    /** @type {Map<string, number>} */
    const rules = new Map();
    for (const event of events)
      if (event.rule && (event.kind === "fire" || event.kind === "rewrite"))
        rules.set(event.rule, (rules.get(event.rule) ?? 0) + 1);
    const fired = [...rules].map(([rule, times]) => ({
      title: rule,
      kind: `rule, fired ${many(count(times), "time")}`,
      text: `${rule} ${rule.replaceAll("_", " ")} rule`.toLowerCase(),
      go: () => app.nextFiring(rule),
    }));
    return [...groups, ...fired, ...mexprs];
  }

  list() {
    const { app } = this;
    const words = wordsOf(this.input.value.toLowerCase());
    this.all ??= this.everything();
    /** @type {Found[]} */
    const events = [];
    const number = /^#?(\d+)$/.exec(this.input.value.trim());
    if (number && app.history.at(Number(number[1])) >= 0) {
      const seq = Number(number[1]);
      events.push({
        title: `event ${count(seq)}`,
        kind: app.history.events[app.history.at(seq)].kind.replaceAll("_", " "),
        text: "",
        go: () => app.goTo(seq),
      });
    }
    const fits = words.length ? this.all.filter(({ text }) => words.every((word) => text.includes(word))) : [];
    fits.sort((a, b) => Number(a.kind.startsWith("m")) - Number(b.kind.startsWith("m")) || a.title.length - b.title.length);
    const unasked = fits.length && this.isUnasked(words) ? [{ ...fits[0], title: `{${words.join(", ")}}`, kind: UNASKED }] : [];
    this.found = [...events, ...unasked, ...fits].slice(0, SHOWN);
    this.active = 0;
    const more = events.length + unasked.length + fits.length - this.found.length;
    const none = this.input.value.trim() && !this.found.length;
    put(
      this.results,
      this.found.map((each, i) => this.option(each, i)),
      none &&
        h(
          "li",
          { class: "quiet", role: "option", "aria-disabled": "true", "aria-selected": "false" },
          number ? "no event of that number on this page" : "nothing of that name in this search",
        ),
      more > 0 &&
        h("li", { class: "quiet", role: "option", "aria-disabled": "true", "aria-selected": "false" }, `and ${count(more)} more`),
    );
    this.results.hidden = !this.found.length && !none;
    this.input.setAttribute("aria-expanded", String(!this.results.hidden));
    this.mark();
  }

  /** The name of a group as it is compared with words: however long, in lower case.
   * @param {number} id */
  whole(id) {
    const { names } = this.app;
    return (names.data.whole[id] ?? names.group(id)).toLowerCase();
  }

  /** Whether words name relations, two or more, whose set no goal asked for.
   * @param {string[]} words */
  isUnasked(words) {
    const names = [...this.app.groupIds].map((id) => this.whole(id));
    const set = [...words].sort().join();
    const isSet = (/** @type {string} */ name) => name.startsWith("{") && wordsOf(name.replace(NUMBER, "")).sort().join() === set;
    return new Set(words).size > 1 && words.every((word) => names.includes(word)) && !names.some(isSet);
  }

  /** @param {Found} each @param {number} i */
  option(each, i) {
    return h(
      "li",
      {
        role: "option",
        id: `found-${i}`,
        pointerdown: (/** @type {Event} */ event) => {
          event.preventDefault();
          this.choose(i);
        },
      },
      h("span", { class: "found-title" }, shorten(each.title, 70)),
      h("span", { class: "quiet" }, each.kind),
    );
  }

  mark() {
    this.found.forEach((_, i) => this.results.children[i].setAttribute("aria-selected", String(i === this.active)));
    if (this.found.length) this.input.setAttribute("aria-activedescendant", `found-${this.active}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  /** @param {number} i */
  choose(i) {
    const found = this.found[i];
    this.input.blur();
    this.close();
    found?.go();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      event.preventDefault();
      this.active = (this.active + step + this.found.length) % this.found.length;
      this.mark();
    } else if (event.key === "Enter") this.choose(this.active);
    else if (event.key === "Escape") {
      this.input.blur();
      this.close();
    }
  }
}

/** The words of a text, without what stands between relations.
 * @param {string} text */
function wordsOf(text) {
  return text.split(/[\s,{}⋈]+/).filter(Boolean);
}
