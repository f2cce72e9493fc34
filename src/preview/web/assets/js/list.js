// The list of targets with its filters.

import { byId, count, element, setText, visible } from "./dom.js";
import { formatFragment } from "./address.js";
import { openTarget } from "./navigation.js";
import { on, state } from "./state.js";

const STATES = { ok: "OK", warning: "Warning", error: "Error", deleted: "Deleted" };
const rows = new Map();

/** Describes the state of a target in words. */
export function stateText(target) {
  const isDangerous = target.state === "ok" && target.dangerErrors > 0;
  const parts = [isDangerous ? "Dangerous changes" : (STATES[target.state] ?? target.state)];
  if (target.errors > 0) parts.push(count(target.errors, "error"));
  if (target.warnings > 0) parts.push(count(target.warnings, "warning"));
  if (target.dangers > 0) parts.push(count(target.dangers, "danger"));
  if (target.changes > 0) parts.push(`${count(target.changes, "object")} changed`);
  return parts.join(", ");
}

function nameParts(name) {
  const end = name.replace(/\/+$/, "").lastIndexOf("/") + 1;
  const directory = end > 0 ? element("span", { class: "directory isolate" }, name.slice(0, end)) : null;
  return element("span", { class: "name" }, directory, element("span", { class: "base isolate" }, name.slice(end)));
}

function counter(kind, number, prefix = "") {
  return number > 0 ? element("span", { class: `counter ${kind}`, "aria-hidden": "true" }, `${prefix}${number}`) : null;
}

function rowContent(target) {
  const danger = target.dangerErrors > 0 ? "error" : "warning";
  return [
    element("span", { class: "icon", "data-state": target.state, "data-danger": target.dangers > 0 && danger, "aria-hidden": "true" }),
    nameParts(target.name),
    counter("error", target.errors),
    counter("warning", target.warnings),
    counter(`danger ${danger}`, target.dangers, "!"),
    counter("changes", target.changes, "±"),
    element("span", { class: "visually-hidden" }, ` ${stateText(target)}`),
  ].filter((part) => part !== null);
}

function createRow(target) {
  const link = element("a", { class: "target", href: formatFragment({ target: target.name }), tabindex: "-1" });
  const item = element("li", {}, link);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    openTarget(target.name, { view: state.view });
  });
  return { item, link };
}

function updateRow(target) {
  let row = rows.get(target.name);
  if (!row) {
    row = createRow(target);
    rows.set(target.name, row);
    const next = [...rows].find(([name, { item }]) => name > target.name && item.isConnected);
    byId("targets").insertBefore(row.item, next ? next[1].item : null);
  }
  const text = stateText(target);
  const shown = `${text} ${target.dangerErrors > 0}`;
  // A save can rebuild many targets without a change of their rows.
  if (row.shown !== shown) {
    row.shown = shown;
    row.link.replaceChildren(...rowContent(target));
    row.link.title = `${visible(target.name)}: ${text}`;
    row.link.dataset.name = target.name;
    row.link.dataset.state = target.state;
  }
  row.link.dataset.generation = target.generation;
  row.item.hidden = !isShown(target);
}

function hasSameRows() {
  const names = [...state.targets.keys()];
  return names.length === rows.size && [...rows.keys()].every((name, index) => name === names[index]);
}

function renderAll() {
  if (hasSameRows()) {
    state.targets.forEach(updateRow);
    renderCount();
  } else createRows();
}

function createRows() {
  rows.clear();
  const content = new DocumentFragment();
  for (const target of state.targets.values()) {
    const row = createRow(target);
    rows.set(target.name, row);
    content.append(row.item);
    updateRow(target);
  }
  byId("targets").replaceChildren(content);
  markSelected();
  renderCount();
}

function isShown(target) {
  const words = byId("filter").value.toLowerCase().split(/\s+/);
  const name = target.name.toLowerCase();
  if (!words.every((word) => name.includes(word))) return false;
  const filter = byId("state-filter").value;
  if (filter === "all") return true;
  if (filter === "changed") return target.changes > 0;
  if (filter === "danger") return target.dangers > 0;
  return target.state === filter;
}

function applyFilter() {
  for (const target of state.targets.values()) rows.get(target.name).item.hidden = !isShown(target);
  renderCount();
  markSelected();
}

function renderCount() {
  const total = state.targets.size;
  const shown = shownNames().length;
  setText(byId("target-count"), shown === total ? count(total, "target") : `${shown.toLocaleString("en")} of ${count(total, "target")}`);
}

function shownNames() {
  return [...byId("targets").children].filter((item) => !item.hidden).map((item) => item.firstElementChild.dataset.name);
}

function markSelected() {
  for (const link of byId("targets").querySelectorAll("[aria-current], [tabindex='0']")) {
    link.removeAttribute("aria-current");
    link.setAttribute("tabindex", "-1");
  }
  const row = rows.get(state.target);
  row?.link.setAttribute("aria-current", "true");
  const reachable = row && !row.item.hidden ? row.link : byId("targets").querySelector("li:not([hidden]) a");
  reachable?.setAttribute("tabindex", "0");
}

/** Selects the next or previous target of the filtered list. */
export function moveTarget(step) {
  const names = shownNames();
  if (names.length === 0) return;
  const index = names.indexOf(state.target);
  const next = index < 0 ? 0 : Math.min(Math.max(index + step, 0), names.length - 1);
  openTarget(names[next], { view: state.view });
  rows.get(names[next]).item.scrollIntoView({ block: "nearest" });
}

function onKey(event) {
  const links = [...byId("targets").querySelectorAll("li:not([hidden]) a")];
  const index = links.indexOf(document.activeElement);
  const moves = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: links.length - 1 };
  const next = links[moves[event.key]];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function onFilterKey(event) {
  const first = byId("targets").querySelector("li:not([hidden]) a");
  if (event.key === "ArrowDown") first?.focus();
  else if (event.key === "Enter") first?.click();
  else return;
  event.preventDefault();
}

/** Connects the list to the state. */
export function startList() {
  on("targets", renderAll);
  on("update", ({ targets, removed }) => {
    for (const name of removed ?? []) {
      rows.get(name)?.item.remove();
      rows.delete(name);
    }
    targets.forEach(updateRow);
    markSelected();
    renderCount();
  });
  on("target", () => {
    markSelected();
    rows.get(state.target)?.item.scrollIntoView({ block: "nearest" });
  });
  byId("filter").addEventListener("input", applyFilter);
  byId("state-filter").addEventListener("change", applyFilter);
  byId("filter").addEventListener("keydown", onFilterKey);
  byId("targets").addEventListener("keydown", onKey);
}
