// The page's whole selection lives in the address: #/episode/3?t=1200000&sel=17. Reading and writing it.

/**
 * What the address says: its path as parts and its parameters.
 * @returns {{path: string[], query: URLSearchParams}}
 */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean), query: new URLSearchParams(query) };
}

/**
 * The address of a place, for a link.
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 */
export function address(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

let waiting = 0;

/**
 * Change the address without leaving the place; many changes in a row become one.
 * @param {string} path
 * @param {Record<string, unknown>} query
 */
export function note(path, query) {
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState(null, "", address(path, query)), 150);
}

/** Forget a change that is not written yet, since another place was entered. */
export function forget() {
  clearTimeout(waiting);
}
