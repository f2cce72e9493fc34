// The provenance of the selected field: every write of its value, the last one first.

import { get } from "./api.js";
import { appendLines, button, byId, element, isolated } from "./dom.js";
import { locationLinks, locationText, openInEditor } from "./editor.js";
import { clearField, currentLink, reportError } from "./navigation.js";
import { on, state } from "./state.js";
import { showStatus } from "./status.js";
import { appendYaml } from "./yaml.js";

let request = null;
let shown = null;

// Excerpts of deeply nested fields would not fit into the column with all of their indentation.
function dedent(lines) {
  const indentations = lines.filter(({ text }) => text.trim() !== "").map(({ text }) => text.search(/[^ ]/));
  const common = Math.min(...indentations);
  return lines.map((line) => ({ ...line, text: line.text.slice(common) }));
}

function excerptLine({ line, text, highlight }) {
  const code = element("span", { class: "code" });
  appendYaml(code, text, false);
  return element("div", { class: highlight ? "excerpt-line highlight" : "excerpt-line", "data-n": line }, code);
}

function writeItem(write, index) {
  const value = element("code", { class: "value isolate" });
  appendLines(value, write.value.replace(/\n$/, ""));
  const excerpt = dedent(write.excerpt ?? []);
  return element(
    "li",
    { class: index === 0 ? "write wins" : "write" },
    element("div", { class: "write-heading" }, value, element("span", { class: "tag" }, index === 0 ? "in effect" : "overridden")),
    element("div", { class: "by" }, "by ", isolated(write.by)),
    write.at ? locationLinks(write.at) : element("span", { class: "hint" }, "no source location"),
    excerpt.length > 0 ? element("div", { class: "excerpt", role: "group", "aria-label": "Excerpt" }, ...excerpt.map(excerptLine)) : null,
    write.causedAt ? element("div", { class: "cause" }, "caused by ", locationLinks(write.causedAt)) : null,
  );
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(currentLink());
    showStatus("Link copied");
  } catch {
    showStatus("The browser does not allow copying the link");
  }
}

function show(answer) {
  shown = answer;
  const clear = button("Clear", { id: "clear-field", "aria-keyshortcuts": "Escape" }, clearField);
  byId("field-body").replaceChildren(
    element("p", { class: "field-path" }, element("code", { class: "isolate", id: "field-path" }, answer.path || answer.pointer)),
    element("p", { class: "field-resource isolate", id: "field-resource" }, answer.resource),
    answer.chain.length > 0
      ? element("ol", { id: "field-chain" }, ...answer.chain.map(writeItem))
      : element("p", { class: "hint" }, "The origin of this value is unknown."),
    element("p", { class: "field-actions" }, button("Copy link", { id: "copy-link" }, copyLink), clear),
  );
}

function showHint(text) {
  shown = null;
  byId("field-body").replaceChildren(element("p", { class: "hint" }, text));
}

/** Requests the provenance of the field with a pointer. */
async function fetchField(key, pointer, signal) {
  const resource = state.build?.keys.indexOf(key) ?? -1;
  if (resource < 0) return null;
  const { name, generation } = state.build;
  return get("/api/field", { target: name, resource, pointer, generation }, signal);
}

function announce({ path, pointer, chain }) {
  const at = chain[0]?.at;
  showStatus(`${path || pointer}: ${at ? `set in ${locationText(at)}` : chain.length > 0 ? `set by ${chain[0].by}` : "origin unknown"}`);
}

async function load() {
  request?.abort();
  if (state.field === null) {
    showHint("Select a line of the output to see which file sets its value.");
    return;
  }
  request = new AbortController();
  const { key, pointer } = state.field;
  try {
    const answer = await fetchField(key, pointer, request.signal);
    if (state.field?.key !== key || state.field.pointer !== pointer) return;
    if (answer) show(answer);
    else showHint("The resource is no longer in the output.");
  } catch (error) {
    if (error.name === "AbortError") return;
    showHint("The field is no longer in the output.");
    reportError(error);
  }
}

/** Opens the line that sets the value of a field. */
export async function openFieldInEditor(key, pointer) {
  try {
    const isShown = shown !== null && state.field?.key === key && state.field.pointer === pointer;
    const answer = isShown ? shown : await fetchField(key, pointer);
    const { at, causedAt } = answer?.chain[0] ?? {};
    if (!openInEditor(at) && !openInEditor(causedAt)) showStatus("The value has no location in a local file");
  } catch (error) {
    reportError(error);
  }
}

/** Connects the provenance to the state. */
export function startProvenance() {
  load();
  on("field", async () => {
    await load();
    if (state.field !== null && shown !== null) announce(shown);
  });
  on("build", ({ isUpdate }) => {
    if (isUpdate && state.field !== null) load();
  });
  on("settings", (name) => {
    if (shown && (name === "editor" || name === "template")) show(shown);
  });
}
