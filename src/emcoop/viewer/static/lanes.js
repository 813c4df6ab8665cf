// The lanes: per agent its stages and plans over time, messages between them, and the tasks' constraints below.
// Drawn once per stretch of events; the cursor moves over it without drawing anew.

import { h, replace, svg, whenReleased } from "./dom.js";
import { actionText, cut, seconds, STAGES } from "./format.js";
import { drawGains, gainRows } from "./gains.js";
import { makeScale, spansOf } from "./model.js";
import { drawTasks, taskRows } from "./tasks.js";

const TOP = 40;
const LANE = 54;
const BAND = 16;
const LABEL_PX = 6.2;
const PAD = 22;
const ROOM_PX = 12;
const STEP_PX = 4;

/** Fires `moment` (detail: time) and `pick` (detail: event number). */
export class Lanes extends HTMLElement {
  /** @type {HTMLElement} */
  labels;
  /** @type {HTMLElement} */
  cursor;
  /** @type {HTMLElement} */
  drawing;
  /** @type {HTMLElement} */
  inner;
  /** @type {HTMLElement} */
  scroller;
  /** @type {ResizeObserver} */
  sizes;
  /** @type {Model} */
  model;
  /** @type {Axis} */
  axis;
  /** @type {number} */
  zoom;
  /** @type {number | null} */
  selected;
  /** @type {number | null | undefined} the event that is marked in the drawing */
  shown;
  /** @type {{left: number, width: number}} the part that is seen; asking the browser each time would cost a layout */
  seen = { left: 0, width: 0 };
  /** @type {Scale} */
  scale;
  /** @type {number | undefined} */
  now;
  /** @type {number} */
  width;
  /** @type {number} */
  dot;
  /** @type {Sign[]} */
  signs = [];
  /** @type {SVGElement} */
  tasks;
  /** @type {HTMLElement} */
  taskLabels;
  /** @type {number} */
  tasksTop;
  /** @type {number | undefined} */
  standing;

  connectedCallback() {
    if (this.inner) return;
    this.labels = h("div", { class: "labels" });
    this.cursor = h("div", { class: "cursor", "aria-hidden": "true" });
    this.drawing = h("div", { class: "drawing" });
    this.inner = h("div", { class: "inner" }, this.drawing, this.cursor);
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": "Lanes; scroll sideways when enlarged" }, this.inner);
    replace(this, this.labels, this.scroller);
    this.scroller.addEventListener("scroll", () => this.scrolled());
    this.inner.addEventListener("pointerdown", (event) => this.press(event));
    this.sizes = new ResizeObserver(() => whenReleased(() => this.model && this.draw()));
    this.sizes.observe(this);
  }

  disconnectedCallback() {
    clearTimeout(this.standing);
    this.sizes.disconnect();
  }

  /**
   * Show a stretch on an axis ("time" or "steps"), enlarged `zoom` times, with an event selected.
   * @param {Model} model
   * @param {{axis: Axis, zoom: number, selected: number | null}} how
   */
  show(model, { axis, zoom, selected }) {
    Object.assign(this, { model, axis, zoom, selected });
    this.scale = makeScale(model, axis);
    this.draw();
  }

  /**
   * The places that are marked, wherever they lie.
   * @param {Sign[]} signs
   */
  mark(signs) {
    this.signs = signs;
    if (this.model) this.draw();
  }

  /**
   * The enlargement, a power of two, at which the decisions of a stretch do not lie on top of each other.
   * @param {Model} model
   */
  roomy(model) {
    const wide = Math.max(200, this.scroller.clientWidth);
    return Math.min(8, 2 ** Math.max(0, Math.ceil(Math.log2((mostDecisions(model) * ROOM_PX) / wide))));
  }

  /**
   * Mark another event without drawing anew.
   * @param {number | null} seq
   */
  select(seq) {
    if (seq === this.shown) return;
    this.shown = this.selected = seq;
    for (const element of /** @type {NodeListOf<SVGElement>} */ (this.drawing.querySelectorAll("[data-seq]"))) {
      element.classList.toggle("selected", Number(element.dataset.seq) === seq);
    }
  }

