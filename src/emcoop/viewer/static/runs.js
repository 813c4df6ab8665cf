// The table of cells and the table of episodes.

import { h, keepFocus, problem, replace, svg, whenReleased } from "./dom.js";
import { count, interval, percent } from "./format.js";
import { address, note, place } from "./place.js";
import { source } from "./source.js";

const PER_PAGE = 100;
const CELL_COLUMNS = [["topology", "Topology"], ["team", "Team"], ["n", "n"], ["success", "Success"], ["progress", "Progress"]];

/** @type {[string, string, (episode: EpisodeLine) => boolean][]} what the table of episodes can be narrowed to */
const OUTCOMES = [
  ["", "every outcome", () => true], ["won", "solved", (episode) => Boolean(episode.success)],
  ["lost", "not solved", (episode) => episode.status === "finished" && !episode.success],
  ["going", "running", (episode) => episode.status === "running"],
  ["broken", "cut off, interrupted, failed", (episode) => !["finished", "running"].includes(episode.status)],
];

/** The first page of a run. */
class RunsPage extends HTMLElement {
  /** @type {{q: string, cell: string, sort: string, csort: string, end: string, page: number}} */
  state;
  /** @type {Set<number>} */
  picked;
  /** @type {Run} */
  run;
  /** @type {(() => void) | undefined} */
  stop;
  /** @type {Map<string, Cell>} */
  cells;
  /** @type {HTMLElement} */
  counts;
  /** @type {HTMLElement} */
  cellTable;
  /** @type {HTMLElement} */
  episodeTable;
  /** @type {HTMLElement} */
  compare;

  async connectedCallback() {
    const { query } = place();
    this.state = { q: query.get("q") ?? "", cell: query.get("cell") ?? "", sort: query.get("sort") ?? "id", csort: query.get("csort") ?? "", end: query.get("end") ?? "", page: Number(query.get("page") ?? 0) };
    this.picked = new Set((query.get("pick") ?? "").split(",").filter(Boolean).map(Number));
    try {
      this.run = await source.run();
    } catch (error) {
      replace(this, problem(error));
      return;
    }
    if (!this.isConnected) return;
    document.title = `${this.run.run} · emcoop`;
    this.build();
    this.stop = source.listen((pulse) => this.pulse(pulse));
  }

  disconnectedCallback() {
    this.stop?.();
  }

  build() {
    this.cells = new Map([...this.run.cells, ...this.run.references].map((cell) => [cell.cell, cell]));
    this.counts = h("p", { class: "lead", "aria-live": "polite" });
    this.cellTable = h("div", { class: "scroll" });
    this.episodeTable = h("div", { class: "scroll" });
    this.compare = h("div", { class: "pick" });
    /** @type {HTMLInputElement} */
    const search = h("input", {
      type: "search", id: "search", value: this.state.q, placeholder: "Filter teams, episodes  ( / )", "aria-label": "Filter teams and episodes",
      oninput: () => this.change({ q: search.value, page: 0 }),
    });
    /** @type {HTMLSelectElement} */
    const outcomes = h("select", { "aria-label": "Outcome", onchange: () => this.change({ end: outcomes.value, page: 0 }) }, OUTCOMES.map(([value, text]) => h("option", { value }, text)));
    outcomes.value = this.state.end;
    replace(this, h("main", { id: "main", tabindex: "-1" },
      h("header", { class: "head" }, h("h1", {}, this.run.run), this.counts, h("div", { class: "filters" }, search, outcomes)),
      h("section", { "aria-label": "Cells" }, h("h2", {}, "Teams"), this.cellTable,
        h("p", { class: "ticks" }, h("span", {}, "dot and bar: mean with its 95 % interval"), h("span", { class: "floor" }, "| floor"), h("span", { class: "ceiling" }, "| ceiling"))),
      h("section", { "aria-label": "Episodes" },
        h("div", { class: "bar" }, h("h2", {}, "Episodes"), this.compare), this.episodeTable)));
    this.refresh();
  }

