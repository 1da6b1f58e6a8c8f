// Unpacks the data that came with the page and starts it.

import { App } from "./app.js";
import { withNumbers } from "./model.js";

/** @param {string} id */
async function unpack(id) {
  const text = /** @type {HTMLElement} */ (document.getElementById(id)).textContent ?? "";
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function start() {
  const root = /** @type {HTMLElement} */ (document.getElementById("app"));
  try {
    const data = await unpack("data");
    data.events.forEach(withNumbers);
    root.replaceChildren();
    const app = new App(data, root);
    Object.assign(window, { stepper: app });
    app.timeline.draw();
    app.readFragment();
    root.dataset.ready = "true";
  } catch (error) {
    root.textContent = `This page could not be opened: ${error instanceof Error ? error.message : error}`;
    throw error;
  }
}

start();