  /**
   * Put the cursor at a time.
   * @param {number} time
   */
  moveTo(time) {
    this.now = time;
    if (!this.scale) return;
    const x = this.x(time);
    this.cursor.style.transform = `translateX(${x}px)`;
    const { left, width } = this.seen;
    if (this.zoom > 1 && (x < left + 20 || x > left + width - 20)) this.scroller.scrollLeft = this.seen.left = Math.min(Math.max(0, x - width / 2), this.width - width);
  }

  /** @param {number} time */
  x(time) {
    return PAD + this.scale.place(time) * (this.width - 2 * PAD);
  }

  draw() {
    const { model } = this;
    this.seen = { left: this.scroller.scrollLeft, width: this.scroller.clientWidth };
    this.width = Math.max(200, this.seen.width * this.zoom);
    this.dot = Math.min(4.5, Math.max(1.6, (0.4 * this.width) / mostDecisions(model)));
    const lanesEnd = TOP + model.team.length * LANE;
    const gains = gainRows(model);
    this.tasksTop = lanesEnd + gains.height;
    const height = this.tasksTop + taskRows(model, model.start, model.end).height + 8;
    /** @type {ToX} */
    const x = (time) => this.x(time);
    const root = svg("svg", { width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, role: "group", "aria-label": "Lanes of the agents" },
      defs(),
      this.rulers(x, height),
      model.team.map((agent, index) => this.lane(agent, TOP + index * LANE, x)),
      this.messages(x),
      this.decisions(x),
      drawGains(gains, lanesEnd, x, this.width, (...parts) => this.button(...parts)),
      (this.tasks = svg("g", {})),
      this.signs.filter(({ time }) => time >= model.start && time <= model.end).map((sign) => signLine(sign, x(sign.time), height)));
    replace(this.drawing, root);
    this.inner.style.width = `${this.width}px`;
    this.cursor.style.height = `${height}px`;
    replace(this.labels, h("div", { class: "ruler-label" }, h("span", {}, "time"), h("span", {}, "steps")),
      model.team.map((agent) => h("div", { class: "lane-label", "data-tip": agent }, agent)), gains.labels(), (this.taskLabels = h("div", {})));
    this.seen.left = this.scroller.scrollLeft; // the browser may have moved it, since the width is another
    this.drawTasks();
    this.shown = undefined;
    this.select(this.selected);
    this.moveTo(this.now ?? model.start);
  }

  /** The tasks of the part that is seen; anew when another part is. */
  drawTasks() {
    const { left, width } = this.seen;
    const inner = this.width - 2 * PAD;
    const [from, to] = [left - PAD, left + width - PAD].map((at) => this.scale.time(Math.min(1, Math.max(0, at / inner))));
    const rows = taskRows(this.model, from, to);
    replace(this.tasks, drawTasks(rows, this.tasksTop, (time) => this.x(time), left));
    replace(this.taskLabels, rows.labels());
  }

  /** Called while the lanes are scrolled; draws the tasks when they stand still. */
  scrolled() {
    this.seen.left = this.scroller.scrollLeft;
    clearTimeout(this.standing);
    this.standing = setTimeout(() => this.model && this.drawTasks(), 100);
  }

  /**
   * @param {ToX} x
   * @param {number} height
   */
  rulers(x, height) {
    const { model } = this;
    const group = svg("g", { class: "rulers", "aria-hidden": "true" });
    const wanted = Math.max(2, this.width / 90);
    const span = model.end - model.start;
    const gap = niceGap(span / wanted);
    let free = -1;
    for (let time = Math.ceil(model.start / gap) * gap; time <= model.end && gap > 0; time += gap) {
      if (x(time) < free) continue;
      group.append(svg("line", { class: "tick", x1: x(time), x2: x(time), y1: 14, y2: 19 }), svg("text", { x: x(time), y: 11 }, seconds(time)));
      free = x(time) + 52;
    }
    free = -1;
    let line = -STEP_PX;
    for (const { step, time } of model.steps) {
      if (x(time) - line >= STEP_PX) {
        line = x(time);
        group.append(svg("line", { class: "step", x1: line, x2: line, y1: 20, y2: height }));
      }
      if (x(time) < free) continue;
      group.append(svg("text", { x: x(time), y: 31 }, String(step)));
      free = x(time) + 8 + LABEL_PX * (String(step).length + 1);
    }
    return group;
  }

