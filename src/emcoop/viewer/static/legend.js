// What the colours and signs of the lanes mean.

import { h } from "./dom.js";
import { STAGES } from "./format.js";

/** The list of them. */
export function legend() {
  return h("ul", { class: "legend", "aria-label": "Legend" },
    Object.entries(STAGES).map(([letter, stage]) => h("li", {}, h("span", { class: `badge ${stage.class}` }, letter), stage.name)),
    h("li", {}, h("span", { class: "dot" }), "decides"), h("li", {}, h("span", { class: "dot speak" }), "speaks"), h("li", {}, h("span", { class: "dot interrupt" }), "answers an interruption"), h("li", {}, h("span", { class: "swatch plan" }), "plan"), h("li", {}, h("span", { class: "swatch failed" }), "failed"), h("li", {}, h("span", { class: "swatch replaced" }), "replaced"), h("li", {}, h("span", { class: "arrow", "aria-hidden": "true" }, "➝"), "message"), h("li", {}, h("span", { class: "warn", "aria-hidden": "true" }, "▲"), "rejected, interrupted"), h("li", {}, h("span", { class: "warn", "aria-hidden": "true" }, "▶"), "resumed"));
}
