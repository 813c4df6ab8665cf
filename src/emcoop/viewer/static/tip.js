// A small text beside the pointer, for every element that has `data-tip`.

import { h } from "./dom.js";

/** Makes the text and follows the pointer and the focus through the whole page. */
export function followTips() {
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  /** @type {(target: EventTarget | null) => string | null} */
  const textOf = (target) => target instanceof Element ? target.closest("[data-tip]")?.getAttribute("data-tip") ?? null : null;
  /** @type {(text: string, x: number, y: number) => void} */
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 8))}px`;
    tip.style.top = `${y + 16 + height > innerHeight ? Math.max(4, y - height - 8) : y + 16}px`;
  };
  addEventListener("pointermove", (event) => {
    const text = event.buttons ? null : textOf(event.target);
    if (text === null) hide();
    else show(text, event.clientX, event.clientY);
  });
  addEventListener("focusin", (event) => {
    const text = textOf(event.target);
    if (text === null || !(event.target instanceof Element)) return;
    const { left, bottom } = event.target.getBoundingClientRect();
    show(text, left, bottom - 12);
  });
  for (const name of ["focusout", "scroll", "keydown", "pointerdown", "hashchange"]) addEventListener(name, hide, true);
  document.documentElement.addEventListener("pointerleave", hide);
}
