// The types of the page's modules in static/, for the checker alone: nothing here is served or exported.

/** Number, time in microseconds of simulated time, completed steps, agent (null: the team), kind, payload. */
type LogEvent = [seq: number, time: number, step: number, agent: string | null, kind: string, payload: Payload];
/** What an event says; its fields depend on its kind (docs/log.md), and a log may have kinds not known here. */
type Payload = Record<string, any>;
type Hit = [seq: number, time: number, step: number, agent: string | null, kind: string, around: string];
type HostFacts = Record<string, Record<string, unknown>>;

interface EventPage {
  events: LogEvent[];
  host: HostFacts;
  next: number | null;
}

interface EpisodeLine {
  id: number;
  cell: string;
  seed: number;
  status: string;
  limit: string | null;
  success: number | boolean | null;
  progress: number | null;
  steps: number;
  error: string | null;
}

interface EpisodeMeta extends EpisodeLine {
  setup: Payload;
  digest: string;
  start: Payload;
  end: Payload | null;
  last: LogEvent | null;
  events: number;
  duration: number;
}

/** Why an episode was lost, as far as it is known. */
interface Why {
  lost: boolean;
  long: boolean;
  failure: Payload | null;
  no_return: { policy: string; point_of_no_return: number | null; time: number | null; steps: number; success: boolean }[];
  ask: string;
  explain: string;
}

/** A place in time that is marked on the scrubber and in the lanes. */
type Sign = { time: number; step: number; kind: "no-return" | "lack" | "parting"; text: string };

interface Estimate {
  mean: number | null;
  low: number | null;
  high: number | null;
}

interface Cell {
  cell: string;
  env: string;
  level: string;
  agents: number;
  topology: string;
  agent: string;
  model: string | null;
  interventions: string[];
  role: string | null;
  n: number;
  failed: number;
  unfinished: number;
  limits: Record<string, number>;
  success: Estimate;
  progress: Estimate;
  error?: string | null;
}

interface Run {
  run: string;
  writer: boolean;
  cells: Cell[];
  references: Cell[];
  episodes: EpisodeLine[];
}

interface Pulse {
  writer: boolean;
  finished: number;
  going: { id: number; status: string; events: number; steps: number; duration: number }[];
}

/** Where the data come from; the server and the exported file answer alike. */
interface Source {
  live: boolean;
  run(): Promise<Run>;
  episode(id: number): Promise<EpisodeMeta>;
  why(id: number): Promise<Why>;
  events(id: number, start: number, size: number, kinds?: string[]): Promise<EventPage>;
  before(id: number, start: number): Promise<LogEvent[]>;
  seek(id: number, where: { time?: number; step?: number }): Promise<number>;
  search(id: number, text: string, start?: number): Promise<{ hits: Hit[]; next: number | null }>;
  blob(name: string): Promise<string>;
  frame(id: number, step: number): Promise<string>;
  listen(callback: (pulse: Pulse) => Promise<void>): () => void;
}

interface StageSpan {
  stage: string;
  from: number;
  to: number;
  seq: number;
}

interface PlanSpan {
  id: number;
  origin: string | null;
  plan: Plan | null;
  from: number;
  to: number;
  outcome: string | null;
  failure: Payload | null;
  executed: number | null;
  resumed: number[];
  seq: number;
}

interface Plan {
  task?: string;
  actions?: unknown[];
  reasoning?: string;
}

interface Message {
  id: number;
  seq: number;
  from: string;
  to: string[];
  content: string;
  price: unknown;
  time: number;
  arrived: Map<string, number>;
  read: Map<string, number>;
  lost: string[];
}

interface Refused {
  seq: number;
  from: string;
  time: number;
  to?: string[];
  content?: string;
  reason?: string;
}

/** An event of an agent with the fields of its payload beside its own. */
type Flat = { seq: number; time: number; agent: string } & Payload;

interface TaskEntry {
  step: number;
  time: number;
  began: number;
  task: Payload;
}

/** A stretch of an episode's events, as it is drawn. */
interface Model {
  team: string[];
  events: LogEvent[];
  complete: boolean;
  start: number;
  end: number;
  stepBefore: number;
  steps: { seq: number; time: number; step: number; began: number; payload: Payload }[];
  messages: Message[];
  refused: Refused[];
  decisions: Flat[];
  marks: { seq: number; time: number; agent: string; kind: string; payload: Payload }[];
  actions: Flat[];
  stages: Map<string, StageSpan[]>;
  plans: Map<string, PlanSpan[]>;
  tasks: Map<string, TaskEntry[]>;
  gains: Gain[];
}

type Axis = "time" | "steps";
type Jump = "first" | "last" | 1 | -1;

interface Scale {
  place(time: number): number;
  time(share: number): number;
}

/** From a time to a horizontal place in pixels. */
type ToX = (time: number) => number;
type Point = [x: number, y: number];

type TaskRows = { shown: [string, TaskEntry[]][]; height: number; labels(): unknown[] };
type Gain = { agent: string; time: number; names: string[]; seq: number };
type GainRows = { shown: [string, Gain[]][]; height: number; labels(): unknown[] };
type EpisodeEntry = { episode: EpisodeLine; where: string; topology: string; team: string };

/** One of the two episodes of a comparison. */
interface Side {
  id: number;
  track: import("./static/track.js").Track;
  frames: import("./static/frame.js").Frames;
  world: import("./static/frame.js").WorldFrame;
  now: HTMLElement;
  lanes: import("./static/lanes.js").Lanes;
  drawn?: Model;
}

type Parting = { step: number; why: string; times: [number, number] };
/** What an agent does to the world in a step: a primitive's index, or a mapping with it under `primitive`. */
type Move = number | ({ primitive: number } & Payload);

/** A page that takes keys; `key` returns whether one was of use. */
type Page = HTMLElement & { key?(event: KeyboardEvent): boolean };

type ElementOf<Tag extends string> = Tag extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Tag] : HTMLElement;

interface HTMLElementTagNameMap {
  "em-frame": import("./static/frame.js").WorldFrame;
  "em-inspector": import("./static/inspector.js").Inspector;
  "em-lanes": import("./static/lanes.js").Lanes;
  "em-talk": import("./static/talk.js").Talk;
  "em-transport": import("./static/transport.js").Transport;
  "em-why": import("./static/why.js").WhyLost;
}

interface HTMLElementEventMap {
  go: CustomEvent<number>;
  jump: CustomEvent<Jump>;
  axis: CustomEvent<Axis>;
  moment: CustomEvent<number>;
  pick: CustomEvent<number>;
  signs: CustomEvent<Sign[]>;
}
