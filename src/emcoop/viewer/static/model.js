// A stretch of an episode's events, made into what is drawn: stages, plans, messages, decisions, steps, tasks.
// An event is [seq, time, step, agent, kind, payload]; times are microseconds of simulated time.

const KNOWN = new Set(
  ("episode_start stage decision model_call message_sent message_delivered message_read message_lost message_refused " +
    "plan_committed plan_rejected plan_interrupted plan_resumed plan_ended fallback action step episode_end").split(" "),
);

const MARKED = new Set(["plan_rejected", "fallback", "plan_interrupted"]);

/** The end of a span while its model is being built; a finished model has none. */
const NOT_OVER = /** @type {any} */ (null);

/**
 * Whether the page knows what a kind of event means; others are shown raw.
 * @param {string} kind
 */
export function isKnown(kind) {
  return KNOWN.has(kind);
}

/**
 * @param {string[]} team the agents in index order
 * @param {LogEvent[]} events consecutive events
 * @param {LogEvent[]} before what reaches into them from earlier: the latest stages and plans that are not over
 * @param {boolean} complete whether the episode's last event is among them
 * @returns {Model}
 */
export function buildModel(team, events, before, complete) {
  const first = events[0] ?? [0, 0, 0];
  const last = events[events.length - 1] ?? first;
  /** @type {Model} */
  const model = {
    team,
    events,
    complete,
    start: first[0] === 0 ? 0 : first[1],
    end: last[1],
    stepBefore: first[0] === 0 ? 0 : first[2],
    steps: [],
    messages: [],
    refused: [],
    decisions: [],
    marks: [],
    actions: [],
    stages: new Map(team.map((agent) => [agent, []])),
    plans: new Map(team.map((agent) => [agent, []])),
    tasks: new Map(),
    gains: [],
  };
  for (const event of before) read(model, event, model.start);
  for (const event of events) read(model, event, event[1]);
  for (const spans of [...model.stages.values(), ...model.plans.values()]) {
    for (const span of spans) span.to ??= model.end;
  }
  return model;
}

/**
 * @param {Model} model
 * @param {LogEvent} event
 * @param {number} time
 */
function read(model, event, time) {
  const [seq, , step, agent, kind, payload] = event;
  if (kind === "step") readStep(model, seq, time, step, payload);
  else if (kind.startsWith("message_")) readMessage(model, event);
  else if (agent === null || !model.stages.has(agent)) return;
  else if (kind === "stage") {
    const spans = spansOf(model.stages, agent);
    closeLast(spans, time);
    if (spans.length === 0 && payload.from && time > model.start) {
      spans.push({ stage: payload.from, from: model.start, to: time, seq });
    }
    spans.push({ stage: payload.to, from: time, to: NOT_OVER, seq });
  } else if (kind === "plan_committed") {
    const spans = spansOf(model.plans, agent);
    closeLast(spans, time);
    const { plan_id: id, origin, plan } = payload;
    spans.push({ id, origin, plan, from: time, to: NOT_OVER, outcome: null, failure: null, executed: null, resumed: [], seq });
  } else if (kind === "plan_ended") readPlanEnd(model, agent, time, seq, payload);
  else if (kind === "plan_resumed") spansOf(model.plans, agent).at(-1)?.resumed.push(time);
  else if (kind === "decision") model.decisions.push({ seq, time, agent, ...payload });
  else if (kind === "action") model.actions.push({ seq, time, agent, ...payload });
  if (agent !== null && MARKED.has(kind)) model.marks.push({ seq, time, agent, kind, payload });
}

/**
 * @param {{to: number}[]} spans
 * @param {number} time
 */
function closeLast(spans, time) {
  const last = spans.at(-1);
  if (last) last.to ??= time;
}

/**
 * @param {Model} model
 * @param {string} agent
 * @param {number} time
 * @param {number} seq
 * @param {Payload} payload
 */
function readPlanEnd(model, agent, time, seq, payload) {
  const spans = spansOf(model.plans, agent);
  let span = spans.findLast((found) => found.id === payload.plan_id);
  if (!span) {
    span = { id: payload.plan_id, origin: null, plan: null, from: model.start, to: NOT_OVER, outcome: null, failure: null, executed: null, resumed: [], seq };
    spans.push(span);
  }
  Object.assign(span, { to: time, outcome: payload.outcome, failure: payload.failure, executed: payload.executed });
}

