// Where the data come from: the server, or the blocks inside an exported file. Both answer the same questions.

/**
 * Asks the server that the page came from.
 * @implements {Source}
 */
class ServerSource {
  constructor() {
    this.live = true;
  }

  async run() {
    return ask("api/run");
  }

  /** @param {number} id */
  async episode(id) {
    return ask(`api/episodes/${id}`);
  }

  /** @param {number} id */
  async why(id) {
    return ask(`api/episodes/${id}/why`);
  }

  /**
   * @param {number} id
   * @param {number} start
   * @param {number} size
   * @param {string[]} [kinds]
   * @returns {Promise<EventPage>}
   */
  async events(id, start, size, kinds = []) {
    return ask(`api/episodes/${id}/events?start=${start}&size=${size}&kinds=${kinds.join(",")}`);
  }

  /**
   * @param {number} id
   * @param {number} start
   * @returns {Promise<LogEvent[]>}
   */
  async before(id, start) {
    return (await ask(`api/episodes/${id}/before?start=${start}`)).events;
  }

  /**
   * The number of the first event at or after a time, or with so many steps: `{time}` or `{step}`.
   * @param {number} id
   * @param {{time?: number, step?: number}} where
   * @returns {Promise<number>}
   */
  async seek(id, where) {
    return (await ask(`api/episodes/${id}/seek?${new URLSearchParams(/** @type {Record<string, any>} */ (where))}`)).seq;
  }

  /**
   * @param {number} id
   * @param {string} text
   * @param {number} [start]
   * @returns {Promise<{hits: Hit[], next: number | null}>}
   */
  async search(id, text, start = 0) {
    return ask(`api/episodes/${id}/search?${new URLSearchParams({ text, start: String(start) })}`);
  }

  /** @param {string} name */
  async blob(name) {
    return (await fetched(`api/blob/${name}`)).text();
  }

  /**
   * @param {number} id
   * @param {number} step
   */
  async frame(id, step) {
    return (await fetched(`api/episodes/${id}/frames/${step}`)).text();
  }

  /**
   * Calls back with every pulse of the run, waiting for each call; returns a function that ends it. A hidden page does not listen: a browser
   * opens only a few connections to one server.
   * @param {(pulse: Pulse) => Promise<void>} callback
   * @returns {() => void}
   */
  listen(callback) {
    /** @type {EventSource | null} */
    let stream = null;
    let before = Promise.resolve(); // one after the other, so that an older answer never replaces a newer one
    const follow = () => {
      stream?.close();
      stream = null;
      if (document.hidden) return;
      stream = new EventSource("api/live");
      stream.onmessage = (message) => { before = before.finally(() => stream && callback(JSON.parse(message.data))); };
      stream.addEventListener("problem", () => stream?.close());
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      stream?.close();
      stream = null;
    };
  }
}

/** @param {string} path */
async function fetched(path) {
  let response;
  try {
    response = await fetch(path);
  } catch (error) {
    if (error instanceof TypeError) throw new Error("The server does not answer. Is `emcoop view` still running?");
    throw error;
  }
  if (!response.ok) {
    const text = await response.text();
    let said = text;
    if (response.headers.get("content-type")?.startsWith("application/json")) said = JSON.parse(text).error;
    throw new Error(said || `The server answered ${response.status}.`);
  }
  return response;
}

/**
 * @param {string} path
 * @returns {Promise<any>}
 */
async function ask(path) {
  return (await fetched(path)).json();
}

/**
 * Reads the compressed blocks of an exported file, each when it is first needed; the latest few are kept.
 * @implements {Source}
 */
class FileSource {
  constructor() {
    this.live = false;
    /** @type {Map<string, Promise<any>>} */
    this.kept = new Map();
  }

  /**
   * @param {string} name
   * @returns {Promise<any>}
   */
  async block(name) {
    if (!this.kept.has(name)) {
      const element = document.getElementById(`block-${name}`);
      if (element === null) throw new Error(`This file does not contain ${name}.`);
      if (this.kept.size >= 40) this.kept.delete(this.kept.keys().next().value ?? "");
      this.kept.set(name, unpacked((element.textContent ?? "").trim()));
    }
    return this.kept.get(name);
  }

  async run() {
    return this.block("run");
  }

  /** @param {number} id */
  async episode(id) {
    return (await this.block(`e${id}`)).episode;
  }

  /** @param {number} id */
  async why(id) {
    const { why } = await this.block(`e${id}`);
    if (typeof why === "string") throw new Error(why);
    return why;
  }

