// Two episodes on one scrubber of environment steps, with the first step at which their worlds differ.

import { h, keepFocus, problem, replace } from "./dom.js";
import { cut, moveText, percent } from "./format.js";
import { Frames } from "./frame.js";
import { legend } from "./legend.js";
import { agentCards } from "./now.js";
import { address, note, place } from "./place.js";
import { outcome } from "./runs.js";
import { source } from "./source.js";
import { Track } from "./track.js";

const AT_ONCE = 500;

class ComparePage extends HTMLElement {
  /** @type {number} */
  step;
  /** @type {Side[]} */
  sides;
  /** @type {Parting | null | undefined} */
  parting;
  /** @type {import("./transport.js").Transport} */
  transport;
  /** @type {HTMLElement} */
  verdict;

  async connectedCallback() {
    const { path, query } = place();
    this.step = Number(query.get("k") ?? 0);
    this.sides = [Number(path[1]), Number(path[2])].map((id) => ({ id, track: new Track(id), frames: new Frames(id), world: h("em-frame"), now: h("div", { class: "now", role: "list", "aria-label": `Agents of episode ${id}` }), lanes: h("em-lanes") }));
    try {
      await Promise.all(this.sides.map((side) => side.track.open(0)));
    } catch (error) {
      replace(this, h("main", { id: "main" }, problem(error)));
      return;
    }
    if (!this.isConnected) return;
    this.build();
    await this.moveTo(this.step);
    try {
      const { start } = this.sides[0].track.meta;
      this.parting = await divergence(this.sides[0].id, this.sides[1].id, start.env?.primitives ?? []);
    } catch (error) {
      replace(this.verdict, problem(error));
      return;
    }
    this.showVerdict();
  }

  disconnectedCallback() {
    for (const side of this.sides) side.frames.close();
  }

  build() {
    document.title = `#${this.sides[0].id} and #${this.sides[1].id} · emcoop`;
    this.transport = h("em-transport", {});
    this.verdict = h("p", { class: "verdict", "aria-live": "polite" }, "Looking for the first difference …");
    replace(this, h("main", { id: "main", class: "compare", tabindex: "-1" },
      h("header", { class: "head" }, h("h1", {}, `Episodes #${this.sides[0].id} and #${this.sides[1].id}`)),
      this.verdict, this.transport, legend(),
      h("div", { class: "pair" }, this.sides.map((side) => this.side(side)))));
    this.transport.build({ axes: false });
    this.transport.addEventListener("go", (event) => this.moveTo(Math.round(event.detail)));
    this.transport.addEventListener("jump", (event) => this.jump(event.detail));
    for (const side of this.sides) {
      side.lanes.addEventListener("moment", (event) => this.moveTo(side.track.stepAt(event.detail)));
      side.lanes.addEventListener("pick", (event) => this.leave(side, event.detail));
    }
  }

  /** @param {Side} side */
  side(side) {
    const { meta } = side.track;
    const { setup } = meta;
    return h("section", { "aria-label": `Episode ${side.id}` },
      h("h2", {}, h("a", { href: address(`episode/${side.id}`) }, `#${side.id}`), ` ${setup.topology} `, outcome(meta)),
      h("p", { class: "hint" }, `${setup.env} ${setup.level}, ${(setup.team ?? []).map((/** @type {Payload} */ seat) => [seat.agent, seat.model].filter(Boolean).join(" ")).join(", ")}, seed ${meta.seed}, ${meta.steps} steps, progress ${percent(meta.progress)}`),
      h("div", { class: "beside" }, side.world, side.now), side.lanes);
  }

  get total() {
    return Math.max(...this.sides.map((side) => side.track.meta.steps));
  }

