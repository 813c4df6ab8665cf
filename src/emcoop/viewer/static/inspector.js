// Everything known about one event: a decision with its observation, prompts, answers and what became of it.

import { h, problem, replace } from "./dom.js";
import { actionText, count, dollars, moveText, pretty, seconds, taskText } from "./format.js";
import { isKnown } from "./model.js";
import { source } from "./source.js";

const ENDS = new Set(["decision"]);
/** @type {Record<string, string>} */
const MEASURED = { latency_s: "measured latency", measured_s: "measured latency", waited_s: "of it waiting between attempts", cached: "from emcoop's cache" };

/** Shows the event with number `seq` of a stretch; fires `pick` for events it refers to. */
export class Inspector extends HTMLElement {
  /** @type {string} */
  key;
  /** @type {Model} */
  model;
  /** @type {HostFacts} */
  host;
  /** @type {string[]} */
  primitives;

  /**
   * @param {{host: HostFacts, meta: EpisodeMeta}} page
   * @param {Model} model
   * @param {number | null} seq
   */
  show(page, model, seq) {
    const key = `${seq}/${model?.events.length}`;
    if (key === this.key && model === this.model) return;
    this.key = key;
    this.model = model;
    this.host = page?.host ?? {};
    this.primitives = page?.meta.start.env?.primitives ?? [];
    const at = model ? model.events.findIndex((event) => event[0] === seq) : -1;
    if (at < 0) {
      replace(this, h("p", { class: "hint" }, "Nothing is selected. Choose a decision (dot), a plan (bar) or a message (arrow) in the lanes, or press , and . to walk through the events."));
      return;
    }
    const event = model.events[at];
    const owner = event[4] === "model_call" ? this.following(at, "decision", event[3]) ?? at : at;
    const shown = model.events[owner];
    replace(this, this.heading(shown), shown[4] === "decision" ? this.decision(owner) : this.other(shown));
  }

  /** @param {LogEvent} event */
  heading([seq, time, step, agent, kind]) {
    return h("header", {}, h("h3", {}, `${agent ?? "team"} · ${kind.replaceAll("_", " ")}`), h("p", { class: "hint" }, `event ${seq}, ${seconds(time)}, after step ${step}`),
      isKnown(kind) ? "" : h("p", { class: "note" }, "This page does not know this kind of event; it is shown as it was logged."));
  }

  /**
   * The index of the next event of a kind by an agent.
   * @param {number} at
   * @param {string} kind
   * @param {string | null} agent
   */
  following(at, kind, agent) {
    const found = this.model.events.findIndex((event, index) => index >= at && event[3] === agent && event[4] === kind);
    return found < 0 ? null : found;
  }

  /** @param {number} at */
  decision(at) {
    const { events } = this.model;
    const [seq, , , agent, , payload] = events[at];
    /** @type {LogEvent[]} */
    const calls = [];
    for (let index = at - 1; index >= 0; index -= 1) {
      const event = events[index];
      if (event[3] !== agent) continue;
      if (ENDS.has(event[4])) break;
      if (event[4] === "model_call") calls.unshift(event);
    }
    /** @type {LogEvent[]} */
    const outcome = [];
    for (let index = at + 1; index < events.length && outcome.length < 6; index += 1) {
      const event = events[index];
      if (event[3] !== agent) continue;
      if (ENDS.has(event[4]) || event[4] === "model_call") break;
      if (/^(plan_|message_sent|message_refused|fallback)/.test(event[4])) outcome.push(event);
      if (event[4] === "plan_committed") break;
    }
    return [
      h("dl", { class: "facts" }, fact("faculty", payload.faculty), fact("simulated latency", seconds(payload.latency_us ?? 0)), this.measured(seq), usage(payload.usage)),
      payload.fallback ? h("p", { class: "note" }, `Fallback: ${payload.fallback}`) : "",
      (payload.failures ?? []).map(failure),
      section("What came of it", outcome.length ? outcome.map((event) => this.brief(event)) : h("p", { class: "hint" }, "nothing that is logged"), true),
      this.feedback(at),
      blob("Observation", payload.view),
      calls.map((call, index) => this.call(call, index, calls.length)),
    ];
  }

  /**
   * What had gone wrong for the agent since its last plan, which is what it is told when it decides.
   * @param {number} at
   */
  feedback(at) {
    const { events } = this.model;
    const agent = events[at][3];
    /** @type {Payload[]} */
    const found = [];
    for (let index = at - 1; index >= 0; index -= 1) {
      const [, , , who, kind, payload] = events[index];
      if (who !== agent) continue;
      if ((kind === "plan_ended" || kind === "plan_rejected") && payload.failure) found.unshift(payload.failure);
      if (kind !== "decision" || payload.faculty === "speak") continue;
      found.unshift(...(payload.failures ?? []));
      if (payload.faculty === "plan") break;
    }
    return section("Feedback it was given", found.length ? found.map(failure) : h("p", { class: "hint" }, "Nothing had gone wrong since its last plan."), found.length > 0);
  }

