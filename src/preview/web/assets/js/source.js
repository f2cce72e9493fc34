// The source files of the selected target.

import { get } from "./api.js";
import { byId, element, setText, visible } from "./dom.js";
import { editorLink, openInEditor } from "./editor.js";
import { LineView } from "./lines.js";
import { reportError, updateAddress } from "./navigation.js";
import { on, state } from "./state.js";
import { appendYaml, blockScalarLines } from "./yaml.js";

let request = null;
let shown = null;

function render(group, index) {
  group.scalars ??= blockScalarLines(group.lines);
  const code = element("span", { class: "code" });
  appendYaml(code, group.lines[index].text, group.scalars[index]);
  return element("div", { class: "line" }, code);
}

const view = new LineView(byId("panel-source"), {
  render,
  heading: () => element("header", { hidden: true }),
  activate: () => renderEditorLink(),
});

function renderFiles() {
  const { files } = state.build;
  if (!files.includes(state.file)) state.file = files[0] ?? null;
  const select = byId("source-file");
  select.replaceChildren(...files.map((file) => {
    const option = element("option", {}, visible(file));
    option.value = file;
    return option;
  }));
  select.value = state.file ?? "";
}

function currentLocation() {
  const line = (view.cursor?.index ?? 0) + 1;
  return shown?.path ? { file: shown.file, path: shown.path, line, column: 1 } : null;
}

function renderEditorLink() {
  const link = editorLink(currentLocation());
  byId("source-editor").replaceChildren(...(link ? [link] : []));
}

/** Opens the file of the source view at the line under the cursor. */
export function openCurrentSource() {
  return openInEditor(currentLocation());
}

function show(answer, target) {
  const isUpdate = shown?.file === answer.file && shown.target === target;
  shown = { ...answer, target };
  const lines = answer.text.replace(/\r?\n$/, "").split(/\r?\n/).map((text) => ({ text }));
  const groups = [{ key: answer.file, id: answer.file, hash: answer.text, lines }];
  if (isUpdate) view.set(groups);
  else view.reset(groups);
  renderEditorLink();
}

async function load({ line, focus } = {}) {
  if (!state.build || state.build.name !== state.target) return;
  renderFiles();
  const { target, file } = state;
  byId("source-empty").hidden = file !== null;
  setText(byId("source-empty"), "The target has no source files.");
  if (file === null) return;
  request?.abort();
  request = new AbortController();
  try {
    const answer = await get("/api/source", { target, file }, request.signal);
    if (target !== state.target || file !== state.file) return;
    show(answer, target);
    if (line) view.go(file, line - 1, { block: "center", focus: focus === true });
    renderEditorLink();
  } catch (error) {
    reportError(error);
  }
}

const loadIfShown = () => {
  if (state.view === "source") load();
};

/** Connects the source view to the state and returns its lines. */
export function startSource() {
  on("build", loadIfShown);
  on("view", loadIfShown);
  on("source", load);
  on("settings", renderEditorLink);
  byId("panel-source").addEventListener("focusin", renderEditorLink);
  byId("source-file").addEventListener("change", (event) => {
    state.file = event.target.value;
    updateAddress();
    load();
  });
  return view;
}
