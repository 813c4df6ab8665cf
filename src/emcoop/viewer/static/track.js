// One episode's course: the stretch of events around a moment, loaded as the moment moves. Never the whole episode.

import { buildModel, stepAt } from "./model.js";
import { source } from "./source.js";

const STRETCH = 2000;
const LEAD = 700;

export class Track {
  /** @type {EpisodeMeta} */
  meta;
  /** @type {string[]} */
  team;
  /** @type {number | undefined} */
  first;
  /** @type {number | null | undefined} */
  next;
  /** @type {{wanted: string, loaded: Promise<boolean>} | undefined} the latest stretch that was asked for */
  asked;

  /** @param {number} id */
  constructor(id) {
    this.id = id;
    /** @type {Model | null} */
    this.model = null;
    /** @type {HostFacts} */
    this.host = {};
  }

  /**
   * What the episode is; then the stretch around a time (or the event with number `seq`).
   * @param {number} time
   * @param {number | null} [seq]
   */
  async open(time, seq = null) {
    this.meta = await source.episode(this.id);
    this.team = (this.meta.start.team ?? []).map((/** @type {{agent: string}} */ member) => member.agent);
    if (seq !== null) await this.load(seq);
    else await this.reach(time);
  }

  /** The stretch's model, once the track is open. */
  get stretch() {
    return /** @type {Model} */ (this.model);
  }

  /** Learn what has been written since; reloads the stretch when it grew. Returns whether anything changed. */
  async refresh() {
    const before = this.meta.events;
    const status = this.meta.status;
    this.meta = await source.episode(this.id);
    if (this.meta.events !== before && (this.model === null || this.next === null)) await this.load(this.first ?? 0, this.first ?? 0);
    return this.meta.events !== before || this.meta.status !== status;
  }

  /**
   * Whether the present stretch knows what happens at a time.
   * @param {number} time
   */
  covers(time) {
    const { model } = this;
    if (model === null || model.events.length === 0) return false;
    return (time >= model.start || this.first === 0) && (time < model.end || this.next === null);
  }

  /**
   * Load what is needed to stand at a time.
   * @param {number} time
   */
  async reach(time) {
    if (this.covers(time)) return false;
    await this.load(await source.seek(this.id, { time }));
    return true;
  }

  /**
   * Load the stretch around an event, or from `start` on; asked for again on its way, it is not fetched twice.
   * @param {number} seq
   * @param {number} [start]
   * @returns {Promise<boolean>} false where another stretch was asked for in the meantime, which comes instead
   */
  load(seq, start = this.meta.events <= STRETCH ? 0 : Math.max(0, seq - LEAD)) {
    const wanted = `${start} of ${this.meta.events} for ${seq}`;
    if (this.asked?.wanted !== wanted) {
      const asked = (this.asked = { wanted, loaded: this.fetch(seq, start, wanted) });
      const forget = () => { if (this.asked === asked) this.asked = undefined; };
      asked.loaded.then(forget, forget);
    }
    return this.asked.loaded;
  }

  /**
   * @param {number} seq
   * @param {number} start
   * @param {string} wanted
   * @returns {Promise<boolean>}
   */
  async fetch(seq, start, wanted) {
    const [page, before] = await Promise.all([source.events(this.id, start, STRETCH), start ? source.before(this.id, start) : []]);
    if (this.asked?.wanted !== wanted) return false;
    if (page.next !== null && page.next <= seq) return this.load(seq, seq); // long events: the page ended before it
    if (this.team.length === 0) this.team = page.events[0]?.[5]?.team?.map((/** @type {{agent: string}} */ member) => member.agent) ?? [];
    this.first = start;
    this.next = page.next;
    this.host = page.host;
    this.model = buildModel(this.team, page.events, before, page.next === null);
    return true;
  }

  /**
   * The time at which a step is complete; 0 for step 0, null where another stretch was asked for in the meantime.
   * @param {number} step
   * @returns {Promise<number | null>}
   */
  async timeOfStep(step) {
    if (step <= 0) return 0;
    const known = this.stretch.steps.find((found) => found.step === step);
    if (known) return known.time;
    const seq = await source.seek(this.id, { step });
    if (!(await this.load(seq))) return null;
    return this.stretch.steps.find((found) => found.step === step)?.time ?? this.meta.duration;
  }

  /**
   * The number of steps that are complete at a time.
   * @param {number} time
   */
  stepAt(time) {
    return stepAt(this.stretch, time);
  }

  /**
   * The event with this number, loading its stretch when it lies elsewhere.
   * @param {number} seq
   * @returns {Promise<LogEvent | null>}
   */
  async event(seq) {
    const find = () => this.stretch.events.find((event) => event[0] === seq);
    if (!find()) await this.load(seq);
    return find() ?? null;
  }
}
