// The rendered output of the selected target.

import { appendLines, byId, count, element, isolated } from "./dom.js";
import { LineView } from "./lines.js";
import { clearField, selectField } from "./navigation.js";
import { on, state } from "./state.js";
import { hideSecrets, revealedText, toggleSecret } from "./secrets.js";
import { showStatus } from "./status.js";
import { appendYaml, blockScalarLines } from "./yaml.js";

function heading(group) {
  const { kind, namespace, name, apiVersion } = group.resource;
  const findings = state.build.findings.filter((finding) => finding.resource === group.id).length;
  const fullName = isolated(namespace ? `${namespace}/${name}` : name);
  return element(
    "header",
    { class: "group-heading" },
    element("h3", {}, element("span", { class: "kind isolate" }, kind), " ", fullName),
    findings > 0 ? element("span", { class: "tag warning" }, count(findings, "finding")) : null,
    element("span", { class: "api-version isolate" }, apiVersion),
  );
}

function isSelected(group, line) {
  return state.field?.key === group.key && line.pointer !== undefined && state.field.pointer === line.pointer;
}

function render(group, index) {
  const line = group.lines[index];
  group.scalars ??= blockScalarLines(group.lines);
  const code = element("span", { class: "code" });
  const text = line.secret ? revealedText(group.key, line) : undefined;
  appendYaml(code, line.text, group.scalars[index]);
  const isField = line.pointer !== undefined;
  const row = element(
    "div",
    {
      class: isField ? "line field" : "line",
      role: isField ? "button" : null,
      "data-pointer": line.pointer,
      "aria-current": isSelected(group, line) ? "true" : null,
    },
    code,
  );
  if (!line.secret) return row;
  if (text !== undefined) showRevealed(code, line, text);
  return element("div", { class: "secret-row" }, row, secretButton(group, index, text !== undefined));
}

function showRevealed(code, line, text) {
  const start = line.text.lastIndexOf("***");
  const prefix = start < 0 ? `${line.text} ` : line.text.slice(0, start).replace(/['"]$/, "");
  code.replaceChildren();
  appendYaml(code, prefix.trimEnd(), false);
  const value = element("span", { class: "revealed isolate" });
  appendLines(value, text);
  code.append(" ", value);
}

function secretButton(group, index, isRevealed) {
  const label = isRevealed ? "Hide" : "Reveal";
  const created = element("button", { type: "button", class: "reveal", "aria-label": `${label} ${group.lines[index].pointer}` }, label);
  created.addEventListener("click", () => toggleSecret(group, group.lines[index], () => repaintSecret(group.key, index)));
  return created;
}

function repaintSecret(key, index) {
  const hadFocus = document.activeElement?.classList.contains("reveal");
  view.repaintLine(key, index);
  if (hadFocus) view.current()?.element.parentElement.querySelector(".reveal")?.focus();
}

const view = new LineView(byId("panel-output"), {
  render,
  heading,
  activate: (group, index) => {
    const { pointer } = group.lines[index];
    if (pointer !== undefined) {
      selectField(group.key, pointer);
      return;
    }
    clearField();
    showStatus("This line has no value of its own: select a line with a value");
  },
});

/** Reveals or hides the secret under the cursor. */
export function toggleCurrentSecret() {
  const current = view.current();
  if (!current?.line.secret) return false;
  toggleSecret(current.group, current.line, () => repaintSecret(current.group.key, current.index));
  return true;
}

function groupsOf(build) {
  return build.resources.map((resource, index) => ({
    key: build.keys[index],
    id: resource.id,
    hash: resource.hash,
    lines: resource.lines,
    index,
    resource,
  }));
}

function hideAll() {
  for (const { key, pointer } of hideSecrets()) {
    const index = view.entries.get(key)?.group.lines.findIndex((line) => line.pointer === pointer) ?? -1;
    if (index >= 0) repaintSecret(key, index);
  }
}

function emptyText() {
  if (state.build.error) return "No successful build yet.";
  return state.build.state === "deleted" ? "The target was deleted. The diff shows its objects." : "The target has no resources.";
}

function showBuild({ isUpdate }) {
  hideAll();
  const groups = groupsOf(state.build);
  if (isUpdate) view.set(groups);
  else view.reset(groups);
  const empty = byId("output-empty");
  empty.hidden = groups.length > 0;
  empty.textContent = emptyText();
}

function markField() {
  for (const line of byId("panel-output").querySelectorAll("[aria-current]")) line.removeAttribute("aria-current");
  const { index, key } = findField();
  if (index >= 0) view.blocks.line(view.entries.get(key), index)?.setAttribute("aria-current", "true");
}

function findField() {
  const { key, pointer } = state.field ?? {};
  const group = view.entries.get(key)?.group;
  return { key, index: group ? group.lines.findIndex((line) => line.pointer === pointer) : -1 };
}

function revealLine({ key, pointer, focus }) {
  const group = view.groups.find((one) => one.key === key);
  if (!group) return;
  const index = pointer ? group.lines.findIndex((line) => line.pointer === pointer) : 0;
  view.go(key, Math.max(index, 0), { block: index > 0 ? "center" : "start", focus: focus === true });
  markField();
}

/** Connects the output to the state and returns its lines. */
export function startOutput() {
  on("build", showBuild);
  on("field", markField);
  on("reveal-line", revealLine);
  on("update", hideAll);
  return view;
}
