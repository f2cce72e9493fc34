// The diff of the selected target, and its dangers.

import { get } from "./api.js";
import { byId, element, isolated, setText } from "./dom.js";
import { LineView } from "./lines.js";
import { reportError } from "./navigation.js";
import { emit, on, state } from "./state.js";

const SIGNS = { "+": "added", "-": "removed", "@": "hunk" };
let request = null;
let loaded = null;

function render(group, index) {
  const { sign, text } = group.lines[index];
  const code = element("span", { class: "code" }, sign === "@" ? text : `${sign} ${text}`);
  return element("div", { class: `line ${SIGNS[sign] ?? "context"}` }, code);
}

function dangerNote({ severity, message }) {
  const label = element("span", { class: "severity", "data-severity": severity }, severity);
  return element("p", { class: "danger-note" }, label, " ", isolated(message));
}

function heading(group) {
  const { action, dangers = [] } = group.object;
  return element(
    "header",
    { class: "group-heading" },
    element("h3", {}, isolated(group.id)),
    element("span", { class: "tag action", "data-action": action }, action),
    ...dangers.map(dangerNote),
  );
}

const view = new LineView(byId("panel-diff"), { render, heading, activate: () => {} });

function groupsOf(objects) {
  const seen = new Map();
  return objects.map((object) => {
    const repeated = seen.get(object.id) ?? 0;
    seen.set(object.id, repeated + 1);
    const hash = object.lines.map((line) => line.sign + line.text).join("\n");
    return { key: `${object.id} ${repeated}`, id: object.id, hash, lines: object.lines, object };
  });
}

function emptyText(answer) {
  if (!answer.comparison) return "No comparison. Start the preview with --rev or --against-cluster, or preview a target that has a base.";
  return `No changes against ${answer.comparison}.`;
}

function show(answer, isUpdate) {
  const groups = groupsOf(answer.objects ?? []);
  if (isUpdate) view.set(groups);
  else view.reset(groups);
  const empty = byId("diff-empty");
  empty.hidden = groups.length > 0 && !answer.error;
  empty.classList.toggle("failed", Boolean(answer.error));
  if (!empty.hidden) setText(empty, answer.error ?? emptyText(answer));
  emit("diff", answer);
}

async function load() {
  const { name, generation } = state.build;
  if (loaded?.name === name && loaded.generation === generation) return;
  const isUpdate = loaded?.name === name;
  // The diff of another target is not shown while this one is loaded.
  if (!isUpdate) view.reset([]);
  request?.abort();
  request = new AbortController();
  try {
    const answer = await get("/api/diff", { target: name }, request.signal);
    if (state.build?.name !== name) return;
    loaded = { name, generation };
    show(answer, isUpdate);
  } catch (error) {
    reportError(error);
  }
}

function loadIfNeeded() {
  if (!state.build || state.build.name !== state.target) return;
  // Dangers are part of the diff.
  const dangers = state.targets.get(state.target)?.dangers ?? 0;
  if (state.view === "diff" || dangers > 0 || state.build.stale) load();
  else emit("diff", { objects: [] });
}

/** Connects the diff to the state and returns its lines. */
export function startDiff() {
  on("build", loadIfNeeded);
  on("view", loadIfNeeded);
  return view;
}
