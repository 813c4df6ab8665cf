// Why an episode was lost: the sentence, and the points of no return, with the steps they name one click away.

import { h, problem, replace } from "./dom.js";
import { source } from "./source.js";

/** Shows the reasons of one episode; fires `moment` (detail: time) and `signs` (detail: the places to mark). */
export class WhyLost extends HTMLElement {
  /** @param {number} id */
  async show(id) {
    let found;
    try {
      found = await source.why(id);
    } catch (error) {
      replace(this, problem(error));
      return;
    }
    if (!found.lost && found.no_return.length === 0) return;
    replace(this, h("section", { class: "why", "aria-label": "Why it ended so" }, this.sentence(found), this.noReturn(found)));
    this.dispatchEvent(new CustomEvent("signs", { detail: signs(found) }));
  }

  /** @param {Why} found */
  sentence({ lost, long, failure, explain }) {
    if (!lost) return "";
    if (long) return h("p", {}, "Why it was lost is not read here, since the episode is long: ", h("code", {}, explain), " tells it.");
    if (!failure) return h("p", {}, "Why it was lost is not known: no step was completed.");
    return h("p", {}, h("strong", {}, "Why it was lost: "), `${failure.sentence} `,
      failure.task === null ? "" : [this.link(failure.since_time, `Go to step ${failure.since}`), ", where the lack begins"]);
  }

  /** @param {Why} found */
  noReturn({ lost, no_return: known, ask }) {
    if (known.length === 0) return lost && source.live ? h("p", { class: "hint" }, "Point of no return: not computed. ", h("code", {}, ask), " finds it.") : "";
    return known.map(({ policy, point_of_no_return: step, time, steps, success }) => {
      const team = `a team of ${policy}`;
      if (success) return h("p", {}, h("strong", {}, "Point of no return: "), `none, the episode was won after ${steps} steps.`);
      if (step === null || time === null) return h("p", {}, h("strong", {}, "Point of no return: "), `before the beginning; ${team} wins from no state of this episode.`);
      return h("p", {}, h("strong", {}, "Point of no return: "), this.link(time, `step ${step}`), ` of ${steps}; ${team} could still have won from there, no later.`);
    });
  }

  /**
   * @param {number} time
   * @param {string} text
   */
  link(time, text) {
    return h("button", { class: "link", onclick: () => this.dispatchEvent(new CustomEvent("moment", { detail: time, bubbles: true })) }, text);
  }
}

/**
 * @param {Why} found
 * @returns {Sign[]}
 */
function signs({ failure, no_return: known }) {
  /** @type {Sign[]} */
  const found = [];
  if (failure && failure.task !== null) found.push({ time: failure.since_time, step: failure.since, kind: "lack", text: `From step ${failure.since}: ${failure.task} ${failure.constraint} short by ${failure.short}` });
  for (const { policy, point_of_no_return: step, time, success } of known) {
    if (!success && step !== null && time !== null) found.push({ time, step, kind: "no-return", text: `Point of no return, step ${step}: the last from which a team of ${policy} could have won` });
  }
  return found;
}

customElements.define("em-why", WhyLost);