  /**
   * @param {string} agent
   * @param {number} y
   * @param {ToX} x
   */
  lane(agent, y, x) {
    const { model } = this;
    const top = y + 4;
    const parts = [svg("line", { class: "rail", x1: 0, x2: this.width, y1: y + LANE - 1, y2: y + LANE - 1 })];
    const dots = model.decisions.filter((found) => found.agent === agent).map((found) => x(found.time));
    for (const span of spansOf(model.stages, agent)) parts.push(stageBar(span, x, top, dots, this.dot));
    for (const plan of spansOf(model.plans, agent)) parts.push(this.planBar(plan, agent, x, top + BAND + 4));
    for (const mark of model.marks.filter((found) => found.agent === agent)) {
      const title = mark.kind === "plan_rejected" ? `plan rejected: ${mark.payload.failure?.message ?? ""}` : mark.kind.replace("_", " ");
      parts.push(this.button(mark.seq, `${agent}: ${title}`, "mark", svg("path", { d: `M${x(mark.time)} ${top + BAND - 1}l4 7h-8z` })));
    }
    return svg("g", { "aria-label": agent, role: "group" }, parts);
  }

  /**
   * The dots of decisions lie above everything, so that an arrow that leaves one does not cover it.
   * @param {ToX} x
   */
  decisions(x) {
    const { model } = this;
    return model.decisions.map((decision) => {
      const used = (decision.usage?.input_tokens ?? 0) + (decision.usage?.output_tokens ?? 0);
      const title = `${decision.agent} decided (${decision.faculty}) at ${seconds(decision.time)}${used ? `, ${used} tokens` : ""}`;
      const cy = TOP + model.team.indexOf(decision.agent) * LANE + 4 + BAND / 2;
      return this.button(decision.seq, title, `decision ${decision.faculty}`, svg("circle", { cx: x(decision.time), cy, r: this.dot, "stroke-width": this.dot < 3 ? 0.8 : 1.5 }));
    });
  }

  /**
   * @param {PlanSpan} plan
   * @param {string} agent
   * @param {ToX} x
   * @param {number} y
   */
  planBar(plan, agent, x, y) {
    const width = Math.max(2, x(plan.to) - x(plan.from) - 1);
    const words = plan.plan ? `${plan.plan.task === "none" ? "" : `${plan.plan.task} `}${(plan.plan.actions ?? []).map(actionText).join(" → ")}` : "plan from earlier";
    const end = plan.outcome ?? "going on";
    const label = cut(words, Math.floor((width - 8) / LABEL_PX));
    const title = `${agent}: plan ${plan.id}, ${plan.origin ?? "earlier"}, ${end}: ${words}`;
    return this.button(plan.seq, title, `plan ${plan.origin ?? ""} ended-${plan.outcome ?? "open"}`,
      svg("rect", { x: x(plan.from), y, width, height: 17, rx: 3 }),
      plan.resumed.map((time) => svg("path", { class: "resumed", d: `M${x(time)} ${y + 3}l6 5.5l-6 5.5z` })),
      plan.outcome === "failed" && width > 12 ? svg("path", { class: "cross", d: `M${x(plan.to) - 9} ${y + 5}l6 7m0 -7l-6 7` }) : null,
      label.length > 3 ? svg("svg", { x: x(plan.from), y, width: width - 2, height: 17 }, svg("text", { x: 5, y: 12.5 }, label)) : null);
  }

