// The whole search on one line: what the root's best plan cost and what was proven of it, and where things happened.

import { button, h, put, s } from "./dom.js";
import { count, figure } from "./figures.js";
import { goalAt } from "./model.js";
import { mainGoal } from "./signs.js";
import { MARKS } from "./steps.js";

/** @typedef {import("./app.js").App} App */

const [LANE, CHART, AXIS] = [11, 50, 16];
const HEIGHT = AXIS + CHART + LANE * MARKS.length + 8;

export class Timeline {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {number | null} the selected group when this was drawn */
    this.drawnFor = null;
    const last = app.history.events.length;
    this.width = 600; // pixels
    this.from = 0;
    this.to = last;
    this.picture = /** @type {SVGSVGElement} */ (s("svg", { class: "time", height: HEIGHT, "aria-hidden": "true" }));
    this.slider = h(
      "div",
      {
        class: "time-box",
        role: "slider",
        tabindex: 0,
        "aria-label": "Position in the search",
        "aria-valuemin": 0,
        "aria-valuemax": last,
      },
      this.picture,
    );
    this.lanes = MARKS.map((mark) => {
      const all = app.history.events.filter(mark.is).length;
      const title = `Next of the ${mark.name} (${mark.key}; back with ${mark.key.toUpperCase()})`;
      const go = (/** @type {MouseEvent} */ event) => app.jump(mark, event.shiftKey ? -1 : 1);
      return button(title, go, { class: "lane-name", disabled: all === 0 }, `${count(all)} ${mark.name}`);
    });
    this.now = h("div", { class: "root-now" });
    this.whole = button("Show the whole search (double click)", () => this.range(0, last), { class: "whole" }, "whole search");
    this.element = h(
      "footer",
      { class: "timeline", "aria-label": "Time line" },
      h("div", { class: "lane-names" }, (this.chartName = h("div", { class: "chart-name" })), this.lanes),
      this.slider,
      h("div", { class: "time-side" }, this.now, this.whole),
    );
    this.cursor = s("path", { class: "cursor" });
    this.brush = s("rect", { class: "brush", height: HEIGHT - AXIS, y: AXIS, width: 0 });
    this.listen();
    new ResizeObserver(() => {
      this.width = this.slider.clientWidth;
      this.draw();
    }).observe(this.slider);
  }

  /** @param {number} from @param {number} to */
  range(from, to) {
    const last = this.app.history.events.length;
    const least = Math.min(20, last);
    if (to - from < least) [from, to] = [Math.floor((from + to - least) / 2), Math.ceil((from + to + least) / 2)];
    this.from = Math.max(0, Math.min(from, last - least));
    this.to = Math.min(last, Math.max(to, least));
    this.draw();
  }

  /** @param {number} position */
  x(position) {
    return ((position - this.from) / Math.max(1, this.to - this.from)) * (this.width - 2) + 1;
  }

  /** @param {number} x in pixels from the left edge */
  positionAt(x) {
    return Math.round(this.from + ((x - 1) / Math.max(1, this.width - 2)) * (this.to - this.from));
  }

  /** Everything but the cursor: drawn when the range or the width changes. */
  draw() {
    const { width } = this;
    this.drawnFor = this.app.selected;
    put(this.chartName, "plan of the root", this.drawnFor !== null && [h("br", {}), "thin: selected"]);
    this.picture.setAttribute("width", String(width));
    put(
      this.picture,
      this.axis(),
      this.curves(width),
      MARKS.map((mark, i) => this.lane(mark, i, width)),
      this.brush,
      this.cursor,
    );
    this.whole.hidden = this.from === 0 && this.to === this.app.history.events.length;
    this.render();
  }

  /** The parts of the search, by their names. */
  axis() {
    const { history, data } = this.app;
    const { events } = history;
    const first = (/** @type {string} */ kind, /** @type {boolean} */ before) => {
      const found = before ? 0 : events.findIndex((event) => event.kind === kind);
      return found < 0 ? events.length : found;
    };
    const { groups, root } = data.base ?? { groups: [], root: null };
    const ends = [0, first("group", groups.length > 0), first("root", root !== null), events.length];
    const parts = ["rewriting", "exploring", "choosing plans"].map((name, i) => ({ name, from: ends[i], to: ends[i + 1] }));
    return parts
      .filter(({ from, to }) => to > from)
      .map(({ name, from, to }) => {
        const [x1, x2] = [Math.max(0, this.x(from)), Math.min(this.width, this.x(to))];
        if (x2 - x1 < 8) return null;
        return s(
          "g",
          { class: "part" },
          s("path", { d: `M${x1 + 1} ${AXIS - 3}H${x2 - 1}` }),
          x2 - x1 > name.length * 6.5 + 8 && s("text", { x: x1 + 4, y: AXIS - 6 }, name),
        );
      });
  }

  /** Cost of the root's best plan above, its proven bound below, both where they are known; logarithmic where they lie far apart.
   * @param {number} width */
  curves(width) {
    const { best, lower } = this.app.history;
    const [ownBest, ownLower] = this.ofSelected();
    const known = [best, lower, ownBest, ownLower]
      .flatMap((values) => [...values.slice(this.from, this.to)])
      .filter((value) => value > 0);
    if (!known.length)
      return s(
        "text",
        { class: "nothing", x: 8, y: AXIS + CHART / 2 },
        "no plan of the query is known here yet, and no bound above 0",
      );
    let [low, high] = [Math.min(...extremes(known)), Math.max(...extremes(known))];
    const log = high / low > 20;
    const at = (/** @type {number} */ value) => (log ? Math.log(value) : value);
    if (high - low < low * 1e-6) [low, high] = [low * 0.98, high * 1.02];
    const y = (/** @type {number} */ value) =>
      AXIS + 4 + (CHART - 10) * (1 - (at(Math.max(value, low)) - at(low)) / (at(high) - at(low)));
    const path = (/** @type {Float64Array} */ values) => this.steps(values, width, y);
    const curve = (/** @type {string} */ kind, /** @type {Float64Array} */ values) =>
      s("path", { class: `curve ${kind}`, d: path(values) });
    const scale = (/** @type {number} */ value, /** @type {number} */ at) =>
      s("text", { class: "scale", x: 3, y: at }, figure(Math.round(value)));
    return [
      curve("own bound", ownLower),
      curve("own best", ownBest),
      curve("bound", lower),
      curve("best", best),
      scale(high, y(high) + 8),
      high > low && scale(low, y(low)),
    ];
  }

  /** The same two figures for the goal of the selected group that asks for no traits, or for its first.
   * @returns {[Float64Array, Float64Array]} */
  ofSelected() {
    const { state, selected, history } = this.app;
    const goals = (state.groups.get(selected ?? NaN)?.goals ?? []).map((id) => goalAt(state, id));
    const goal = mainGoal(goals);
    const [best, lower] = [new Float64Array(goal ? this.to : 0).fill(NaN), new Float64Array(goal ? this.to : 0).fill(NaN)];
    if (!goal || goal.id === state.root) return [best, lower];
    let [cost, bound] = [NaN, NaN];
    for (let i = 0; i < this.to; i++) {
      const event = history.events[i];
      if (event.goal === goal.id && event.kind === "best") cost = event.cost;
      else if (event.goal === goal.id && "lower" in event && event.kind !== "prune") bound = event.lower;
      else if (event.kind === "recost" && event.goals.includes(goal.id)) cost = NaN;
      [best[i], lower[i]] = [cost, bound];
    }
    return [best, lower];
  }

  /** A line in steps through the known values, at most two points a pixel.
   * @param {Float64Array} values @param {number} width @param {(value: number) => number} y */
  steps(values, width, y) {
    const every = Math.max(1, Math.floor((this.to - this.from) / (2 * width)));
    let path = "";
    let before = NaN;
    for (let i = this.from; i < this.to; i += every) {
      const value = values[i] ?? NaN;
      if (Object.is(value, before)) continue;
      const x = this.x(i + 1).toFixed(1);
      if (!Number.isNaN(before)) path += `H${x}`;
      if (!Number.isNaN(value)) path += `${Number.isNaN(before) ? `M${x} ` : "V"}${y(value).toFixed(1)}`;
      before = value;
    }
    return Number.isNaN(before) ? path : `${path}H${this.x(this.to).toFixed(1)}`;
  }

  /** One mark an event; where several fall together they are one, taller the more there are.
   * @param {typeof MARKS[number]} mark @param {number} lane @param {number} width */
  lane(mark, lane, width) {
    const { events } = this.app.history;
    const wide = Math.max(1.5, Math.min(4, (width / Math.max(1, this.to - this.from)) * 0.7));
    /** @type {Map<number, number>} */
    const bins = new Map();
    for (let i = this.from; i < this.to; i++) {
      if (!mark.is(events[i])) continue;
      const bin = Math.round(this.x(i + 1) / wide);
      bins.set(bin, (bins.get(bin) ?? 0) + 1);
    }
    const y = AXIS + CHART + (lane + 1) * LANE - 1;
    const most = extremes([...bins.values()])[1];
    let marks = "";
    for (const [bin, many] of bins) {
      const tall = (LANE - 3) * (most > 4 ? 0.2 + 0.8 * Math.sqrt(many / most) : 1);
      marks += `M${(bin * wide).toFixed(1)} ${y}v${(-tall).toFixed(1)}`;
    }
    return s(
      "g",
      { class: `lane mark-${lane}` },
      s("path", { class: "lane-line", d: `M0 ${y}H${width}` }),
      marks && s("path", { class: "marks", d: marks, "stroke-width": wide }),
    );
  }

  render() {
    const { position, history, event, state } = this.app;
    if (this.drawnFor !== this.app.selected) return this.draw();
    if (position < this.from || position > this.to) {
      const half = (this.to - this.from) / 2;
      return this.range(Math.floor(position - half), Math.ceil(position + half));
    }
    this.cursor.setAttribute("d", `M${this.x(position).toFixed(1)} ${AXIS - 4}V${HEIGHT}`);
    this.slider.setAttribute("aria-valuenow", String(position));
    this.slider.setAttribute("aria-valuetext", event ? `event ${event.seq}` : "before the first event");
    const root = state.root === null ? undefined : state.goals.get(state.root);
    put(
      this.now,
      h(
        "dl",
        {},
        h("dt", { class: "best" }, "best plan"),
        h("dd", {}, root?.best ? figure(root.best.cost) : "none yet"),
        h("dt", { class: "bound" }, "proven bound"),
        h("dd", {}, root ? figure(root.lower) : "none yet"),
      ),
    );
    for (const [i, mark] of MARKS.entries())
      this.lanes[i].classList.toggle("now", position > 0 && mark.is(history.events[position - 1]));
  }

  listen() {
    const { slider } = this;
    slider.addEventListener("pointerdown", (start) => {
      if (start.button !== 0) return;
      const left = slider.getBoundingClientRect().left;
      const from = start.clientX - left;
      let to = from;
      const move = (/** @type {PointerEvent} */ event) => {
        to = event.clientX - left;
        this.brush.setAttribute("x", String(Math.min(from, to)));
        this.brush.setAttribute("width", String(Math.abs(to - from) > 6 ? Math.abs(to - from) : 0));
      };
      const stop = () => {
        window.removeEventListener("pointermove", move);
        window.removeEventListener("pointerup", stop);
        this.brush.setAttribute("width", "0");
        if (Math.abs(to - from) > 6) this.range(this.positionAt(Math.min(from, to)), this.positionAt(Math.max(from, to)));
        else this.app.seek(this.positionAt(from));
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", stop);
    });
    slider.addEventListener("dblclick", () => this.range(0, this.app.history.events.length));
  }
}

/** The least and the greatest of many values.
 * @param {number[]} values */
function extremes(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
