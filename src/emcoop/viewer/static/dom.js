// Making elements. Text always becomes a text node: nothing here, or anywhere else on the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. `on...` properties are listeners, `true` sets an empty attribute, `null` and `false` set none.
 * @template {string} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [properties]
 * @param {...any} children nodes, texts, arrays of them; null and false are passed over
 * @returns {ElementOf<Tag>}
 */
export function h(tag, properties = {}, ...children) {
  return fill(/** @type {ElementOf<Tag>} */ (document.createElement(tag)), properties, children);
}

/**
 * An SVG element, with the same conventions.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...any} children
 * @returns {SVGElement}
 */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Record<string, any>} properties
 * @param {any[]} children
 * @returns {E}
 */
function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {any[]} children
 */
function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child);
  }
}

/**
 * Put these children in place of what an element holds.
 * @param {Element} element
 * @param {...any} children
 */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * What a query found, as the HTML element that it is.
 * @param {Element | null} found
 * @returns {HTMLElement | null}
 */
export function only(found) {
  return found instanceof HTMLElement ? found : null;
}

/**
 * Draw a part anew; what was focused in it, by its `data-key`, is focused again.
 * @param {HTMLElement} root
 * @param {() => void} draw
 */
export function keepFocus(root, draw) {
  const focused = document.activeElement;
  const key = focused instanceof HTMLElement && root.contains(focused) ? focused.dataset.key : undefined;
  draw();
  if (key !== undefined) only(root.querySelector(`[data-key="${CSS.escape(key)}"]`))?.focus();
}

let pressed = false;
/** @type {(() => void)[]} */
const held = [];
addEventListener("pointerdown", (event) => { pressed = event.button === 0; }, true);
for (const name of ["pointerup", "pointercancel"]) {
  addEventListener(name, () => setTimeout(() => { // after the click that comes with it
    pressed = false;
    for (const draw of held.splice(0)) draw();
  }), true);
}

/**
 * Draw what changes by itself; while a button is held, once it is let go: a click whose element is gone is no click.
 * @param {() => void} draw
 */
export function whenReleased(draw) {
  if (pressed) held.push(draw);
  else draw();
}

/**
 * The element whose text is the problem, for a person to read.
 * @param {unknown} error
 * @returns {HTMLElement}
 */
export function problem(error) {
  return h("p", { class: "problem", role: "alert" }, error instanceof Error ? error.message : String(error));
}