  /** @param {number} seq */
  measured(seq) {
    const { faults, ...facts } = this.host[seq] ?? {};
    const told = Object.entries(facts).filter(([, value]) => value !== false && value !== null)
      .map(([name, value]) => fact(MEASURED[name] ?? name.replaceAll("_", " "), typeof value === "number" ? `${value.toFixed(3)} s` : value === true ? "yes" : JSON.stringify(value)));
    return [told, Array.isArray(faults) && faults.length ? fact("failed attempts", faults.map((fault) => `${fault.kind}, attempt ${fault.attempt}: ${fault.message}`).join("; ")) : ""];
  }

  /**
   * @param {LogEvent} event
   * @param {number} index
   * @param {number} all
   */
  call([seq, , , , , payload], index, all) {
    const title = `Model call${all > 1 ? ` ${index + 1} of ${all}` : ""}: ${payload.model ?? "no model answered"}`;
    return h("section", { class: "call" }, h("h4", {}, title),
      h("dl", { class: "facts" }, fact("answer form", payload.schema), fact("finish reason", payload.finish_reason ?? "none"), this.measured(seq), usage(payload.usage)),
      payload.error ? h("p", { class: "note" }, `Not usable: ${payload.error}`) : "",
      (payload.prompt ?? []).map((/** @type {Payload} */ turn) => blob(`Prompt: ${turn.role}`, turn.content)),
      payload.answer ? blob("Answer", payload.answer, true) : "");
  }

  /** @param {LogEvent} event */
  other([seq, , , , kind, payload]) {
    const known = isKnown(kind);
    /** @type {any[]} */
    const parts = [];
    if (kind === "message_sent") parts.push(this.message(payload.id));
    else for (const id of mentioned(kind, payload)) parts.push(this.quote(id));
    if (kind === "plan_ended" || kind === "plan_resumed" || kind === "plan_interrupted") parts.push(this.ofPlan(kind, payload));
    if (kind === "step") parts.push(moves(payload, this.primitives));
    if (kind === "episode_end") parts.push(h("dl", { class: "facts" }, fact("ended by", payload.limit), fact("steps", payload.steps), fact("success", payload.score?.success), fact("progress", payload.score?.progress), usage(payload.usage)));
    if (payload.plan) parts.push(planText(payload));
    if (payload.failure) parts.push(failure(payload.failure));
    const ended = kind === "plan_committed" ? this.model.events.find((event) => event[4] === "plan_ended" && event[5].plan_id === payload.plan_id) : null;
    if (ended) parts.push(section("How it ended", this.brief(ended), true));
    const decided = kind.startsWith("plan_") || kind === "message_sent" ? this.deciding(seq) : null;
    if (decided) parts.push(h("p", {}, this.link(decided[0], "The decision behind it")));
    parts.push(section("As logged", h("pre", {}, JSON.stringify(payload, null, 2)), !known || parts.length === 0));
    return parts;
  }

  /**
   * What an event says about a plan that was committed earlier.
   * @param {string} kind
   * @param {Payload} payload
   */
  ofPlan(kind, payload) {
    const committed = this.model.events.find((event) => event[4] === "plan_committed" && event[5].plan_id === payload.plan_id);
    const text = kind === "plan_ended" ? `Plan ${payload.plan_id} is ${payload.outcome} after ${payload.executed} ${payload.executed === 1 ? "primitive" : "primitives"}.` : `Plan ${payload.plan_id} is ${kind === "plan_resumed" ? "resumed" : "interrupted by a message"}.`;
    return [h("p", {}, text), committed ? this.brief(committed) : h("p", { class: "hint" }, "It was made before this stretch.")];
  }

  /** @param {number} seq */
  deciding(seq) {
    const { events } = this.model;
    const at = events.findIndex((event) => event[0] === seq);
    for (let index = at - 1; index >= 0; index -= 1) if (events[index][3] === events[at][3] && events[index][4] === "decision") return events[index];
    return null;
  }

  /** @param {number} id */
  message(id) {
    const message = this.model.messages.find((found) => found.id === id);
    if (!message) return "";
    return [h("blockquote", {}, message.content),
      h("ul", {}, message.to.map((to) => {
        const arrived = message.arrived.get(to);
        const read = message.read.get(to);
        const state = message.lost.includes(to) ? "lost on the way" : [arrived === undefined ? "not delivered yet" : `delivered ${seconds(arrived)}`, read === undefined ? "not read" : `read ${seconds(read)}`].join(", ");
        const reader = this.model.events.find((event) => event[4] === "message_read" && event[3] === to && event[5].ids?.includes(id));
        const next = reader ? this.following(this.model.events.indexOf(reader), "decision", to) : null;
        return h("li", {}, `to ${to}: ${state} `, next === null ? "" : this.link(this.model.events[next][0], `${to}'s decision after reading it`));
      }))];
  }