  /** @param {number} step */
  async moveTo(step) {
    this.step = Math.max(0, Math.min(step, this.total));
    const wish = this.step;
    try {
      for (const side of this.sides) {
        const own = Math.min(wish, side.track.meta.steps);
        const time = await side.track.timeOfStep(own);
        if (time === null || wish !== this.step || !this.isConnected) return;
        if (side.drawn !== side.track.stretch) side.lanes.show(side.track.stretch, { axis: "steps", zoom: side.lanes.roomy(side.track.stretch), selected: null });
        side.drawn = side.track.stretch;
        side.lanes.moveTo(time);
        const cards = agentCards(side.track.stretch, time, side.track.meta.start.env?.primitives ?? [], (seq) => this.leave(side, seq));
        keepFocus(side.now, () => replace(side.now, cards));
        side.world.show(side.frames, own, own < wish ? `Over after step ${own}` : `After step ${own}`);
      }
    } catch (error) {
      replace(this.verdict, problem(error));
      return;
    }
    this.transport.set(wish, Math.max(1, this.total), `step ${wish} of ${this.total}`);
    note(`compare/${this.sides[0].id}/${this.sides[1].id}`, { k: wish || "" });
  }

  /**
   * Open an event of one of the two in its own page.
   * @param {Side} side
   * @param {number} seq
   */
  leave(side, seq) {
    location.hash = address(`episode/${side.id}`, { sel: seq });
  }

  /** @param {Jump} detail */
  jump(detail) {
    if (this.transport.playing && this.step >= this.total) this.transport.pause();
    this.moveTo(detail === "first" ? 0 : detail === "last" ? this.total : this.step + detail);
  }

  showVerdict() {
    const { parting } = this;
    if (!parting) {
      this.verdict.textContent = "Their worlds are the same at every step.";
      return;
    }
    const words = parting.step === 0 ? "Their worlds differ from the beginning" : `Their worlds are the same up to step ${parting.step - 1} and differ from step ${parting.step} on`;
    replace(this.verdict, `${words}${parting.why ? ` (${parting.why})` : ""}. `, h("button", { onclick: () => this.moveTo(parting.step) }, "Go there"));
    const text = `First difference: step ${parting.step}`;
    this.transport.mark([{ share: parting.step / Math.max(1, this.total), kind: "parting", text }]);
    for (const [index, side] of this.sides.entries()) side.lanes.mark([{ time: parting.times[index], step: parting.step, kind: "parting", text }]);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.transport) return false; // not there yet, or not at all
    /** @type {Record<string, Jump>} */
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: "first", End: "last" };
    if (event.key in moves) this.jump(moves[event.key]);
    else if (event.key === " ") this.transport.toggle();
    else if (event.key === "d" && this.parting) this.moveTo(this.parting.step);
    else return false;
    return true;
  }
}

/**
 * The first step whose states differ, and whose action differed there; null when there is none.
 * @param {number} a
 * @param {number} b
 * @param {string[]} primitives
 * @returns {Promise<Parting | null>}
 */
async function divergence(a, b, primitives) {
  const [left, right] = [steps(a), steps(b)];
  const ends = [0, 0];
  for (;;) {
    const [one, other] = await Promise.all([left.next(), right.next()]);
    if (one.done && other.done) return null;
    if (one.done || other.done) {
      const event = one.value ?? other.value;
      return { step: event?.[2] ?? 0, why: `#${one.done ? a : b} is over`, times: [one.value?.[1] ?? ends[0], other.value?.[1] ?? ends[1]] };
    }
    if (one.value[5].state !== other.value[5].state) return { step: one.value[2], why: difference(one.value, other.value, primitives), times: [one.value[1], other.value[1]] };
    ends[0] = one.value[1];
    ends[1] = other.value[1];
  }
}

/**
 * @param {number} id
 * @returns {AsyncGenerator<LogEvent, undefined>}
 */
async function* steps(id) {
  /** @type {number | null} */
  let start = 0;
  while (start !== null) {
    /** @type {EventPage} */
    const page = await source.events(id, start, AT_ONCE, ["episode_start", "step"]);
    yield* page.events;
    start = page.next;
  }
  return undefined;
}

/**
 * Who moved differently, and how.
 * @param {LogEvent} one
 * @param {LogEvent} other
 * @param {string[]} primitives
 */
function difference(one, other, primitives) {
  const [left, right] = [one[5].actions ?? {}, other[5].actions ?? {}];
  const agents = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return agents.map((agent) => ({ agent, moves: [left, right].map((moves) => cut(moveText(moves[agent], primitives), 60)) }))
    .filter(({ moves }) => moves[0] !== moves[1])
    .map(({ agent, moves }) => `${agent}: ${moves[0]} or ${moves[1]}`).join("; ");
}

customElements.define("em-compare", ComparePage);
