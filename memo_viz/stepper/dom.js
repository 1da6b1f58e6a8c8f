// Elements made from data. Text goes in as text nodes and never as markup, so nothing in a query can become part of the page.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Attributes */

/**
 * An HTML element. Attributes that are functions are listeners; null, undefined and false are left out.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  return /** @type {HTMLElement} */ (fill(document.createElement(tag), attributes, children));
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, attributes, ...children) {
  return /** @type {SVGElement} */ (fill(document.createElementNS(SVG, tag), attributes, children));
}

/**
 * @param {Element} element
 * @param {Attributes | undefined} attributes
 * @param {(Child | Child[])[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") /** @type {HTMLElement} */ (element).style.cssText = String(value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : visible(String(child))));
}

/**
 * Replaces what is in `element`.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function put(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/** Scroll a box so far that an element in it can be seen, and nothing around the box: the page may stand in a frame of another.
 * @param {Element | null} box
 * @param {Element | null} element */
export function reveal(box, element) {
  if (!box || !element) return;
  const around = box.getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  if (inner.top < around.top) box.scrollTop -= around.top - inner.top;
  else if (inner.bottom > around.bottom) box.scrollTop += Math.min(inner.bottom - around.bottom, inner.top - around.top);
}

/**
 * `text` with control characters, marks of direction and other invisible ones shown as U+FFFD; lines stay lines.
 * @param {string} text
 */
export function visible(text) {
  return text
    .replace(/[\t\r]/g, " ")
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff]/gu, (found) => (found === "\n" ? found : "\ufffd"));
}

/**
 * At most `length` characters, with an ellipsis where the text was cut.
 * @param {string} text
 * @param {number} length
 */
export function shorten(text, length) {
  return text.length <= length ? text : text.slice(0, Math.max(0, length - 1)).trimEnd() + "…";
}

/**
 * A button with a name for those who do not see it.
 * @param {string} label
 * @param {(event: any) => void} click
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children the label where there are none
 */
export function button(label, click, attributes, ...children) {
  return h(
    "button",
    { type: "button", title: label, "aria-label": children.length ? label : null, click, ...attributes },
    ...(children.length ? children : [label]),
  );
}