  /** @param {Partial<RunsPage["state"]>} values */
  change(values) {
    Object.assign(this.state, values);
    this.refresh();
    const { q, cell, sort, csort, end, page } = this.state;
    note("", { q, cell, sort: sort === "id" ? "" : sort, csort, end, page: page || "", pick: [...this.picked].join(",") });
  }

  refresh() {
    keepFocus(this, () => this.redraw());
  }

  redraw() {
    const episodes = this.run.episodes;
    const finished = episodes.filter((episode) => episode.status === "finished").length;
    const going = episodes.filter((episode) => episode.status === "running").length;
    replace(this.counts, `${count(episodes.length)} episodes in ${this.cells.size} cells, ${count(finished)} finished`, going ? h("span", { class: "live" }, `${going} running`) : "", source.live ? "" : " · exported file");
    this.showCells();
    this.showEpisodes();
    this.showPicked();
  }

  showCells() {
    /** @type {Map<string, Cell[]>} */
    const groups = new Map();
    const wanted = new Set(this.found().map(({ episode }) => episode.cell));
    for (const cell of this.cells.values()) {
      const key = `${cell.env} ${cell.level}, ${cell.agents} agents`;
      groups.set(key, [...(groups.get(key) ?? []), cell]);
    }
    const body = [];
    const { csort } = this.state;
    const by = csort.replace(/^-/, "");
    for (const [key, cells] of groups) {
      const bounds = cells.filter((cell) => cell.role);
      const shown = cells.filter((cell) => wanted.has(cell.cell));
      if (shown.length === 0) continue;
      body.push(h("tr", { class: "group" }, h("th", { colspan: 7, scope: "rowgroup" }, key)));
      const order = by ? shown.toSorted((a, b) => inOrder(cellValue(a, by), cellValue(b, by)) * (csort.startsWith("-") ? -1 : 1)) : shown;
      for (const cell of order) body.push(this.cellRow(cell, bounds));
    }
    replace(this.cellTable, h("table", { class: "cells" },
      h("thead", {}, h("tr", {}, CELL_COLUMNS.map(([name, title]) => this.header(name, title, "csort", "")), h("th", { scope: "col" }, "Ended by"), h("th", { scope: "col" }, h("span", { class: "hidden" }, "Show its episodes")))),
      h("tbody", {}, body)), body.length === 0 ? h("p", {}, "No team fits.") : "");
  }

  /** The episodes that fit the words and the outcome that were asked for. */
  found() {
    const { q, end } = this.state;
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = OUTCOMES.find(([name]) => name === end)?.[2] ?? (() => true);
    return this.run.episodes.filter(fits).map((episode) => ({ episode, ...this.describe(episode) })).filter((row) => words.every((word) => searchable(row).includes(word)));
  }

  /**
   * @param {Cell} cell
   * @param {Cell[]} bounds
   */
  cellRow(cell, bounds) {
    const chosen = this.state.cell === cell.cell;
    const limits = Object.entries(cell.limits).map(([name, n]) => `${name} ${n}`);
    if (cell.failed) limits.push(`failed ${cell.failed}`);
    if (cell.unfinished) limits.push(`unfinished ${cell.unfinished}`);
    return h("tr", { class: chosen ? "chosen" : cell.role ? "reference" : null },
      h("td", {}, cell.topology),
      h("td", {}, teamOf(cell), " ", cell.role ? h("span", { class: `tag ${cell.role}` }, cell.role) : ""),
      h("td", { class: "number" }, String(cell.n)),
      h("td", {}, estimate(cell.success, marked(bounds, "success"))),
      h("td", {}, estimate(cell.progress, marked(bounds, "progress"))),
      h("td", { title: cell.error ?? null }, limits.join(", ")),
      h("td", {}, h("button", { class: "quiet", "data-key": `cell-${cell.cell}`, "aria-pressed": String(chosen), onclick: () => this.change({ cell: chosen ? "" : cell.cell, page: 0 }) }, chosen ? "show all" : "episodes")));
  }

  /** @param {EpisodeLine} episode */
  describe(episode) {
    const cell = this.cells.get(episode.cell);
    if (!cell) return { where: "?", topology: "?", team: "?" };
    return {
      where: `${cell.env} ${cell.level} ×${cell.agents}`, topology: cell.topology,
      team: teamOf(cell),
    };
  }

