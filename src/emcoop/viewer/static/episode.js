// The page of one episode: world, lanes, tasks, inspector and talk, all driven by one moment.

import { h, keepFocus, only, problem, replace, whenReleased } from "./dom.js";
import { listEvents, foundEvents } from "./events.js";
import { seconds } from "./format.js";
import { Frames } from "./frame.js";
import { legend } from "./legend.js";
import { bisect } from "./model.js";
import { agentCards, tasksNow } from "./now.js";
import { note, place } from "./place.js";
import { outcome } from "./runs.js";
import { source } from "./source.js";
import { Track } from "./track.js";

/** @type {[keyof EpisodePage["panels"], string][]} */
const TABS = [["inspect", "Inspector"], ["talk", "Talk"], ["events", "Events"], ["search", "Search"]];
const PASSED_OVER = new Set(["stage", "action", "model_call", "message_delivered", "message_read", "step"]);

class EpisodePage extends HTMLElement {
  /** @type {number} */
  time;
  /** @type {number | null} */
  selected;
  /** @type {Axis} */
  axis;
  /** @type {number | null} */
  zoom;
  /** @type {string} */
  tab;
  /** @type {string} */
  query;
  /** @type {Track} */
  track;
  /** @type {Frames} */
  frames;
  /** @type {(() => void) | null | undefined} */
  stop;
  /** @type {HTMLElement} */
  sign;
  /** @type {import("./transport.js").Transport} */
  transport;
  /** @type {import("./frame.js").WorldFrame} */
  world;
  /** @type {HTMLElement} */
  now;
  /** @type {import("./lanes.js").Lanes} */
  lanes;
  /** @type {{inspect: import("./inspector.js").Inspector, talk: import("./talk.js").Talk, events: HTMLOListElement, search: HTMLElement}} */
  panels;
  /** @type {HTMLInputElement} */
  searchBox;
  /** @type {HTMLElement} */
  tabs;
  /** @type {HTMLElement} */
  stretch;
  /** @type {import("./why.js").WhyLost} */
  why;
  /** @type {Sign[]} */
  signs = [];
  /** @type {HTMLElement} */
  said;
  /** @type {Model | undefined} */
  nowOf;
  /** @type {number | undefined} */
  nowAt;
  /** @type {Model | undefined} */
  drawn;
  /** @type {number} */
  awaited = 0;
  /** @type {boolean | undefined} */
  loading;
  /** Counts what the person has asked for; an answer to an earlier wish comes too late. */
  wish = 0;
  /** @type {Jump | null} the jump that is on its way */
  jumping = null;

  async connectedCallback() {
    const { path, query } = place();
    const id = Number(path[1]);
    this.time = Number(query.get("t") ?? 0);
    this.selected = query.has("sel") ? Number(query.get("sel")) : null;
    this.axis = query.get("axis") === "steps" ? "steps" : "time";
    this.zoom = query.has("zoom") ? Math.min(32, Math.max(1, Number(query.get("zoom")) || 1)) : null;
    this.tab = query.get("tab") ?? "inspect";
    this.query = query.get("q") ?? "";
    this.track = new Track(id);
    this.frames = new Frames(id);
    try {
      await this.track.open(this.time, query.has("t") ? null : this.selected);
      if (this.selected !== null && !query.has("t")) this.time = (await this.track.event(this.selected))?.[1] ?? 0;
    } catch (error) {
      replace(this, h("main", { id: "main" }, problem(error)));
      return;
    }
    if (!this.isConnected) return;
    this.build();
    this.redraw();
    this.why.show(id);
    this.stop = this.track.meta.status === "running" ? source.listen((pulse) => this.pulse(pulse)) : null;
  }

  disconnectedCallback() {
    this.stop?.();
    this.frames?.close();
  }