  /** @param {ToX} x */
  messages(x) {
    const { model } = this;
    /** @type {(agent: string) => number} */
    const middle = (agent) => TOP + model.team.indexOf(agent) * LANE + 4 + BAND / 2;
    const parts = [];
    for (const message of model.messages) {
      for (const to of message.to.filter((name) => model.team.includes(name))) {
        const lost = message.lost.includes(to);
        const start = [x(message.time), middle(message.from)];
        const end = [x(message.arrived.get(to) ?? message.time), middle(to)];
        const bend = end[0] - start[0] < 12 ? 10 : 0;
        const path = `M${start[0]} ${start[1]}Q${(start[0] + end[0]) / 2 + bend} ${(start[1] + end[1]) / 2} ${end[0]} ${end[1] + (end[1] > start[1] ? -7 : 7)}`;
        parts.push(this.button(message.seq, `${message.from} to ${to}${lost ? " (lost)" : ""}: ${cut(message.content, 300)}`, `message${lost ? " lost" : ""}`,
          svg("path", { class: "reach", d: path }), svg("path", { class: "arrow", d: path, "marker-end": "url(#head)" })));
      }
    }
    return svg("g", { class: "messages" }, parts);
  }

  /**
   * A part of the drawing that stands for an event: says what it is, and opens it.
   * @param {number} seq
   * @param {string} title
   * @param {string} kind
   * @param {...any} shapes
   */
  button(seq, title, kind, ...shapes) {
    const element = svg("g", { class: `${kind} event`, "data-seq": seq, "data-tip": title, role: "button", tabindex: "-1", "aria-label": title }, shapes);
    element.addEventListener("click", () => this.dispatchEvent(new CustomEvent("pick", { detail: seq, bubbles: true })));
    return element;
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0 || /** @type {Element} */ (event.target).closest(".event")) return;
    event.preventDefault();
    /** @type {(at: PointerEvent) => void} */
    const move = (at) => {
      const share = (at.clientX - this.inner.getBoundingClientRect().left - PAD) / (this.width - 2 * PAD);
      const detail = Math.round(this.scale.time(Math.min(1, Math.max(0, share))));
      this.dispatchEvent(new CustomEvent("moment", { detail, bubbles: true }));
    };
    const end = () => {
      this.inner.removeEventListener("pointermove", move);
      this.inner.removeEventListener("pointerup", end);
    };
    move(event);
    this.inner.setPointerCapture(event.pointerId);
    this.inner.addEventListener("pointermove", move);
    this.inner.addEventListener("pointerup", end);
  }
}

/**
 * A stage with its letter, unless a decision's dot would cover it.
 * @param {StageSpan} span
 * @param {ToX} x
 * @param {number} y
 * @param {number[]} dots
 * @param {number} radius
 */
function stageBar(span, x, y, dots, radius) {
  const width = Math.max(0.5, x(span.to) - x(span.from));
  const known = STAGES[span.stage] ?? { name: span.stage, class: "stage-other" };
  const lettered = width > 16 && span.stage !== "W" && !dots.some((dot) => Math.abs(dot - x(span.from) - 8) < 5 + radius);
  const height = span.stage === "W" ? BAND / 2 : BAND;
  return svg("g", { class: `stage ${known.class}`, "data-tip": `${known.name}, ${seconds(span.from)} to ${seconds(span.to)}` },
    svg("rect", { x: x(span.from), y: y + (BAND - height) / 2, width, height }),
    lettered ? svg("text", { x: x(span.from) + 8, y: y + BAND / 2 + 4 }, span.stage) : null);
}

function defs() {
  return svg("defs", {}, svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("path", { d: "M0 0L8 4L0 8z" })));
}

/** @param {Model} model */
function mostDecisions(model) {
  return Math.max(1, ...model.team.map((agent) => model.decisions.filter((found) => found.agent === agent).length));
}

/**
 * @param {Sign} sign
 * @param {number} x
 * @param {number} height
 */
function signLine({ kind, text }, x, height) {
  return svg("g", { class: `sign-line ${kind}`, "data-tip": text, role: "img", "aria-label": text },
    svg("line", { class: "reach", x1: x, x2: x, y1: 20, y2: height }), svg("line", { x1: x, x2: x, y1: 20, y2: height }), svg("path", { d: `M${x - 5} 14h10l-5 8z` }));
}

/** @param {number} least */
function niceGap(least) {
  if (!(least > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((gap) => gap >= least) ?? 10 * power;
}

customElements.define("em-lanes", Lanes);