  showEpisodes() {
    const { cell, sort } = this.state;
    const rows = this.found().filter(({ episode }) => !cell || episode.cell === cell);
    const descending = sort.startsWith("-");
    const field = sort.replace(/^-/, "");
    rows.sort((a, b) => inOrder(value(a, field), value(b, field)) * (descending ? -1 : 1) || a.episode.id - b.episode.id);
    const pages = Math.max(1, Math.ceil(rows.length / PER_PAGE));
    const page = Math.min(this.state.page, pages - 1);
    const shown = rows.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
    const columns = [["id", "Episode"], ["where", "World"], ["topology", "Topology"], ["team", "Team"], ["seed", "Seed"], ["status", "Outcome"], ["progress", "Progress"], ["steps", "Steps"]];
    replace(this.episodeTable, h("table", { class: "episodes" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden" }, "Compare")), columns.map(([name, title]) => this.header(name, title, "sort", "id")))),
      h("tbody", {}, shown.map((row) => this.episodeRow(row)))),
      rows.length === 0 ? h("p", {}, "No episode fits.") : "",
      pages > 1 ? h("nav", { class: "pages", "aria-label": "Pages" },
        h("button", { "data-key": "earlier", disabled: page === 0, onclick: () => this.change({ page: page - 1 }) }, "earlier"),
        h("span", {}, `${page + 1} of ${pages}`),
        h("button", { "data-key": "later", disabled: page === pages - 1, onclick: () => this.change({ page: page + 1 }) }, "later")) : "");
  }

  /**
   * The head of a column that sorts; a third press gives the usual order back.
   * @param {string} name
   * @param {string} title
   * @param {"sort" | "csort"} table
   * @param {string} usual
   */
  header(name, title, table, usual) {
    const sort = this.state[table];
    const direction = sort === name ? "ascending" : sort === `-${name}` ? "descending" : null;
    const arrow = direction === "ascending" ? " ▲" : direction ? " ▼" : "";
    const next = sort === name ? `-${name}` : sort === `-${name}` ? usual : name;
    return h("th", { scope: "col", "aria-sort": direction, class: ["n", "seed", "steps"].includes(name) || (name === "progress" && table === "sort") ? "number" : null }, h("button", { class: "sort", "data-key": `${table}-${name}`, onclick: () => this.change({ [table]: next }) }, title, arrow));
  }

  /** @param {EpisodeEntry} row */
  episodeRow({ episode, where, topology, team }) {
    /** @type {HTMLInputElement} */
    const box = h("input", { type: "checkbox", "data-key": `pick-${episode.id}`, "aria-label": `Pick episode ${episode.id} to compare`, onchange: () => this.pick(episode.id, box.checked) });
    box.checked = this.picked.has(episode.id);
    return h("tr", {},
      h("td", {}, box),
      h("td", {}, h("a", { href: address(`episode/${episode.id}`), "data-key": `open-${episode.id}` }, `#${episode.id}`)),
      h("td", {}, where), h("td", {}, topology), h("td", {}, team), h("td", { class: "number" }, String(episode.seed)),
      h("td", { title: episode.error ?? null }, outcome(episode)),
      h("td", { class: "number" }, percent(episode.progress)),
      h("td", { class: "number" }, String(episode.steps)));
  }

  /**
   * @param {number} id
   * @param {boolean} on
   */
  pick(id, on) {
    if (on) this.picked.add(id);
    else this.picked.delete(id);
    const [oldest] = this.picked;
    if (this.picked.size > 2) this.picked.delete(oldest);
    this.change({});
  }

  showPicked() {
    const [a, b] = this.picked;
    if (b === undefined) {
      replace(this.compare, h("span", { class: "hint" }, a === undefined ? "Tick two episodes to compare them." : `#${a} is picked; tick another.`));
      return;
    }
    const seeds = [a, b].map((id) => this.run.episodes.find((episode) => episode.id === id)?.seed);
    replace(this.compare, h("a", { class: "button", href: address(`compare/${a}/${b}`) }, `Compare #${a} and #${b}`),
      seeds[0] === seeds[1] ? "" : h("span", { class: "hint" }, "They have different seeds, so different worlds."));
  }

  /** @param {Pulse} pulse */
  async pulse(pulse) {
    const known = this.run.episodes.filter((episode) => episode.status === "finished").length;
    const ids = new Set(this.run.episodes.map((episode) => episode.id));
    let changed = pulse.finished !== known || pulse.going.some((line) => !ids.has(line.id));
    if (changed) {
      try {
        this.run = await source.run();
      } catch (error) {
        replace(this.counts, problem(error));
        return;
      }
      this.cells = new Map([...this.run.cells, ...this.run.references].map((cell) => [cell.cell, cell]));
    }
    for (const line of pulse.going) {
      const episode = this.run.episodes.find((found) => found.id === line.id);
      if (!episode || (episode.status === line.status && episode.steps === line.steps)) continue;
      Object.assign(episode, { status: line.status, steps: line.steps });
      changed = true;
    }
    if (changed) whenReleased(() => this.refresh());
  }
}

/** @param {EpisodeEntry} row */
function searchable({ episode, where, topology, team }) {
  return `#${episode.id} ${where} ${topology} ${team} seed ${episode.seed} ${episode.status} ${episode.limit ?? ""} ${episode.success ? "solved" : ""}`.toLowerCase();
}

/**
 * @param {Record<string, any>} row
 * @param {string} field
 */
function value(row, field) {
  return row[field] ?? row.episode[field] ?? -1;
}

/**
 * @param {Cell} cell
 * @param {string} field
 */
function cellValue(cell, field) {
  if (field === "success" || field === "progress") return cell[field].mean ?? -1;
  return field === "n" ? cell.n : field === "team" ? teamOf(cell) : cell.topology;
}

/** @param {Cell} cell */
function teamOf(cell) {
  return [cell.agent, cell.model, ...cell.interventions.map((name) => `+${name}`)].filter(Boolean).join(" ");
}

/**
 * @param {unknown} a
 * @param {unknown} b
 */
function inOrder(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

/**
 * How an episode ended, as a small sign with words.
 * @param {EpisodeLine} episode
 */
export function outcome(episode) {
  if (episode.status !== "finished") return h("span", { class: `sign ${episode.status === "running" ? "going" : "broken"}` }, episode.status);
  return h("span", { class: `sign ${episode.success ? "good" : "bad"}` }, episode.success ? "✓ solved" : `✗ ${episode.limit ?? "ended"}`);
}

/**
 * The floors and ceilings of a figure: role, mean and whose it is.
 * @param {Cell[]} bounds
 * @param {"success" | "progress"} figure
 * @returns {[string | null, number | null, string][]}
 */
function marked(bounds, figure) {
  return bounds.map((bound) => [bound.role, bound[figure].mean, bound.agent]);
}

/**
 * A mean with its interval between 0 and 1, and ticks where the floor and the ceiling are.
 * @param {Estimate} found
 * @param {[string | null, number | null, string][]} bounds
 */
function estimate(found, bounds) {
  if (found.mean === null) return h("span", { class: "hint" }, "–");
  const x = (/** @type {number} */ share) => 4 + share * 112;
  const text = `${percent(found.mean)}${interval(found) ? `, 95 % interval ${interval(found)}` : ""}`;
  return h("span", { class: "estimate", "data-tip": [text, ...bounds.map(([role, mean, name]) => `${role}: ${name} ${percent(mean)}`)].join("\n") },
    svg("svg", { viewBox: "0 0 120 16", width: 120, height: 16, role: "img", "aria-label": text },
      svg("line", { class: "base", x1: 4, x2: 116, y1: 8, y2: 8 }),
      bounds.map(([role, mean]) => mean !== null &&
        svg("line", { class: role, x1: x(mean), x2: x(mean), y1: 2, y2: 14 })),
      found.low === null || found.high === null ? null : svg("line", { class: "range", x1: x(found.low), x2: x(found.high), y1: 8, y2: 8 }),
      svg("circle", { cx: x(found.mean), cy: 8, r: 4 })),
    h("span", { class: "number" }, percent(found.mean)), h("small", {}, interval(found)));
}

customElements.define("em-runs", RunsPage);
