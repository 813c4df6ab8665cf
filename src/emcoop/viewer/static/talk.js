// The conversation as text, and who has talked to whom.

import { h, replace, svg } from "./dom.js";
import { seconds } from "./format.js";

const SIZE = 220;

/** Shows a stretch's messages; those after the cursor are dim. Fires `pick`. */
export class Talk extends HTMLElement {
  /** @type {Model} */
  model;
  /** @type {[string, string][]} */
  edges;
  /** @type {{element: HTMLElement, at: number, seq: number}[]} */
  lines;
  /** @type {HTMLElement} */
  graph;

  /**
   * @param {Model} model
   * @param {[string, string][]} edges
   * @param {number} time
   * @param {number | null} selected
   */
  show(model, edges, time, selected) {
    if (model !== this.model) {
      this.model = model;
      this.edges = edges;
      this.build();
    }
    /** @type {HTMLElement | null} */
    let last = null;
    for (const { element, at } of this.lines) {
      element.classList.toggle("later", at > time);
      if (at <= time) last = element;
    }
    for (const { element, seq } of this.lines) element.classList.toggle("selected", seq === selected);
    for (const { element } of this.lines) element.classList.toggle("current", element === last);
    const box = this.parentElement ?? this;
    if (last && (last.offsetTop < box.scrollTop || last.offsetTop + last.offsetHeight > box.scrollTop + box.clientHeight)) {
      box.scrollTop = last.offsetTop - box.clientHeight / 2;
    }
    this.drawGraph(time);
  }

  build() {
    /** @type {[Message | Refused, "said" | "refused"][]} */
    const all = [...this.model.messages.map((message) => /** @type {[Message, "said"]} */ ([message, "said"])), ...this.model.refused.map((message) => /** @type {[Refused, "refused"]} */ ([message, "refused"]))];
    const said = all.sort((a, b) => a[0].seq - b[0].seq);
    this.lines = said.map(([message, kind]) => ({ at: message.time, seq: message.seq, element: this.line(message, kind) }));
    this.graph = h("div", { class: "graph" });
    replace(this, this.graph, said.length === 0
      ? h("p", { class: "hint" }, "Nobody says anything in this stretch.")
      : h("ol", { class: "said" }, this.lines.map(({ element }) => element)));
  }

  /**
   * @param {Message | Refused} message
   * @param {string} kind
   */
  line(message, kind) {
    const to = (message.to ?? []).join(", ");
    const pick = () => this.dispatchEvent(new CustomEvent("pick", { detail: message.seq, bubbles: true }));
    const where = !("lost" in message) ? `refused: ${message.reason}` : `to ${to}${message.lost.length ? ` (lost for ${message.lost.join(", ")})` : ""}`;
    return h("li", { class: kind }, h("button", { onclick: pick }, h("span", { class: "who" }, message.from, h("small", {}, ` ${where} · ${seconds(message.time)}`)), h("span", { class: message.content?.includes("\n") ? "words lined" : "words" }, message.content || "(nothing)")));
  }

  /** @param {number} time */
  drawGraph(time) {
    const { team, messages } = this.model;
    const centre = SIZE / 2;
    /** @type {(agent: string) => Point} */
    const spot = (agent) => {
      const angle = (team.indexOf(agent) / team.length) * 2 * Math.PI - Math.PI / 2;
      return [centre + Math.cos(angle) * (centre - 34), centre + Math.sin(angle) * (centre - 26)];
    };
    const counts = new Map(this.edges.map(([from, to]) => /** @type {[string, number]} */ ([`${from}>${to}`, 0])));
    /** @type {Message | null} */
    let last = null;
    for (const message of messages) {
      if (message.time > time) break;
      last = message;
      for (const to of message.to) counts.set(`${message.from}>${to}`, (counts.get(`${message.from}>${to}`) ?? 0) + 1);
    }
    const most = Math.max(1, ...counts.values());
    const arrows = [...counts].map(([key, n]) => {
      const [from, to] = key.split(">");
      if (!team.includes(from) || !team.includes(to)) return null;
      const fresh = last !== null && last.from === from && last.to.includes(to);
      return edge(spot(from), spot(to), n, most, fresh, `${from} to ${to}: ${n} messages`);
    });
    const text = `Messages up to ${seconds(time)}: ${[...counts].filter(([, n]) => n).map(([key, n]) => `${key.replace(">", " to ")} ${n}`).join(", ") || "none"}`;
    replace(this.graph, svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": text }, arrows,
      team.map((agent) => {
        const [cx, cy] = spot(agent);
        return svg("g", { class: "node", "data-tip": agent }, svg("circle", { cx, cy, r: 17 }), svg("text", { x: cx, y: cy + 4 }, agent.replace(/^agent_/, "")));
      })));
  }
}

/**
 * @param {Point} from
 * @param {Point} to
 * @param {number} n
 * @param {number} most
 * @param {boolean} fresh
 * @param {string} title
 */
function edge([x1, y1], [x2, y2], n, most, fresh, title) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [sx, sy] = [-dy * 4, dx * 4];
  const width = n ? 1 + (3 * n) / most : 1;
  const [ax, ay, bx, by] = [x1 + dx * 19 + sx, y1 + dy * 19 + sy, x2 - dx * 21 + sx, y2 - dy * 21 + sy];
  const head = `M${bx} ${by}l${-dx * 9 - dy * 4.5} ${-dy * 9 + dx * 4.5}l${dy * 9} ${-dx * 9}z`;
  const label = n ? svg("text", { x: (ax + bx) / 2 + sx * 2.4, y: (ay + by) / 2 + sy * 2.4 + 4 }, String(n)) : null;
  return svg("g", { class: `edge${n ? "" : " silent"}${fresh ? " fresh" : ""}`, "data-tip": title },
    svg("line", { x1: ax, y1: ay, x2: bx - dx * 6, y2: by - dy * 6, "stroke-width": width }), svg("path", { d: head }), label);
}

customElements.define("em-talk", Talk);
