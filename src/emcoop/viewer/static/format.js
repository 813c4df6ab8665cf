// Numbers and names as a person reads them.

/**
 * Simulated microseconds as seconds.
 * @param {number} us
 */
export function seconds(us) {
  const s = us / 1e6;
  return `${s >= 100 ? s.toFixed(0) : s >= 10 ? s.toFixed(1) : s.toFixed(2)} s`;
}

/**
 * A share as per cent.
 * @param {number | null | undefined} value
 */
export function percent(value) {
  return value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`;
}

/**
 * An estimate's interval, or nothing.
 * @param {Estimate} estimate
 */
export function interval(estimate) {
  return estimate.low === null || estimate.high === null ? "" : `${Math.round(estimate.low * 100)}–${Math.round(estimate.high * 100)}`;
}

/**
 * US dollars; null is "unknown".
 * @param {number | null | undefined} value
 */
export function dollars(value) {
  if (value === null || value === undefined) return "unknown";
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(2)}`;
}

/**
 * A whole number with thin spaces between thousands.
 * @param {number} value
 */
export function count(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/**
 * Text cut to a length.
 * @param {string} text
 * @param {number} length
 */
export function cut(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/**
 * A symbolic action in one line: `push(block_id=2, num_steps=5)`.
 * @param {any} action
 * @returns {string}
 */
export function actionText(action) {
  if (action === null || typeof action !== "object") return String(action);
  if (Array.isArray(action) || action.action_type === undefined) return JSON.stringify(action);
  const { action_type: name, ...rest } = action;
  const inside = Object.entries(rest).filter(([, value]) => value !== "").map(([key, value]) => `${key}=${typeof value === "string" ? value : Array.isArray(value) ? `[${value.map(actionText).join(", ")}]` : JSON.stringify(value)}`);
  return `${name}(${inside.join(", ")})`;
}

/**
 * What an agent does to the world in a step, in words: `push_left`, or `say, said="good day"` for a move that carries more
 * than a primitive's index.
 * @param {Move | undefined} move
 * @param {string[]} primitives the world's, in order
 */
export function moveText(move, primitives) {
  if (move === undefined || move === null) return "–";
  const { primitive, ...rest } = typeof move === "object" ? move : { primitive: move };
  const more = Object.entries(rest).filter(([, value]) => value !== "" && value !== null && !(Array.isArray(value) && value.length === 0)).map(([key, value]) => `${key}: ${bare(value)}`);
  return [primitives[primitive] ?? `primitive ${primitive}`, ...more].join(", ");
}

/**
 * A value as a person would write it: texts quoted, actions as such, a list without brackets.
 * @param {unknown} value
 * @returns {string}
 */
function bare(value) {
  if (Array.isArray(value)) return value.map(bare).join("; ");
  return typeof value === "string" ? `“${value}”` : actionText(value);
}

/**
 * JSON for reading; text that is no JSON as it is.
 * @param {string} text
 */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/**
 * The task of a plan, which may be none.
 * @param {Plan | null | undefined} plan
 */
export function taskText(plan) {
  return plan?.task && plan.task !== "none" ? plan.task : "no task";
}

/** @type {Record<string, {name: string, class: string}>} */
export const STAGES = {
  R: { name: "reasoning", class: "stage-r" },
  I: { name: "interrupted", class: "stage-i" },
  W: { name: "waiting", class: "stage-w" },
  X: { name: "executing", class: "stage-x" },
};
