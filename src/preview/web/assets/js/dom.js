// Creates elements and inert text. Nothing here parses HTML.

// Control, bidirectional, zero-width and other invisible characters, and lone surrogates.
const INVISIBLE =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

const SHOWN_ATTRIBUTES = new Set(["title", "aria-label"]);

function escapeCharacter(character) {
  const code = character.codePointAt(0);
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Returns `text` with invisible characters as `\uXXXX`. */
export function visible(text) {
  return String(text).replace(INVISIBLE, escapeCharacter);
}

/** Appends `text` to `parent`; escaped characters get their own element. */
export function appendText(parent, text) {
  let end = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    parent.append(text.slice(end, match.index), element("span", { class: "escape" }, escapeCharacter(match[0])));
    end = match.index + match[0].length;
  }
  parent.append(end === 0 ? text : text.slice(end));
}

/** Creates an element with attributes and children. Strings become escaped text. */
export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) created.setAttribute(key, "");
    else if (SHOWN_ATTRIBUTES.has(key) && value) created.setAttribute(key, visible(value));
    else if (value !== null && value !== undefined && value !== false) created.setAttribute(key, value);
  }
  for (const child of children) {
    if (typeof child === "string") appendText(created, child);
    else if (child) created.append(child);
  }
  return created;
}

/** Creates an element whose text has its own direction. */
export function isolated(text) {
  return element("span", { class: "isolate" }, text);
}

/** Creates a push button. */
export function button(text, attributes, onClick) {
  const created = element("button", { type: "button", ...attributes }, text);
  created.addEventListener("click", onClick);
  return created;
}

/** Appends text with its line breaks; each line is escaped. */
export function appendLines(parent, text) {
  text.split("\n").forEach((line, index) => parent.append(...(index > 0 ? ["\n"] : []), element("span", {}, line)));
}

/** Replaces the text of an element if it differs, so that live regions speak once. */
export function setText(target, text) {
  const shown = visible(text);
  if (target.textContent !== shown) target.replaceChildren(shown);
}

/** Returns the element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Returns "1 error", "2 errors". */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