/**
 * @param {Model} model
 * @param {LogEvent} event
 */
function readMessage(model, [seq, time, , author, kind, payload]) {
  const agent = author ?? ""; // a message has an agent in every sound log
  if (kind === "message_sent") {
    const to = payload.to ?? [];
    model.messages.push({ id: payload.id, seq, from: agent, to, content: payload.content ?? "", price: payload.price, time, arrived: new Map(), read: new Map(), lost: [] });
  } else if (kind === "message_refused") {
    model.refused.push({ seq, from: agent, time, ...payload });
  } else if (kind === "message_read") {
    for (const id of payload.ids ?? []) messageOf(model, id)?.read.set(agent, time);
  } else {
    const message = messageOf(model, payload.id);
    if (kind === "message_delivered") message?.arrived.set(agent, time);
    else message?.lost.push(payload.to);
  }
}

/**
 * @param {Model} model
 * @param {number} id
 */
function messageOf(model, id) {
  return model.messages.findLast((message) => message.id === id);
}

/**
 * @param {Model} model
 * @param {number} seq
 * @param {number} time
 * @param {number} step
 * @param {Payload} payload
 */
function readStep(model, seq, time, step, payload) {
  const began = model.steps.at(-1)?.time ?? model.start;
  model.steps.push({ seq, time, step, began, payload });
  for (const [name, task] of Object.entries(payload.tasks ?? {})) {
    const entries = model.tasks.get(name) ?? [];
    entries.push({ step, time, began, task });
    model.tasks.set(name, entries);
  }
  for (const [agent, names] of Object.entries(payload.gains ?? {})) {
    if (names.length) model.gains.push({ agent, time, names, seq });
  }
}

/**
 * How many of the stretch's steps are complete at a time, and so the step that the world shows.
 * @param {Model} model
 * @param {number} time
 */
export function stepAt(model, time) {
  const done = bisect(model.steps, (step) => step.time <= time);
  return done === 0 ? model.stepBefore : model.steps[done - 1].step;
}

/**
 * How many leading entries satisfy a condition that, once false, stays false.
 * @template T
 * @param {T[]} entries
 * @param {(entry: T) => boolean} condition
 */
export function bisect(entries, condition) {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (condition(entries[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * An agent's spans: a model has them for its whole team.
 * @template T
 * @param {Map<string, T[]>} spans
 * @param {string} agent
 * @returns {T[]}
 */
export function spansOf(spans, agent) {
  return /** @type {T[]} */ (spans.get(agent));
}

/**
 * The last of an agent's spans that has begun at a time.
 * @template {{from: number}} T
 * @param {T[]} spans
 * @param {number} time
 * @returns {T | null}
 */
export function spanAt(spans, time) {
  const begun = bisect(spans, (span) => span.from <= time);
  return begun === 0 ? null : spans[begun - 1];
}

/**
 * From time to a place between 0 and 1, and back, on the cognitive clock ("time") or with every step equally
 * wide ("steps").
 * @param {Model} model
 * @param {Axis} axis
 * @returns {Scale}
 */
export function makeScale(model, axis) {
  /** @type {Point[]} */
  const knots = [[model.start, 0]];
  if (axis === "steps" && model.steps.length) {
    for (const [index, step] of model.steps.entries()) knots.push([step.time, index + 1]);
    if (model.end > knots[knots.length - 1][0]) knots.push([model.end, model.steps.length + 0.5]);
  } else {
    knots.push([Math.max(model.end, model.start + 1), 1]);
  }
  const width = knots[knots.length - 1][1];
  return {
    place: (time) => between(knots, time, 0, 1) / width,
    time: (share) => between(knots, share * width, 1, 0),
  };
}

/**
 * @param {Point[]} knots
 * @param {number} value
 * @param {0 | 1} from
 * @param {0 | 1} to
 */
function between(knots, value, from, to) {
  const after = Math.min(knots.length - 1, Math.max(1, bisect(knots, (knot) => knot[from] <= value)));
  const [low, high] = [knots[after - 1], knots[after]];
  const share = high[from] === low[from] ? 1 : (value - low[from]) / (high[from] - low[from]);
  return low[to] + Math.min(1, Math.max(0, share)) * (high[to] - low[to]);
}
