// The world at a step. The picture is drawn by the environment; it is shown as an image, so nothing in it can run.

import { h, replace } from "./dom.js";
import { source } from "./source.js";

const KEPT = 64;
const BROAD = 1.6;
const WIDE = 3;

/** Pictures of one episode, as addresses of blobs; the latest few are kept. */
export class Frames {
  /** @param {number} id */
  constructor(id) {
    this.id = id;
    /** @type {Map<number, Promise<string>>} */
    this.kept = new Map();
    /** Whether the pictures have dark colours of their own; others are dimmed on a dark page. */
    this.knowsDark = false;
  }

  /**
   * The address of a step's picture.
   * @param {number} step
   * @returns {Promise<string>}
   */
  at(step) {
    const known = this.kept.get(step);
    if (known) return known;
    for (const [oldest, address] of this.kept) {
      if (this.kept.size < KEPT) break;
      this.kept.delete(oldest);
      address.then(URL.revokeObjectURL, () => undefined);
    }
    const made = source.frame(this.id, step).then((text) => {
      this.knowsDark = text.includes("prefers-color-scheme");
      return URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    });
    made.catch(() => this.kept.delete(step));
    this.kept.set(step, made);
    return made;
  }

  /** Let go of all of them. */
  close() {
    for (const address of this.kept.values()) address.then(URL.revokeObjectURL, () => undefined);
    this.kept.clear();
  }
}

/** Shows one step of one episode; `show` may be called faster than pictures come. */
export class WorldFrame extends HTMLElement {
  /** @type {HTMLImageElement} */
  image;
  /** @type {HTMLElement} */
  trouble;
  /** @type {HTMLElement} */
  caption;
  /** @type {Frames | undefined} */
  frames;
  /** @type {number | undefined} */
  wanted;

  connectedCallback() {
    // Hidden until there is a picture: an image without a name would be read out as one.
    this.image = h("img", { alt: "", hidden: true, onload: () => this.tellShape() });
    this.trouble = h("p", { class: "problem", hidden: true });
    this.caption = h("figcaption", {});
    replace(this, h("figure", {}, this.image, this.trouble, this.caption));
  }

  /** Gives the page the class `broad` or `wide`, where the picture is so much wider than high, to make room for it. */
  tellShape() {
    const ratio = this.image.naturalWidth / Math.max(1, this.image.naturalHeight);
    const main = this.closest("main");
    main?.classList.toggle("broad", ratio > BROAD && ratio <= WIDE);
    main?.classList.toggle("wide", ratio > WIDE);
  }

  /**
   * @param {Frames} frames
   * @param {number} step
   * @param {string} caption
   */
  async show(frames, step, caption = `step ${step}`) {
    this.caption.textContent = caption;
    if (this.frames === frames && this.wanted === step) return;
    this.frames = frames;
    this.wanted = step;
    try {
      const address = await frames.at(step);
      if (this.wanted !== step || this.frames !== frames) return;
      this.image.classList.toggle("dimmed", !frames.knowsDark);
      this.image.src = address;
      this.image.alt = `The world after step ${step} of episode ${frames.id}`;
      this.image.hidden = false;
      this.trouble.hidden = true;
    } catch (error) {
      if (this.wanted !== step) return;
      this.image.hidden = true;
      this.trouble.hidden = false;
      this.trouble.textContent = error instanceof Error ? error.message : String(error);
    }
  }
}

customElements.define("em-frame", WorldFrame);
