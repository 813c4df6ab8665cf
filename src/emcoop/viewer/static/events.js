// The log as it is, around a moment; and the events in which a text was found.

import { h, only, replace } from "./dom.js";
import { cut, seconds } from "./format.js";

const AROUND = 40;

/**
 * Fill a list with the events around one of them, which is scrolled to.
 * @param {HTMLElement} list
 * @param {LogEvent[]} events
 * @param {number} at its index; -1 before the first
 * @param {{time: number, selected: number | null}} now
 * @param {(seq: number) => void} pick
 */
export function listEvents(list, events, at, { time: now, selected }, pick) {
  const from = Math.max(0, at - AROUND);
  const shown = events.slice(from, Math.max(0, at) + AROUND);
  replace(list, shown.map(([seq, time, step, agent, kind, payload]) => h("li", { class: seq === selected ? "selected" : time > now ? "later" : "" },
    h("button", { onclick: () => pick(seq) }, h("span", { class: "number" }, String(seq)), h("span", {}, seconds(time)), h("span", {}, `step ${step}`), h("span", {}, agent ?? "team"), h("span", {}, kind), h("code", {}, cut(JSON.stringify(payload), 140))))));
  const mark = only(list.children[at - from]);
  const box = list.parentElement;
  if (mark && box) box.scrollTop = mark.offsetTop - box.clientHeight / 2;
}

/**
 * What a search has found.
 * @param {Hit[]} hits
 * @param {number | null} next where it can go on
 * @param {(seq: number) => void} pick
 * @param {() => void} goOn
 */
export function foundEvents(hits, next, pick, goOn) {
  return [
    h("p", { class: "hint", role: "status" }, hits.length ? `${hits.length} places` : "Nothing found", next === null ? "" : [` up to event ${next} `, h("button", { onclick: goOn }, "go on searching")]),
    h("ol", { class: "events" }, hits.map(([seq, time, , agent, kind, around]) => h("li", {}, h("button", { onclick: () => pick(seq) }, h("span", { class: "number" }, String(seq)), h("span", {}, seconds(time)), h("span", {}, agent ?? "team"), h("span", {}, kind), h("code", {}, around))))),
  ];
}
