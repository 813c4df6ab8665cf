// The scrubber with its buttons. It knows a length and a position, nothing of episodes.

import { h, replace, svg } from "./dom.js";

const SPEEDS = [1, 2, 4, 8, 16];
/** @type {Record<string, string>} */
const ICONS = {
  first: "M3 3v10M13 3L6 8l7 5z", back: "M11 3L4 8l7 5z", play: "M4 2.5L13 8l-9 5.5z", pause: "M4 3h3v10H4zM9 3h3v10H9z",
  on: "M5 3l7 5l-7 5z", last: "M13 3v10M3 3l7 5l-7 5z",
};

/** Fires `go` (detail: value of the scrubber), `jump` (detail: -1, 1, "first", "last") and `axis`. */
export class Transport extends HTMLElement {
  /** @type {HTMLButtonElement} */
  play;
  /** @type {HTMLInputElement} */
  range;
  /** @type {HTMLElement} */
  signs;
  /** @type {HTMLOutputElement} */
  text;
  /** @type {HTMLSelectElement} */
  speed;
  /** @type {HTMLSelectElement | null} */
  axis;
  /** @type {number | undefined} */
  timer;

  /** @param {{axes?: boolean}} [options] */
  build({ axes = true } = {}) {
    /** @type {(name: string, label: string, detail: Jump) => HTMLElement} */
    const button = (name, label, detail) => h("button", { title: label, "aria-label": label, onclick: () => this.tell("jump", detail) }, icon(name));
    this.play = h("button", { class: "play", title: "Play (space)", "aria-label": "Play", onclick: () => this.toggle() }, icon("play"));
    this.range = h("input", { type: "range", min: 0, max: 1, value: 0, step: "any", "aria-label": "Moment", oninput: () => this.tell("go", Number(this.range.value)) });
    this.signs = h("span", { class: "signs" });
    this.text = h("output", { class: "moment" });
    this.speed = h("select", { "aria-label": "Steps per second", title: "Steps per second" }, SPEEDS.map((speed) => h("option", { value: speed }, `${speed}/s`)));
    this.speed.value = "4";
    this.axis = axes ? h("select", { "aria-label": "Axis", title: "Which clock is the axis", onchange: () => this.tell("axis", this.axis?.value) }, h("option", { value: "time" }, "cognitive time"), h("option", { value: "steps" }, "environment steps")) : null;
    replace(this, button("first", "First step (Home)", "first"), button("back", "One step back (left arrow)", -1), this.play, button("on", "One step on (right arrow)", 1), button("last", "Last step (End)", "last"),
      h("span", { class: "rail" }, this.range, this.signs), this.text, this.speed, this.axis);
  }

  disconnectedCallback() {
    this.pause();
  }

  /**
   * @param {number} value
   * @param {number} max
   * @param {string} text
   */
  set(value, max, text) {
    this.range.max = String(max);
    this.range.value = String(value);
    this.range.setAttribute("aria-valuetext", text);
    this.text.textContent = text;
  }

  /**
   * Mark places on the scrubber, each by its share of the length.
   * @param {{share: number, kind: string, text: string}[]} places
   */
  mark(places) {
    replace(this.signs, places.map(({ share, kind, text }) => {
      const sign = h("span", { class: `sign-${kind}`, "data-tip": text, role: "img", "aria-label": text });
      sign.style.left = `calc(8px + ${share} * (100% - 16px))`;
      return sign;
    }));
  }

  get playing() {
    return this.timer !== undefined;
  }

  toggle() {
    if (this.playing) {
      this.pause();
      return;
    }
    replace(this.play, icon("pause"));
    this.play.setAttribute("aria-label", "Pause");
    this.text.setAttribute("aria-live", "off"); // while it plays, a screen reader would never come to an end
    const beat = () => {
      this.tell("jump", 1);
      if (this.playing) this.timer = setTimeout(beat, 1000 / Number(this.speed.value));
    };
    this.timer = setTimeout(beat, 0);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.play) return;
    replace(this.play, icon("play"));
    this.play.setAttribute("aria-label", "Play");
    this.text.setAttribute("aria-live", "polite");
  }

  /**
   * @param {string} name
   * @param {unknown} detail
   */
  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

/** @param {string} name */
function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

customElements.define("em-transport", Transport);
