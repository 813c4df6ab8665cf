// Under the lanes: what each agent became able to do, and when.

import { h, svg } from "./dom.js";
import { cut } from "./format.js";

const GAIN_ROW = 20;
const GAIN_HEAD = 24;
const LETTER_PX = 6.2;
const CLOSE_PX = 60;
const LEAST = 7;

/**
 * The agents whose abilities change in a stretch, each with its gains in order.
 * @param {Model} model
 * @returns {GainRows}
 */
export function gainRows(model) {
  /** @type {[string, Gain[]][]} */
  const all = model.team.map((agent) => [agent, model.gains.filter((gain) => gain.agent === agent)]);
  const shown = all.filter(([, gains]) => gains.length);
  const labels = () => shown.length === 0 ? [] : [
    h("div", { class: "tasks-title" }, "Abilities gained"),
    shown.map(([agent]) => h("div", { class: "gain-label" }, agent)),
  ];
  return { shown, height: shown.length ? GAIN_HEAD + shown.length * GAIN_ROW + 4 : 0, labels };
}

/**
 * Draw them: a star at each time, and after stars that lie close together the names, where there is room.
 * @param {GainRows} rows
 * @param {number} top
 * @param {ToX} x
 * @param {number} width
 * @param {(seq: number, title: string, kind: string, ...shapes: any[]) => SVGElement} button
 */
export function drawGains(rows, top, x, width, button) {
  return svg("g", { class: "gains" }, rows.shown.map(([agent, gains], row) => {
    const y = top + GAIN_HEAD + row * GAIN_ROW + 14;
    /** @type {string[]} */
    let names = [];
    return gains.map((gain, index) => {
      const at = x(gain.time);
      const room = (index + 1 < gains.length ? x(gains[index + 1].time) : width) - at;
      names.push(...gain.names);
      const text = names.join(", ");
      const letters = room > CLOSE_PX ? Math.floor((room - 18) / LETTER_PX) : 0;
      if (room > CLOSE_PX) names = [];
      return button(gain.seq, `${agent} gains ${gain.names.join(", ")}`, "gain", svg("text", { class: "star", x: at, y }, "★"), letters >= LEAST ? svg("text", { x: at + 9, y: y - 1 }, cut(text, letters)) : null);
    });
  }));
}
