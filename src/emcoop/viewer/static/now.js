// What holds at the moment, as text: each agent's stage, plan and last move, and what the tasks at hand lack.

import { h } from "./dom.js";
import { cut, moveText, STAGES, taskText } from "./format.js";
import { bisect, spanAt, spansOf } from "./model.js";

const ROWS_MOST = 5;
/** @type {[string, string][]} */
const COLUMNS = [["spatial", "spatial"], ["temporal", "temporal"], ["dependency", "depend."], ["participation", "at once"]];

/**
 * One card per agent.
 * @param {Model} model
 * @param {number} time
 * @param {string[]} primitives
 * @param {(seq: number) => void} pick
 */
export function agentCards(model, time, primitives, pick) {
  const last = lastStep(model, time);
  return model.team.map((agent) => {
    const stage = spanAt(spansOf(model.stages, agent), time);
    const plan = spanAt(spansOf(model.plans, agent), time);
    const active = plan !== null && (plan.to > time || (plan.outcome === null && plan.to === model.end));
    const known = STAGES[stage?.stage ?? ""];
    const action = model.actions.findLast((found) => found.agent === agent && found.time <= time && found.status === "start");
    const doing = active ? cut([taskText(plan.plan), action?.action].filter(Boolean).join(": "), 90) : "no plan";
    const move = last ? moveText(last.payload.actions?.[agent], primitives) : "";
    return h("div", { class: "card", role: "listitem" }, h("span", { class: `badge ${known?.class ?? ""}`, "data-tip": known?.name ?? "not begun", "aria-hidden": "true" }, stage?.stage ?? "–"), h("strong", {}, agent), h("span", { class: "hint" }, known?.name ?? "not begun"),
      h("button", { class: "link doing", "data-key": agent, "data-tip": active ? doing : null, disabled: !active, onclick: () => plan && pick(plan.seq) }, doing),
      move ? h("span", { class: "hint move", "data-tip": move }, `last move: ${cut(move, 120)}`) : "");
  });
}

/**
 * How many agents satisfy each kind of constraint of the tasks at hand, after the last step; nothing before the first.
 * @param {Model} model
 * @param {number} time
 */
export function tasksNow(model, time) {
  const last = lastStep(model, time);
  const tasks = Object.entries(last?.payload.tasks ?? {}).sort((a, b) => interest(b) - interest(a));
  if (!last || tasks.length === 0) return "";
  return h("table", { class: "tasks-now" },
    h("caption", {}, `Tasks at hand in step ${last.step}${tasks.length > ROWS_MOST ? ` (${ROWS_MOST} of ${tasks.length})` : ""}`),
    h("thead", {}, h("tr", {}, ["task", "needs", ...COLUMNS.map(([, title]) => title)].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, tasks.slice(0, ROWS_MOST).map(([name, task]) => h("tr", {}, h("th", { scope: "row", "data-tip": name }, name), h("td", {}, String(task.required)),
      COLUMNS.map(([kind]) => {
        const agents = task[kind] ?? [];
        const state = agents.length >= task.required ? "met" : agents.length ? "part" : "none";
        return h("td", { class: state, "data-tip": agents.join(", ") || "nobody" }, `${agents.length}${state === "met" ? " ✓" : ""}`);
      })))));
}

/** @param {[string, Payload]} entry */
function interest([, task]) {
  return 4 * (task.attempting ?? []).length + 2 * (task.spatial ?? []).length + task.required;
}

/**
 * The last step that is complete at a time, if the stretch has it.
 * @param {Model} model
 * @param {number} time
 */
function lastStep(model, time) {
  const done = bisect(model.steps, (step) => step.time <= time);
  return done === 0 ? null : model.steps[done - 1];
}