  /**
   * @param {number} id
   * @param {number} start
   * @param {number} size
   * @param {string[]} [kinds]
   * @returns {Promise<EventPage>}
   */
  async events(id, start, size, kinds = []) {
    const { marks } = await this.block(`e${id}`);
    /** @type {LogEvent[]} */
    const events = [];
    /** @type {HostFacts} */
    const host = {};
    for (let page = pageOf(marks, (mark) => mark[0] <= start); page < marks.length; page += 1) {
      const block = await this.block(`e${id}p${page}`);
      for (const event of block.events) {
        if (event[0] < start || (kinds.length && !kinds.includes(event[4]))) continue;
        if (events.length === size) return { events, host, next: event[0] };
        events.push(event);
        if (block.host[event[0]]) host[event[0]] = block.host[event[0]];
      }
    }
    return { events, host, next: null };
  }

  /**
   * @param {number} id
   * @param {number} start
   * @returns {Promise<LogEvent[]>}
   */
  async before(id, start) {
    /** @type {Map<string | null, LogEvent>} */
    const stages = new Map();
    /** @type {Map<string | null, LogEvent>} */
    const plans = new Map();
    const { events } = await this.events(id, Math.max(0, start - 4000), 4000, ["stage", "plan_committed", "plan_ended"]);
    for (const event of events.filter((found) => found[0] < start)) {
      if (event[4] === "stage") stages.set(event[3], event);
      else if (event[4] === "plan_committed") plans.set(event[3], event);
      else plans.delete(event[3]);
    }
    return [...stages.values(), ...plans.values()].sort((a, b) => a[0] - b[0]);
  }

  /**
   * @param {number} id
   * @param {{time?: number, step?: number}} where
   * @returns {Promise<number>}
   */
  async seek(id, where) {
    const { marks, episode } = await this.block(`e${id}`);
    const field = where.step === undefined ? 1 : 2;
    const wanted = where.step ?? where.time ?? 0;
    const page = pageOf(marks, (mark) => mark[field] < wanted);
    for (let number = page; number < marks.length && number < page + 2; number += 1) {
      const found = (await this.block(`e${id}p${number}`)).events.find((/** @type {LogEvent} */ event) => event[field] >= wanted);
      if (found) return found[0];
    }
    return Math.max(0, episode.events - 1);
  }

  /**
   * @param {number} id
   * @param {string} text
   * @param {number} [start]
   * @returns {Promise<{hits: Hit[], next: number | null}>}
   */
  async search(id, text, start = 0) {
    const wanted = text.toLowerCase();
    /** @type {Hit[]} */
    const hits = [];
    /** @type {number | null} */
    let from = start;
    while (from !== null && hits.length < 50) {
      /** @type {EventPage} */
      const page = await this.events(id, from, 1000);
      for (const event of page.events) {
        const value = texts(event[5]).find((found) => found.toLowerCase().includes(wanted));
        if (value === undefined) continue;
        const at = value.toLowerCase().indexOf(wanted);
        const [seq, time, step, agent, kind] = event;
        hits.push([seq, time, step, agent, kind, value.slice(Math.max(0, at - 40), at + text.length + 80)]);
      }
      from = page.next;
    }
    return { hits, next: from };
  }

  /** @param {string} name */
  async blob(name) {
    const buckets = (await this.block("run")).buckets;
    const found = (await this.block(`b${parseInt(name.slice(0, 4), 16) % buckets}`))[name];
    if (found === undefined) throw new Error(`The log does not keep the blob ${name}.`);
    return found;
  }

  /**
   * @param {number} id
   * @param {number} step
   */
  async frame(id, step) {
    const { frames } = await this.block(`e${id}`);
    if (typeof frames === "string") throw new Error(frames);
    const pictures = await this.block(`e${id}f${Math.floor(step / frames)}`);
    const found = pictures[step % frames];
    if (found === undefined) throw new Error(`This file has no picture of step ${step}.`);
    return found;
  }

  listen() {
    return () => undefined;
  }
}

/**
 * @param {number[][]} marks
 * @param {(mark: number[]) => boolean} early
 */
function pageOf(marks, early) {
  let low = 0;
  let high = marks.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (early(marks[middle])) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/**
 * @param {unknown} value
 * @returns {string[]}
 */
function texts(value) {
  if (typeof value === "string") return /^[0-9a-f]{64}$/.test(value) ? [] : [value];
  if (value !== null && typeof value === "object") return Object.values(value).flatMap(texts);
  return [];
}

/**
 * @param {string} base64
 * @returns {Promise<any>}
 */
async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** @type {Source} */
export const source = document.getElementById("block-run") === null ? new ServerSource() : new FileSource();
