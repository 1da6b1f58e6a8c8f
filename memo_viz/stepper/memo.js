// The memo as a picture. Every group has its place from the start (memo_viz/stepper/layout.py), so nothing moves while the search
// goes on: groups appear, fill and change colour where they are.

import { button, h, put, s, shorten } from "./dom.js";
import { count, figure, many, rounded } from "./figures.js";
import { canonical, goalAt, planGoals, wonBy } from "./model.js";
import { mainGoal, signShape, statusOf, statusWord } from "./signs.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./model.js").Group} Group
 * @typedef {{x: number, y: number, width: number, height: number, title: string[], rows: number[], more: boolean}} Box
 */

const [TITLE_LINE, ROW, PADDING] = [15, 15, 9]; // as in layout.py
const [SMALLEST, READABLE, LARGEST] = [0.08, 0.62, 3]; // scales

export class MemoView {
  /** @param {App} app @param {{boxes: Record<string, any[]>, alias: Record<string, number>}} layout */
  constructor(app, layout) {
    this.app = app;
    this.alias = layout.alias;
    /** @type {Map<number, Box>} */
    this.boxes = new Map();
    for (const [id, [x, y, width, height, title, rows, more]] of Object.entries(layout.boxes)) {
      this.boxes.set(Number(id), { x, y, width, height, title, rows, more });
    }
    this.bounds = this.extent([...this.boxes.values()]);
    this.scale = 1;
    this.left = this.top = 0;
    this.fitted = false;
    this.follow = true;
    this.folded = false;
    this.near = false;
    /** @type {Set<number>} places of groups that differ from `folded`: one by one, the user wanted them so */
    this.turned = new Set();
    /** @type {number | null} the place that Tab leads to */
    this.stop = null;
    /** @type {Map<number, {element: SVGElement, drawn: string}>} */
    this.cards = new Map();
    this.edges = s("g", { class: "edges" });
    this.front = s("g", { class: "edges" });
    const cards = s("g", { class: "cards" });
    for (const [id, box] of this.boxes) {
      const element = s("g", {
        class: "card absent",
        transform: `translate(${box.x - box.width / 2} ${box.y})`,
        "data-group": id,
        role: "button",
        tabindex: -1,
      });
      element.addEventListener("click", () => this.moved || app.select(this.standing(id)));
      element.addEventListener("dblclick", () => this.turn(id));
      element.addEventListener("focus", () => this.focused(id));
      this.cards.set(id, { element, drawn: "" });
      cards.append(element);
    }
    this.camera = s("g", { class: "camera" }, this.edges, cards, this.front);
    this.picture = /** @type {SVGSVGElement} */ (
      s("svg", { class: "memo-picture", role: "group", "aria-label": "The memo: groups and the plans between them" }, this.camera)
    );
    this.status = h("p", { class: "legend" });
    this.buttons = h(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "Picture" },
      button("Closer (+)", () => this.zoom(1.25), {}, "+"),
      button("Farther (−)", () => this.zoom(0.8), {}, "−"),
      button("The whole memo (0)", () => this.fit(), {}, "all"),
      (this.followButton = button("Keep the event in view", () => this.toggle("follow"), {}, "follow")),
      (this.foldButton = button("Fold: names only (x)", () => this.toggle("folded"), {}, "fold")),
      (this.nearButton = button("Only what is next to the selected group (.)", () => this.toggle("near"), {}, "near")),
    );
    this.element = h("div", { class: "memo" }, this.picture);
    this.listen();
  }

  /** The group that has the place `id` at this event: before a set of relations has a group, the set.
   * @param {number} id */
  standing(id) {
    const { groups } = this.app.state;
    if (groups.has(id)) return id;
    const set = Object.entries(this.alias).find(([old, to]) => to === id && groups.has(Number(old)));
    return set ? Number(set[0]) : id;
  }

  /** The place of a group.
   * @param {number} id @returns {Box | undefined} */
  place(id) {
    return this.boxes.get(id) ?? this.boxes.get(this.alias[id]);
  }

  /** @param {"follow" | "folded" | "near"} what */
  toggle(what) {
    this[what] = !this[what];
    if (what === "folded") this.turned.clear();
    this.render();
    if (what === "follow") this.keepInView(true);
  }

  render() {
    const { app } = this;
    const { state, focus } = app;
    if (app.view !== "memo") return; // drawn when it is shown
    if (!this.fitted) this.fit(this.app.theme === "projector" ? 1.4 * READABLE : READABLE);
    const plan = planGoals(state, state.root);
    const chosen = new Map(plan.map((id) => /** @type {const} */ ([canonical(state, goalAt(state, id).group), id])));
    const neighbours = this.near && app.selected !== null ? this.neighbours(app.selected) : null;
    for (const [id, card] of this.cards) {
      const group = state.groups.get(this.standing(id));
      const classes = ["card"];
      if (!group) classes.push("absent");
      else if (group.merged_into !== null) classes.push("merged");
      if (id < 0 || (group && group.id < 0)) classes.push("set");
      if (group && chosen.has(group.id)) classes.push("chosen");
      if (group && group.id === app.selected) classes.push("selected");
      if (group && focus && group.id === focus.group) classes.push("focus");
      else if (group && focus?.inputs.includes(group.id)) classes.push("input");
      if (neighbours && !(group && neighbours.has(group.id))) classes.push("away");
      if (this.isFolded(id)) classes.push("folded");
      const goal = group && mainGoal(group.goals.map((each) => goalAt(state, each)));
      if (goal) classes.push(`is-${goal.status}`);
      const text = classes.join(" ");
      if (card.element.getAttribute("class") !== text) card.element.setAttribute("class", text);
      this.draw(id, card, group, plan);
    }
    this.drawEdges(plan, neighbours);
    this.setStop();
    for (const [key, element] of /** @type {const} */ ([
      ["follow", this.followButton],
      ["folded", this.foldButton],
      ["near", this.nearButton],
    ])) {
      element.setAttribute("aria-pressed", String(this[key]));
    }
    this.legend();
    this.keepInView(false);
  }

  /** Fills a card anew when what it says has changed.
   * @param {number} id @param {{element: SVGElement, drawn: string}} card @param {Group | undefined} group
   * @param {number[]} plan */
  draw(id, card, group, plan) {
    const box = /** @type {Box} */ (this.boxes.get(id));
    const { app } = this;
    const { state, focus } = app;
    const goals = group ? group.goals.map((goal) => goalAt(state, goal)) : [];
    const inPlan = new Set(goals.filter((goal) => plan.includes(goal.id)).map((goal) => goal.best?.mexpr ?? null));
    const main = mainGoal(goals);
    const figures = group ? this.figures(group, main) : "";
    const members = group ? new Set([...group.logical, ...group.physical]) : new Set();
    const later = [...members].filter((mexpr) => !box.rows.includes(mexpr));
    const shown = [...box.rows.filter((mexpr) => members.has(mexpr)), ...later].slice(0, box.rows.length).sort((a, b) => a - b);
    const hidden = members.size - shown.length;
    const rows = shown.map((mexpr) => {
      const known = /** @type {import("./model.js").MExpr} */ (state.mexprs.get(mexpr));
      const goal = wonBy(goals, mexpr, plan);
      const kind = inPlan.has(mexpr)
        ? "chosen"
        : goal
          ? "best"
          : known.logical
            ? "logical"
            : known.local_cost === null
              ? "idle"
              : "physical";
      const cost = goal?.best ? rounded(goal.best.cost) : known.local_cost === null ? "" : `+${rounded(known.local_cost)}`;
      return {
        mexpr,
        kind: focus?.mexpr === mexpr || app.event?.new?.includes?.(mexpr) ? `${kind} event` : kind,
        op: known.op.replaceAll("_", " "),
        cost,
      };
    });
    const signs = goals.slice(0, 3).map(statusOf);
    const said = this.describe(id, group, goals);
    const drawn = JSON.stringify([figures, rows, hidden, signs, group?.id, said, this.isFolded(id)]);
    if (drawn === card.drawn) return;
    card.drawn = drawn;
    const y0 = box.title.length * TITLE_LINE + PADDING / 2;
    const height = group ? this.height(id, box) : y0 + PADDING;
    card.element.setAttribute("aria-label", said);
    const lines = box.title.map((line, i) => s("text", { class: "name", x: PADDING, y: (i + 1) * TITLE_LINE - 1 }, line));
    put(
      card.element,
      s("title", {}, said),
      s("rect", { class: "body", width: box.width, height, rx: group && group.id >= 0 ? 5 : 9 }),
      lines,
      group && s("text", { class: "figures", x: PADDING, y: y0 + 10 }, figures),
      signs.map((status, i) => s("g", { transform: `translate(${box.width - 17 - 14 * i} 5)` }, signShape(status))),
      rows.map((row, i) => this.row(row, box, y0 + 16 + i * ROW)),
      box.more && hidden > 0 && s("text", { class: "figures", x: PADDING, y: y0 + 27 + rows.length * ROW }, `and ${hidden} more`),
    );
    narrow(/** @type {SVGTextElement} */ (lines[0]), box.width - PADDING - 14 * signs.length - 5);
  }

  /** @param {{kind: string, op: string, cost: string}} row @param {Box} box @param {number} y */
  row(row, box, y) {
    const space = Math.floor((box.width - 2 * PADDING - 16 - 6.4 * row.cost.length) / 6.3);
    return s(
      "g",
      { class: `row ${row.kind}`, transform: `translate(0 ${y})` },
      s("rect", { class: "stripe", x: 1, width: box.width - 2, height: ROW }),
      s("path", { class: "mark", d: MARK[row.kind.split(" ")[0]], transform: `translate(${PADDING} 4)` }),
      s("text", { x: PADDING + 12, y: 11 }, shorten(row.op, space)),
      s("text", { class: "cost", x: box.width - PADDING, y: 11 }, row.cost),
    );
  }

  /** @param {Group} group @param {import("./model.js").Goal | undefined} goal */
  figures(group, goal) {
    const rows = many(rounded(group.rows), "row");
    if (group.merged_into !== null) return "merged";
    if (group.id >= 0) return rows;
    return goal?.best ? `${rounded(goal.best.cost)}` : `≥ ${rounded(Math.max(goal?.lower ?? 0, group.lower))}`;
  }

  /** @param {number} id @param {Group | undefined} group @param {import("./model.js").Goal[]} goals */
  describe(id, group, goals) {
    const name = this.app.names.group(id);
    if (!group) return `${name}: not in the memo yet`;
    const said = goals.map(
      (goal) =>
        `${this.app.names.traits(goal.traits)}: ${statusWord(goal)}` + (goal.best ? `, best plan ${figure(goal.best.cost)}` : ""),
    );
    const rows = many(figure(group.rows), "row");
    return [`${name} · about ${rows} · no plan costs less than ${figure(group.lower)}`, ...said].join("\n");
  }

  /** @param {number} id */
  neighbours(id) {
    const { state } = this.app;
    const near = new Set([id]);
    for (const mexpr of state.mexprs.values()) {
      const home = canonical(state, mexpr.group);
      const inputs = mexpr.inputs.map((input) => canonical(state, input));
      if (home === id) inputs.forEach((input) => near.add(input));
      if (inputs.includes(id)) near.add(home);
    }
    return near;
  }

  /** Thin edges for the best plans of goals, thick ones for the plan of the root, those of the event over everything.
   * @param {number[]} plan @param {Set<number> | null} neighbours */
  drawEdges(plan, neighbours) {
    const { state, focus, selected } = this.app;
    /** @type {Map<string, [number, number, string]>} */
    const found = new Map();
    const add = (/** @type {number} */ above, /** @type {number} */ below, /** @type {string} */ kind) => {
      const [a, b] = [canonical(state, above), canonical(state, below)];
      if (a !== b && !(neighbours && !(neighbours.has(a) && neighbours.has(b)))) found.set(`${a} ${b}`, [a, b, kind]);
    };
    const groupOf = (/** @type {number} */ goal) => goalAt(state, goal).group;
    if (this.boxes.size < 60 || selected !== null) {
      for (const mexpr of state.mexprs.values()) {
        const about = selected !== null && (mexpr.group === selected || mexpr.inputs.includes(selected));
        if (about) for (const input of mexpr.inputs) add(mexpr.group, input, "selected");
        else if (this.boxes.size < 60 && mexpr.logical) for (const input of mexpr.inputs) add(mexpr.group, input, "given");
      }
    }
    const best = (/** @type {number} */ id, /** @type {string} */ kind) =>
      state.goals.get(id)?.best?.inputs.forEach((input) => add(groupOf(id), groupOf(input), kind));
    for (const id of state.goals.keys()) best(id, "best");
    for (const id of plan) best(id, "chosen");
    put(
      this.edges,
      [...found.values()].map(([a, b, kind]) => this.edge(a, b, kind)),
    );
    const { group } = focus ?? { group: null };
    const kind = `event ${this.app.event?.kind ?? ""}`;
    put(
      this.front,
      group === null || !focus
        ? []
        : [...new Set(focus.inputs)].filter((input) => input !== group).map((input) => this.edge(group, input, kind)),
    );
  }

  /** @param {number} above @param {number} below @param {string} kind */
  edge(above, below, kind) {
    const [a, b] = [this.place(above), this.place(below)];
    if (!a || !b) return null;
    const up = a.y <= b.y;
    const [y1, y2] = up ? [a.y + this.height(above, a), b.y] : [a.y, b.y + this.height(below, b)];
    const bend = Math.max(14, Math.abs(y2 - y1) / 2) * (up ? 1 : -1);
    return s("path", { class: `edge ${kind}`, d: `M${a.x} ${y1} C${a.x} ${y1 + bend} ${b.x} ${y2 - bend} ${b.x} ${y2}` });
  }

  // -- folds, and the keyboard in the picture --------------------------------------------------------------------------------

  /** @param {number} id @param {Box} box */
  height(id, box) {
    return this.isFolded(id) ? box.title.length * TITLE_LINE + 15 + PADDING : box.height;
  }

  /** Whether only the name of a group is shown.
   * @param {number} id */
  isFolded(id) {
    return this.folded !== this.turned.has(this.alias[id] ?? id);
  }

  /** Folds one group, or unfolds it.
   * @param {number | null} group */
  turn(group) {
    if (group === null) return;
    const id = this.alias[group] ?? group;
    if (!this.turned.delete(id)) this.turned.add(id);
    this.render();
  }

  /** @param {number} id */
  focused(id) {
    this.stop = id;
    this.show(id);
    this.setStop();
  }

  /** Tab leads to one group of the picture, from where arrows lead to the others: the one that was there last, else the one
   * that the panel shows, else the first. */
  setStop() {
    const { shown } = this.app;
    const there = (/** @type {number | null | undefined} */ id) =>
      id !== null && id !== undefined && this.cards.get(id)?.element.classList.contains("absent") === false;
    const inside = document.activeElement?.closest(".card");
    const wanted = [inside ? this.stop : null, shown === null ? null : (this.alias[shown] ?? shown), this.stop];
    this.stop = wanted.find(there) ?? [...this.cards.keys()].find(there) ?? null;
    for (const [id, { element }] of this.cards) {
      const index = id === this.stop ? "0" : "-1";
      if (element.getAttribute("tabindex") !== index) element.setAttribute("tabindex", index);
    }
  }

  /** A key while a group of the picture has the focus. Returns whether it was of use.
   * @param {string} key */
  key(key) {
    const id = Number(document.activeElement?.closest(".card")?.getAttribute("data-group") ?? NaN);
    const here = this.boxes.get(id);
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key];
    if (!here || !(way || key === "Enter" || key === " ")) return false;
    if (!way) this.app.select(this.standing(id));
    else this.cards.get(this.beside(id, here, way[0], way[1]))?.element.focus();
    return true;
  }

  /** The group that lies nearest in a direction; the same one where none does.
   * @param {number} id @param {Box} here @param {number} right @param {number} down */
  beside(id, here, right, down) {
    let [nearest, least] = [id, Infinity];
    for (const [other, box] of this.boxes) {
      if (this.cards.get(other)?.element.classList.contains("absent")) continue;
      const [x, y] = [box.x - here.x, box.y - here.y];
      const [along, across] = right ? [x * right, Math.abs(y)] : [y * down, Math.abs(x)];
      const far = along + 3 * across;
      if (along > 1 && far < least) [nearest, least] = [other, far];
    }
    return nearest;
  }

  legend() {
    const { state } = this.app;
    const live = [...state.groups.values()].filter((group) => group.merged_into === null);
    const sets = live.filter((group) => group.id < 0).length;
    const expressions = [...state.mexprs.keys()].filter((id) => id >= 0).length;
    const groups = many(count(live.length - sets), "group");
    const text = `${groups}, ${many(count(sets), "set")} of relations, ${many(count(expressions), "expression")}`;
    if (this.status.textContent !== text) put(this.status, text);
  }

  // -- the camera ----------------------------------------------------------------------------------------------------------

  /** @param {Box[]} boxes */
  extent(boxes) {
    const left = Math.min(...boxes.map((box) => box.x - box.width / 2), 0);
    const right = Math.max(...boxes.map((box) => box.x + box.width / 2), 1);
    const top = Math.min(...boxes.map((box) => box.y), 0);
    const bottom = Math.max(...boxes.map((box) => box.y + box.height), 1);
    return { left, right, top, bottom };
  }

  /** Of the picture, in pixels. Kept, since to ask the browser after each change is slow. */
  size() {
    const { clientWidth, clientHeight } = this.known ?? this.picture;
    return { width: clientWidth || 600, height: clientHeight || 400 };
  }

  /** The whole memo; at first no farther than its names can be read, from its top where that is too near for all of it.
   * @param {number} [least] */
  fit(least = SMALLEST) {
    this.fitted = this.app.view === "memo"; // else it has no size yet
    const { left, right, top, bottom } = this.bounds;
    const { width, height } = this.size();
    this.scale = Math.min(1.25, Math.max(least, Math.min((width - 40) / (right - left), (height - 32) / (bottom - top))));
    this.left = (left + right) / 2 - width / this.scale / 2;
    this.top = Math.min(top - 16 / this.scale, (top + bottom) / 2 - height / this.scale / 2);
    this.aim();
  }

  /** @param {number} factor @param {number} [x] @param {number} [y] what stays where it is, in pixels; the middle */
  zoom(factor, x, y) {
    const { width, height } = this.size();
    const [px, py] = [x ?? width / 2, y ?? height / 2];
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    this.left += px / this.scale - px / scale;
    this.top += py / this.scale - py / scale;
    this.scale = scale;
    this.aim();
  }

  aim() {
    this.camera.style.transform = `scale(${this.scale}) translate(${-this.left}px, ${-this.top}px)`;
    this.element.classList.toggle("far", this.scale < 0.45);
  }

  /** Moves the picture, as little as it takes, until the group of the event can be seen.
   * @param {boolean} always even where nothing follows the event */
  keepInView(always) {
    const { focus } = this.app;
    const box = focus?.group === null || !focus ? undefined : this.place(focus.group);
    if (box && (this.follow || always)) this.bring(box);
  }

  /** @param {Box} box */
  bring(box) {
    const { width, height } = this.size();
    const margin = 24 / this.scale;
    const [w, h_] = [width / this.scale, height / this.scale];
    const inside = (
      /** @type {number} */ from,
      /** @type {number} */ to,
      /** @type {number} */ start,
      /** @type {number} */ length,
    ) => (from - margin < start ? from - margin : to + margin > start + length ? to + margin - length : start);
    this.left = inside(box.x - box.width / 2, box.x + box.width / 2, this.left, w);
    this.top = inside(box.y, box.y + box.height, this.top, h_);
    this.aim();
  }

  /** Brings a group into view.
   * @param {number} id */
  show(id) {
    const box = this.place(id);
    if (box) this.bring(box);
  }

  listen() {
    const { picture } = this;
    new ResizeObserver(() => {
      const { clientWidth, clientHeight } = picture;
      if (clientWidth) this.known = { clientWidth, clientHeight };
    }).observe(picture);
    this.moved = false;
    picture.addEventListener("mousedown", (event) => {
      event.preventDefault(); // a click selects, and leaves the arrow keys to the steps
      if (document.activeElement instanceof HTMLElement || document.activeElement instanceof SVGElement)
        document.activeElement.blur();
    });
    picture.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const { left, top } = picture.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - left, event.clientY - top);
      },
      { passive: false },
    );
    picture.addEventListener("pointerdown", (start) => {
      if (start.button !== 0) return;
      this.moved = false;
      let [x, y] = [start.clientX, start.clientY];
      const move = (/** @type {PointerEvent} */ event) => {
        if (!this.moved && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < 4) return;
        this.moved = true;
        this.element.classList.add("dragged");
        this.left -= (event.clientX - x) / this.scale;
        this.top -= (event.clientY - y) / this.scale;
        [x, y] = [event.clientX, event.clientY];
        this.aim();
      };
      const stop = () => {
        this.element.classList.remove("dragged");
        window.removeEventListener("pointermove", move);
        window.removeEventListener("pointerup", stop);
        setTimeout(() => (this.moved = false));
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", stop);
    });
  }
}

/** Shortens a text until it is no wider than what the signs beside it leave: how wide it is depends on the fonts of a machine.
 * @param {SVGTextElement} text @param {number} space */
function narrow(text, space) {
  const whole = text.textContent ?? "";
  for (let length = whole.length - 1; length > 1 && text.getComputedTextLength() > space; length--)
    put(text, shorten(whole, length));
}

/** Marks before expressions: a ring for logical ones, a square for physical ones, a star for what is best. */
const MARK = /** @type {Record<string, string>} */ ({
  logical: "M4 .8a3.2 3.2 0 1 0 0 6.4a3.2 3.2 0 1 0 0-6.4z",
  physical: "M1 1h6v6h-6z",
  idle: "M1 1h6v6h-6z",
  best: "M4 .2l1.1 2.5 2.7.3-2 1.9.5 2.7L4 6.3 1.7 7.6l.5-2.7-2-1.9 2.7-.3z",
  chosen: "M4 .2l1.1 2.5 2.7.3-2 1.9.5 2.7L4 6.3 1.7 7.6l.5-2.7-2-1.9 2.7-.3z",
});