  build() {
    const { meta } = this.track;
    const setup = meta.setup;
    document.title = `#${meta.id} ${setup.env ?? "?"} ${setup.topology ?? "?"} seed ${meta.seed} · emcoop`;
    this.sign = h("span", {}, outcome(meta));
    this.transport = h("em-transport", {});
    this.world = h("em-frame", {});
    this.now = h("div", { class: "now", role: "group", "aria-label": "What holds now" });
    this.why = h("em-why", {});
    this.said = h("p", { class: "hidden", role: "status" });
    this.lanes = h("em-lanes", {});
    this.panels = { inspect: h("em-inspector", {}), talk: h("em-talk", {}), events: h("ol", { class: "events" }), search: h("div", { class: "found" }) };
    this.searchBox = h("input", { type: "search", id: "search", value: this.query, placeholder: "Search this episode  ( / )", "aria-label": "Search this episode's messages, plans and events", onchange: () => this.search(this.searchBox.value) });
    this.tabs = h("div", { role: "tablist", class: "tabs", "aria-label": "Details" }, TABS.map(([name, title]) =>
      h("button", { role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.openTab(name) }, title)));
    /** @type {(factor: number, text: string, label: string) => HTMLElement} */
    const zoom = (factor, text, label) => h("button", { "data-tip": label, "aria-label": label, onclick: () => this.enlarge(factor) }, text);
    replace(this, h("main", { id: "main", class: "episode", tabindex: "-1" },
      h("header", { class: "head" }, h("h1", {}, `Episode #${meta.id}`), h("p", {}, `${setup.env ?? "?"} ${setup.level ?? ""} · ${this.track.team.length} agents · ${setup.topology ?? "?"} · seed ${meta.seed} `, this.sign), this.searchBox),
      this.notes(), this.why, this.transport, this.said,
      h("section", { class: "world", "aria-label": "World" }, this.world, this.now),
      h("section", { class: "course", "aria-label": "Course of the episode" },
        h("div", { class: "bar" }, legend(), h("span", { class: "zoom" }, zoom(0.5, "−", "Smaller (-)"), zoom(2, "+", "Larger (+)"), zoom(0, "fit", "Fit in (0)"))),
        this.lanes, (this.stretch = h("p", { class: "hint" }))),
      h("section", { class: "details", "aria-label": "Details" }, this.tabs,
        TABS.map(([name]) => h("div", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" }, this.panels[name])))));
    this.transport.build();
    this.showAxis();
    this.transport.addEventListener("go", (event) => this.scrub(event.detail));
    this.transport.addEventListener("jump", (event) => this.jump(event.detail));
    this.transport.addEventListener("axis", (event) => this.turn(event.detail));
    this.why.addEventListener("signs", (event) => this.mark(event.detail));
    this.addEventListener("moment", (event) => this.moveTo(event.detail));
    this.addEventListener("pick", (event) => this.pick(event.detail));
    this.tabs.addEventListener("keydown", (event) => this.alongTabs(event));
    this.openTab(this.tab);
    if (this.query) this.search(this.query);
  }

  showAxis() {
    if (this.transport.axis) this.transport.axis.value = this.axis;
  }

  /**
   * The other clock becomes the axis.
   * @param {Axis} axis
   */
  turn(axis) {
    this.axis = axis;
    this.showAxis();
    this.placeSigns();
    this.redraw();
  }

  notes() {
    const { meta } = this.track;
    const said = [];
    if (meta.error) said.push(["problem", meta.error]);
    if (meta.status === "cut off" || meta.status === "interrupted") said.push(["note", "The run was cut off here; the episode has no end. The same `emcoop run` plays it again."]);
    if (meta.start.impossible) said.push(["note", `No team can solve this set-up: ${meta.start.impossible}`]);
    for (const warning of meta.start.warnings ?? []) said.push(["note", warning]);
    if (meta.end?.message) said.push(["note", meta.end.message]);
    return said.map(([kind, text]) => h("p", { class: kind }, text));
  }

  /** Everything anew: another stretch, axis or size. */
  redraw() {
    const { track } = this;
    const zoom = this.zoom ?? this.lanes.roomy(track.stretch);
    this.lanes.show(track.stretch, { axis: this.axis, zoom, selected: this.selected });
    const { first, next, meta, stretch: model } = track;
    this.stretch.textContent = first === 0 && next === null ? "" : `Events ${first} to ${model.events.at(-1)?.[0]} of ${meta.events}; move on and the lanes follow.`;
    this.drawn = track.stretch;
    this.update();
  }

  /** What depends on the moment and the selection; nothing any more once the page was left. */
  update() {
    if (!this.isConnected) return;
    const { track, time } = this;
    if (track.stretch !== this.drawn) {
      this.redraw();
      return;
    }
    const step = track.stepAt(time);
    const total = Math.max(track.meta.steps, track.stretch.steps.at(-1)?.step ?? 0);
    const text = `${seconds(time)} · step ${step} of ${total}`;
    if (this.axis === "steps") this.transport.set(step, Math.max(1, total), text);
    else this.transport.set(time, Math.max(1, track.meta.duration), text);
    this.world.show(this.frames, step, `After step ${step}`);
    if (this.transport.playing && step < total) this.frames.at(step + 1).catch(() => undefined);
    this.lanes.moveTo(time);
    this.lanes.select(this.selected);
    this.showNow();
    this.showTab();
    note(`episode/${track.id}`, { t: time || "", sel: this.selected, axis: this.axis === "time" ? "" : this.axis, zoom: this.zoom, tab: this.tab === "inspect" ? "" : this.tab, q: this.tab === "search" ? this.query : "" });
  }

  /**
   * Mark places on the scrubber and in the lanes.
   * @param {Sign[]} signs
   */
  mark(signs) {
    this.signs = signs;
    this.placeSigns();
    whenReleased(() => this.lanes.mark(signs));
  }

  placeSigns() {
    const { meta } = this.track;
    const share = (/** @type {Sign} */ sign) => this.axis === "steps" ? sign.step / Math.max(1, meta.steps) : sign.time / Math.max(1, meta.duration);
    this.transport.mark(this.signs.map((sign) => ({ ...sign, share: share(sign) })));
  }

  showNow() {
    const { stretch: model, meta } = this.track;
    const at = bisect(model.events, (event) => event[1] <= this.time);
    if (model === this.nowOf && at === this.nowAt) return; // nothing has happened in between
    [this.nowOf, this.nowAt] = [model, at];
    const cards = agentCards(model, this.time, meta.start.env?.primitives ?? [], (seq) => this.pick(seq));
    keepFocus(this.now, () => replace(this.now, h("div", { role: "list", "aria-label": "Agents" }, cards), tasksNow(model, this.time)));
  }

  /** @param {string} name */
  openTab(name) {
    this.tab = name in this.panels ? name : "inspect";
    for (const tab of this.tabs.children) {
      const on = tab.id === `tab-${this.tab}`;
      tab.setAttribute("aria-selected", String(on));
      tab.setAttribute("tabindex", on ? "0" : "-1");
      const panel = only(this.querySelector(`#${tab.getAttribute("aria-controls")}`));
      if (panel) panel.hidden = !on;
    }
    if (this.drawn) this.update();
  }

  /**
   * In the row of tabs the arrows lead from tab to tab.
   * @param {KeyboardEvent} event
   */
  alongTabs(event) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = TABS.findIndex(([name]) => name === this.tab);
    this.openTab(TABS[(at + step + TABS.length) % TABS.length][0]);
    only(this.tabs.querySelector("[aria-selected=true]"))?.focus();
  }

  showTab() {
    const { track } = this;
    if (this.tab === "inspect") this.panels.inspect.show(track, track.stretch, this.selected);
    if (this.tab === "talk") this.panels.talk.show(track.stretch, track.meta.start.topology?.edges ?? [], this.time, this.selected);
    if (this.tab === "events") this.showEvents();
  }

  showEvents() {
    const { events } = this.track.stretch;
    const at = this.selected === null ? bisect(events, (event) => event[1] <= this.time) - 1 : events.findIndex((event) => event[0] === this.selected);
    listEvents(this.panels.events, events, at, { time: this.time, selected: this.selected }, (seq) => { this.openTab("inspect"); this.pick(seq); });
  }

  /**
   * @param {string} text
   * @param {number} [start]
   */
  async search(text, start = 0) {
    this.query = text;
    this.openTab("search");
    if (!text) {
      replace(this.panels.search, h("p", { class: "hint" }, "Messages, plans, actions and failures are searched; prompts and answers are not."));
      return;
    }
    try {
      const { hits, next } = await source.search(this.track.id, text, start);
      replace(this.panels.search, foundEvents(hits, next, (seq) => this.pick(seq), () => this.search(text, next ?? 0)));
    } catch (error) {
      replace(this.panels.search, problem(error));
    }
  }

  /** @param {number} factor what the lanes are enlarged by; 0 fits the whole stretch in */
  enlarge(factor) {
    this.zoom = Math.min(32, Math.max(1, this.lanes.zoom * factor));
    this.redraw();
  }

  /** @param {number} value */
  async scrub(value) {
    if (this.axis === "steps") await this.stepTo(() => Math.round(value));
    else await this.moveTo(Math.round(value));
  }

  /**
   * Stand at a step, unless something else is asked for before it is known when that was.
   * @param {() => number | Promise<number>} wanted
   */
  async stepTo(wanted) {
    const wish = ++this.wish;
    await this.attempt(async () => {
      const time = await this.track.timeOfStep(await wanted());
      if (wish === this.wish && time !== null) await this.moveTo(time);
    });
  }

  /**
   * Stand at a time; the latest wish wins while a stretch is being loaded.
   * @param {number} time
   */
  async moveTo(time) {
    this.wish += 1;
    this.time = Math.max(0, Math.min(time, this.track.meta.duration));
    this.lanes.moveTo(this.time);
    if (this.track.covers(this.time)) {
      cancelAnimationFrame(this.awaited);
      this.awaited = requestAnimationFrame(() => this.update());
      return;
    }
    if (this.loading) return;
    this.loading = true;
    await this.attempt(async () => {
      let aim;
      do {
        aim = this.time;
        await this.track.reach(aim);
      } while (aim !== this.time);
    });
    this.loading = false;
    this.update();
  }

  /** @param {Jump} detail */
  async jump(detail) {
    const { track } = this;
    if (detail === this.jumping) return;
    const total = track.meta.steps;
    const step = track.stepAt(this.time);
    if (detail === "last" || (detail === 1 && step >= total)) {
      if (this.transport.playing) this.transport.pause();
      await this.moveTo(track.meta.duration);
      return;
    }
    const back = async () => this.time > ((await track.timeOfStep(step)) ?? this.time) ? step : Math.max(0, step - 1);
    this.jumping = detail;
    await this.stepTo(() => detail === "first" ? 0 : detail === 1 ? step + 1 : back());
    this.jumping = null;
  }

  /**
   * Select an event and stand at its time.
   * @param {number} seq
   */
  async pick(seq) {
    this.wish += 1;
    await this.attempt(async () => {
      const event = await this.track.event(seq);
      if (event === null) return;
      this.selected = seq;
      this.time = event[1];
      this.said.textContent = `${event[3] ?? "team"}: ${event[4].replaceAll("_", " ")}, ${seconds(event[1])}, after step ${event[2]}`;
      this.openTab(this.tab === "talk" && event[4] === "message_sent" ? "talk" : "inspect");
    });
  }

  /**
   * The next or the previous event that a person may want to look at.
   * @param {1 | -1} direction
   */
  walk(direction) {
    const { events } = this.track.stretch;
    const wanted = (/** @type {LogEvent} */ event) => !PASSED_OVER.has(event[4]);
    const at = this.selected === null ? bisect(events, (event) => event[1] <= this.time) - (direction > 0 ? 1 : 0) : events.findIndex((event) => event[0] === this.selected);
    for (let index = at + direction; index >= 0 && index < events.length; index += direction) {
      if (wanted(events[index])) {
        this.pick(events[index][0]);
        return;
      }
    }
  }

  /** @param {() => Promise<void>} work */
  async attempt(work) {
    try {
      await work();
    } catch (error) {
      this.stretch.replaceChildren(problem(error));
    }
  }

  /** @param {Pulse} pulse */
  async pulse(pulse) {
    const line = pulse.going.find((found) => found.id === this.track.id);
    if (line && line.events === this.track.meta.events && line.status === this.track.meta.status) return;
    const atEnd = this.time >= this.track.meta.duration;
    await this.attempt(async () => {
      await this.track.refresh();
      if (atEnd && this.time > 0) await this.track.reach((this.time = this.track.meta.duration));
    });
    replace(this.sign, outcome(this.track.meta));
    whenReleased(() => this.update());
    if (line?.status === "running") return;
    this.stop?.();
    this.why.show(this.track.id);
  }

  /**
   * A key that the page does not keep for itself; returns whether it was of use.
   * @param {KeyboardEvent} event
   */
  key(event) {
    if (!this.drawn) return false; // not there yet, or not at all
    /** @type {Record<string, Jump>} */
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: "first", End: "last" };
    if (event.key in moves) this.jump(moves[event.key]);
    else if (event.key === " ") this.transport.toggle();
    else if (event.key === ".") this.walk(1);
    else if (event.key === ",") this.walk(-1);
    else if (event.key === "+" || event.key === "=") this.enlarge(2);
    else if (event.key === "-") this.enlarge(0.5);
    else if (event.key === "0") this.enlarge(0);
    else if (event.key === "a") this.turn(this.axis === "time" ? "steps" : "time");
    else if (/^[1-4]$/.test(event.key)) this.openTab(TABS[Number(event.key) - 1][0]);
    else return false;
    return true;
  }
}

customElements.define("em-episode", EpisodePage);
