// Keyboard shortcuts.

import { byId, element } from "./dom.js";
import { moveTarget } from "./list.js";
import { clearField, showPane, showView } from "./navigation.js";
import { toggleCurrentSecret } from "./output.js";
import { openFieldInEditor } from "./provenance.js";
import { openSearch } from "./search.js";
import { settings } from "./settings.js";
import { openCurrentSource } from "./source.js";
import { state } from "./state.js";
import { showStatus } from "./status.js";

const HELP = [
  ["j / k", "Next or previous line"],
  ["n / p", "Next or previous resource"],
  ["[ / ]", "Previous or next target"],
  ["Enter", "Show the provenance of the field"],
  ["o / d / s", "Output, diff, source"],
  ["e", "Open in editor"],
  ["r", "Reveal or hide the secret"],
  ["/", "Search all targets"],
  ["f", "Filter targets"],
  ["Esc", "Close, or clear the selection"],
  ["?", "Keyboard shortcuts"],
];

function openEditor(views) {
  if (state.view === "source") {
    if (!openCurrentSource()) showStatus("No location in a local file");
    return;
  }
  const current = state.view === "output" ? views.output.current() : null;
  if (current?.line.pointer !== undefined) openFieldInEditor(current.group.key, current.line.pointer);
  else showStatus("No field under the cursor");
}

function openFilter() {
  showPane("targets");
  byId("filter").focus();
  byId("filter").select();
}

function commands(views) {
  const view = () => views[state.view];
  return {
    j: () => view().moveLine(1),
    k: () => view().moveLine(-1),
    n: () => view().moveGroup(1),
    p: () => view().moveGroup(-1),
    "[": () => moveTarget(-1),
    "]": () => moveTarget(1),
    "/": openSearch,
    f: openFilter,
    o: () => showView("output"),
    d: () => showView("diff"),
    s: () => showView("source"),
    e: () => openEditor(views),
    r: () => toggleCurrentSecret() || showStatus("No secret under the cursor"),
    "?": () => byId("help").showModal(),
  };
}

const NARROW = matchMedia("(max-width: 799px)");

function escape(event, views) {
  if (event.target.id === "filter") {
    byId("filter").value = "";
    byId("filter").dispatchEvent(new Event("input"));
    showPane("main");
    views[state.view].focusCursor();
  } else if (NARROW.matches && document.body.dataset.pane !== "main") {
    showPane("main");
    views[state.view].focusCursor();
  } else clearField();
}

function isTyping(target) {
  return target.closest("input:not([type=checkbox]), select, textarea, dialog") !== null;
}

function onLineKey(event, views) {
  if (!event.target.classList?.contains("line")) return false;
  const view = views[state.view];
  if (event.key === "ArrowDown") view.moveLine(1);
  else if (event.key === "ArrowUp") view.moveLine(-1);
  else if (event.key === "Enter" || event.key === " ") view.activateCurrent();
  else return false;
  return true;
}

function onKey(event, views, run) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]") || document.body.dataset.access === "none") return;
  if (event.key === "Escape") {
    escape(event, views);
    return;
  }
  if (isTyping(event.target)) return;
  if (onLineKey(event, views)) event.preventDefault();
  else if (event.key === "Enter" && event.target === document.body) views[state.view].activateCurrent();
  else if (settings.keys && Object.hasOwn(run, event.key)) {
    event.preventDefault();
    run[event.key]();
  }
}

function startTabs() {
  const tabs = [...byId("tabs").children];
  for (const tab of tabs) tab.addEventListener("click", () => showView(tab.dataset.view));
  byId("tabs").addEventListener("keydown", (event) => {
    const index = tabs.indexOf(document.activeElement);
    const moves = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const next = tabs[(moves[event.key] + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
}

/** Connects the shortcuts to the lists of lines of the three views. */
export function startKeys(views) {
  const run = commands(views);
  document.addEventListener("keydown", (event) => onKey(event, views, run));
  for (const [keys, text] of HELP) {
    const names = keys.split(" / ").flatMap((key, index) => [...(index > 0 ? [" "] : []), element("kbd", {}, key === "" ? "/" : key)]);
    byId("help-keys").append(element("dt", {}, ...names), element("dd", {}, text));
  }
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("skip").addEventListener("click", () => {
    showPane("main");
    views[state.view].focusCursor();
  });
  for (const one of byId("panes").children) one.addEventListener("click", () => showPane(one.dataset.pane));
  startTabs();
}