  /** @param {number} id */
  quote(id) {
    const message = this.model.messages.find((found) => found.id === id);
    return message ? h("div", {}, this.link(message.seq, `Message ${id} from ${message.from}`), h("blockquote", {}, message.content)) : h("p", { class: "hint" }, `Message ${id} was sent before this stretch.`);
  }

  /** @param {LogEvent} event */
  brief([seq, , , , kind, payload]) {
    let text = kind.replaceAll("_", " ");
    if (payload.plan) text += `: ${taskText(payload.plan)}: ${(payload.plan.actions ?? []).map(actionText).join(" → ")}`;
    else if (kind === "message_sent") text += ` to ${(payload.to ?? []).join(", ")}: ${payload.content}`;
    else if (kind === "plan_ended") text = `${payload.outcome} after ${payload.executed} ${payload.executed === 1 ? "primitive" : "primitives"}`;
    else if (payload.reason ?? payload.why) text += `: ${payload.reason ?? payload.why}`;
    return h("div", { class: "brief" }, this.link(seq, text), payload.failure ? failure(payload.failure) : "");
  }

  /**
   * @param {number} seq
   * @param {string} text
   */
  link(seq, text) {
    return h("button", { class: "link", onclick: () => this.dispatchEvent(new CustomEvent("pick", { detail: seq, bubbles: true })) }, text);
  }
}

/**
 * The numbers of the messages that an event is about.
 * @param {string} kind
 * @param {Payload} payload
 * @returns {number[]}
 */
function mentioned(kind, payload) {
  if (kind === "message_read") return payload.ids ?? [];
  if (kind === "plan_interrupted") return payload.messages ?? [];
  return kind === "message_delivered" || kind === "message_lost" ? [payload.id] : [];
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function fact(name, value) {
  return [h("dt", {}, name), h("dd", {}, String(value))];
}

/** @param {Payload | null | undefined} used */
function usage(used) {
  if (!used) return "";
  return [fact("tokens read", count(used.input_tokens) + (used.cached_tokens ? ` (${count(used.cached_tokens)} cached)` : "")), fact("tokens written", count(used.output_tokens)), fact("money", dollars(used.cost_usd)), fact("model calls", used.calls)];
}

/** @param {Payload} found */
function failure(found) {
  return h("p", { class: "failure" }, h("strong", {}, `${found.category ?? ""} ${found.code ?? ""}`.trim()), ` ${found.message ?? ""}`);
}

/**
 * What each agent did to the world in a step, and for what.
 * @param {Payload} payload
 * @param {string[]} primitives
 */
function moves(payload, primitives) {
  const rows = Object.entries(payload.actions ?? {}).map(([agent, move]) => [agent, moveText(move, primitives), payload.labels?.[agent] ?? "", payload.named?.[agent] ?? "", payload.rewards?.[agent] ?? ""]);
  return h("table", { class: "moves" }, h("thead", {}, h("tr", {}, ["agent", "move", "as part of", "for the task", "reward"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map(([agent, ...rest]) => h("tr", {}, h("th", { scope: "row" }, agent), rest.map((text) => h("td", {}, String(text)))))));
}

/** @param {Payload} payload */
function planText(payload) {
  const { plan } = payload;
  return section(`${payload.plan_id ? `Plan ${payload.plan_id}` : "Plan"} for ${taskText(plan)}`, [
    h("ol", {}, (plan.actions ?? []).map((/** @type {unknown} */ action) => h("li", {}, h("code", {}, actionText(action))))),
    plan.reasoning ? h("blockquote", {}, plan.reasoning) : "",
    plan.messages?.length ? [h("p", { class: "hint" }, "Said with it:"), plan.messages.map((/** @type {Payload} */ said) => h("blockquote", {}, `to ${(said.to ?? []).join(", ")}: ${said.content ?? ""}`))] : "",
  ], true);
}

/**
 * @param {string} title
 * @param {any} content
 * @param {boolean} [open]
 */
function section(title, content, open = false) {
  return h("details", { open }, h("summary", {}, title), content);
}

/**
 * A folded section whose text is fetched when it is first opened.
 * @param {string} title
 * @param {string} name
 * @param {boolean} [open]
 */
function blob(title, name, open = false) {
  const text = h("pre", {}, "…");
  const element = h("details", {}, h("summary", {}, title), text);
  element.addEventListener("toggle", async () => {
    if (!element.open || element.dataset.asked) return;
    element.dataset.asked = "yes";
    try {
      text.textContent = pretty(await source.blob(name));
    } catch (error) {
      text.replaceWith(problem(error));
    }
  });
  element.open = open;
  return element;
}

customElements.define("em-inspector", Inspector);
