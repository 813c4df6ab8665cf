// Under the lanes: per task, how many agents satisfy each kind of constraint at each step (paper, equation 6).

import { h, svg } from "./dom.js";

const ROW = 9;
const HEAD = 16;
const MOST = 8;
const CONSTRAINTS = [["spatial", "spatial"], ["temporal", "temporal"], ["dependency", "dependency"], ["participation", "all at once"]];

/**
 * The tasks that are drawn: the eight that most was done for between two times, in the order in which they begin.
 * @param {Model} model
 * @param {number} from
 * @param {number} to
 * @returns {TaskRows}
 */
export function taskRows(model, from, to) {
  /** @type {[string, TaskEntry[]][]} */
  const all = [...model.tasks].map(([name, entries]) => [name, entries.filter(({ time, began }) => time >= from && began <= to)]);
  const tasks = all.filter(([, entries]) => entries.length).sort((a, b) => weight(b[1]) - weight(a[1]));
  const shown = tasks.slice(0, MOST).sort((a, b) => a[1][0].time - b[1][0].time);
  const room = Math.min(MOST, model.tasks.size);
  const height = room ? 24 + room * (HEAD + CONSTRAINTS.length * ROW + 4) : 0;
  const labels = () => room === 0 ? [] : [
    h("div", { class: "tasks-title", "data-tip": "Agents that satisfy each constraint, step by step, of the tasks at hand in the part that is shown" }, tasks.length > MOST ? `Tasks (${MOST} of ${tasks.length} here)` : "Tasks"),
    shown.map(([name, entries]) => h("div", { class: "task-label" },
      h("div", { class: "task-name", "data-tip": name }, h("span", {}, name), h("small", {}, `needs ${entries[0].task.required}`)),
      CONSTRAINTS.map(([, title]) => h("div", { class: "kind" }, title)))),
  ];
  return { shown, height, labels };
}

/**
 * How much was done for a task, counted once for every agent that it needs.
 * @param {TaskEntry[]} entries
 */
function weight(entries) {
  return entries.reduce((sum, { task }) => sum + task.required * (1 + 3 * (task.attempting ?? []).length + 2 * (task.participation ?? []).length), 0);
}

/**
 * Draw them below the lanes: full where enough agents satisfy the constraint, part of the height for part of them.
 * @param {TaskRows} rows
 * @param {number} top
 * @param {ToX} x
 * @param {number} left where the part that is seen begins
 */
export function drawTasks(rows, top, x, left) {
  const group = svg("g", { class: "tasks", "aria-hidden": "true" }, rows.height ? colourKey(top + 15, left) : null);
  let y = top + 24;
  for (const [name, entries] of rows.shown) {
    y += HEAD;
    for (const [kind, title] of CONSTRAINTS) {
      for (const { step, time, began, task } of entries) {
        const agents = task[kind] ?? [];
        const met = agents.length >= task.required;
        const share = Math.min(1, agents.length / Math.max(1, task.required));
        const width = Math.max(1, x(time) - x(began) - 0.6);
        const text = `${name}, step ${step}: ${title}: ${agents.length} of ${task.required}${agents.length ? ` (${agents.join(", ")})` : ""}`;
        const height = Math.max(1.5, (ROW - 2) * share);
        group.append(svg("g", { class: met ? "met" : agents.length ? "part" : "none", "data-tip": text },
          svg("rect", { class: "back", x: x(began), y, width, height: ROW - 2 }),
          svg("rect", { x: x(began), y: y + ROW - 2 - height, width, height })));
      }
      y += ROW;
    }
    y += 4;
  }
  return group;
}

/**
 * @param {number} y
 * @param {number} left
 */
function colourKey(y, left) {
  const entries = [["met", "enough agents satisfy it"], ["part", "some do"], ["none", "nobody does"]];
  let x = left + 22;
  return entries.map(([kind, text]) => {
    const at = x;
    x += 34 + text.length * 6.2;
    return svg("g", { class: kind }, svg("rect", { class: "back", x: at, y: y - 7, width: 12, height: 7 }),
      kind === "none" ? null : svg("rect", { x: at, y: y - (kind === "met" ? 7 : 3), width: 12, height: kind === "met" ? 7 : 3 }), svg("text", { x: at + 17, y }, text));
  });
}
