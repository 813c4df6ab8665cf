// Under the lanes: per task, how many agents satisfy each kind of constraint at each step (paper, equation 6).

import { h, svg } from "./dom.js";

const ROW = 9;
const HEAD = 16;
const MOST = 8;
const KINDS = [["spatial", "spatial"], ["temporal", "temporal"], ["dependency", "dependency"], ["participation", "all at once"]];

/**
 * The tasks that are drawn: the eight that most was done for, in the order in which they begin.
 * @param {Model} model
 * @returns {TaskRows}
 */
export function taskRows(model) {
  const tasks = [...model.tasks].sort((a, b) => weight(b[1]) - weight(a[1]));
  const shown = tasks.slice(0, MOST).sort((a, b) => a[1][0].time - b[1][0].time);
  const height = shown.length ? 24 + shown.length * (HEAD + KINDS.length * ROW + 4) : 0;
  const labels = () => shown.length === 0 ? [] : [
    h("div", { class: "tasks-title", title: "Agents that satisfy each constraint, step by step" }, tasks.length > MOST ? `Tasks (${MOST} of ${tasks.length})` : "Tasks"),
    shown.map(([name, entries]) => h("div", { class: "task-label" },
      h("div", { class: "task-name", title: name }, name, h("small", {}, ` needs ${entries[0].task.required}`)),
      KINDS.map(([, title]) => h("div", { class: "kind" }, title)))),
  ];
  return { shown, height, labels };
}

/** @param {TaskEntry[]} entries */
function weight(entries) {
  return entries.reduce((sum, { task }) => sum + 1 + 3 * (task.attempting ?? []).length + 2 * (task.participation ?? []).length, 0);
}

/**
 * Draw them below the lanes: full where enough agents satisfy the constraint, part of the height for part of them.
 * @param {TaskRows} rows
 * @param {number} top
 * @param {ToX} x
 */
export function drawTasks(rows, top, x) {
  const group = svg("g", { class: "tasks" });
  let y = top + 24;
  for (const [name, entries] of rows.shown) {
    y += HEAD;
    for (const [kind, title] of KINDS) {
      for (const { step, time, began, task } of entries) {
        const agents = task[kind] ?? [];
        const met = agents.length >= task.required;
        const share = Math.min(1, agents.length / Math.max(1, task.required));
        const width = Math.max(1, x(time) - x(began) - 0.6);
        const text = `${name}, step ${step}: ${title}: ${agents.length} of ${task.required}${agents.length ? ` (${agents.join(", ")})` : ""}`;
        const height = Math.max(1.5, (ROW - 2) * share);
        group.append(svg("g", { class: met ? "met" : agents.length ? "part" : "none" }, svg("title", {}, text),
          svg("rect", { class: "back", x: x(began), y, width, height: ROW - 2 }),
          svg("rect", { x: x(began), y: y + ROW - 2 - height, width, height })));
      }
      y += ROW;
    }
    y += 4;
  }
  return group;
}
