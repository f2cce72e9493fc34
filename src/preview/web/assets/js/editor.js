// "Open in editor" links.

import { element, visible } from "./dom.js";
import { openSource } from "./navigation.js";
import { EDITORS, settings } from "./settings.js";
import { state } from "./state.js";

const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
const REJECTED_SCHEMES = ["javascript", "data", "vbscript", "blob", "about", "filesystem"];

function encodePath(path) {
  const parts = path.replaceAll("\\", "/").split("/");
  return parts.map((part) => encodeURIComponent(part.toWellFormed?.() ?? part).replaceAll("%3A", ":")).join("/");
}

/** Returns the URL that opens a location in the editor, or null. */
export function editorUrl(at) {
  if (!at?.path) return null;
  const template = settings.editor === "custom" ? settings.template.trim() : EDITORS.get(settings.editor).template;
  const scheme = SCHEME.exec(template)?.[1].toLowerCase();
  if (!scheme || REJECTED_SCHEMES.includes(scheme)) return null;
  const path = encodePath(at.path);
  return template
    .replace("/{path}", () => `/${path.replace(/^\//, "")}`)
    .replaceAll("{path}", () => path)
    .replaceAll("{line}", String(Number(at.line) || 1))
    .replaceAll("{column}", String(Number(at.column) || 1));
}

/** Opens a location in the editor; reports whether it has a link. */
export function openInEditor(at) {
  const url = editorUrl(at);
  if (url === null) return false;
  const link = element("a", { href: url, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  return true;
}

/** Returns the "open in editor" link of a location, or null. */
export function editorLink(at) {
  const url = editorUrl(at);
  if (url === null) return null;
  const label = `Open ${at.file}:${at.line} in editor`;
  return element("a", { class: "editor-link", href: url, title: label, "aria-label": label }, "Open in editor");
}

/** Returns the text of a location: file, line and column. */
export function locationText(at) {
  return [at.file, at.line, at.column].filter((part) => part !== undefined && part !== null).join(":");
}

// Long paths can be broken after slashes.
function breakableText(text) {
  const parts = text.split(/(?<=\/)/);
  return parts.flatMap((part, index) => (index > 0 ? [element("wbr"), part] : [part]));
}

/**
 * Returns a button that shows the location in the source view, followed by the "open in editor" link.
 * With `isShort`, only the last component of the path is shown.
 */
export function locationLinks(at, isShort = false) {
  const text = locationText(at);
  const isShown = state.build?.files?.includes(at.file);
  const shown = breakableText(isShort ? text.slice(text.lastIndexOf("/") + 1) : text);
  const label = element(isShown ? "button" : "span", { class: "location isolate", type: isShown ? "button" : null }, ...shown);
  if (isShort) label.title = visible(text);
  else if (isShown) label.title = "Show in source view";
  if (isShown) label.addEventListener("click", () => openSource(at));
  return element("span", { class: "location-links" }, label, editorLink(at));
}
