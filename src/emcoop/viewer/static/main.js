// The frame around all pages: where the address leads, keys, and help.

import "./compare.js";
import "./episode.js";
import "./frame.js";
import "./inspector.js";
import "./lanes.js";
import "./runs.js";
import "./talk.js";
import "./transport.js";
import "./why.js";
import { h, replace } from "./dom.js";
import { forget, place } from "./place.js";
import { followTips } from "./tip.js";

const KEYS = [
  ["← →", "one environment step back, on"], ["Home End", "first, last step"], ["space", "play, pause"],
  [", .", "previous, next event worth a look"], ["a", "change the axis: cognitive time, environment steps"],
  ["+ − 0", "enlarge, shrink the lanes, fit them in"], ["1 2 3 4", "inspector, talk, events, search"],
  ["d", "in a comparison: go to the first difference"], ["/", "search"], ["?", "this list"], ["Esc", "leave a field, close this list"],
];

class App extends HTMLElement {
  /** @type {HTMLDialogElement} */
  help;
  /** @type {HTMLElement} */
  page;

  connectedCallback() {
    this.help = h("dialog", { "aria-label": "Keys" }, h("h2", {}, "Keys"), h("dl", { class: "keys" }, KEYS.map(([keys, text]) => [h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, text)])), h("form", { method: "dialog" }, h("button", {}, "Close")));
    this.page = h("div", { class: "page" });
    replace(this, h("header", { class: "top" }, h("nav", { "aria-label": "Run" }, h("a", { href: "#/", class: "brand" }, "emcoop"), h("a", { href: "#/" }, "All episodes")), h("button", { class: "quiet", onclick: () => this.help.showModal(), title: "Keys (?)" }, "Keys ?")), this.page, this.help);
    followTips();
    addEventListener("hashchange", () => this.enter());
    addEventListener("keydown", (event) => this.key(event));
    document.querySelector(".skip")?.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById("main")?.focus();
    });
    this.enter();
  }

  enter() {
    forget();
    const { path } = place();
    const tag = path[0] === "episode" || path[0] === "compare" ? `em-${path[0]}` : "em-runs";
    replace(this.page, h(tag));
    scrollTo(0, 0);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const field = target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (event.key === "Escape" && field) target.blur();
    if (field || this.help.open) return;
    if (event.key === " " && target.closest("button, a, summary, [type=checkbox]")) return;
    if (event.key.startsWith("Arrow") && target.closest("[role=tablist], .scroller")) return;
    if (event.key === "?") this.help.showModal();
    else if (event.key === "/") document.getElementById("search")?.focus();
    else if (!/** @type {Page | null} */ (this.page.firstElementChild)?.key?.(event)) return;
    event.preventDefault();
  }
}

customElements.define("em-app", App);
