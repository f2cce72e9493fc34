// Findings, dangers and the layer tree of the selected target.

import { button, byId, count, element } from "./dom.js";
import { locationLinks } from "./editor.js";
import { layerTree } from "./layers.js";
import { openTarget, selectField, showView } from "./navigation.js";
import { on, state } from "./state.js";

let diff = { objects: [] };

function severity(name) {
  return element("span", { class: "severity", "data-severity": name }, name);
}

function openResource(finding) {
  const index = state.build.resources.findIndex((resource) => resource.id === finding.resource);
  if (index < 0) return;
  openTarget(state.target, { view: "output", resource: String(index), pointer: finding.pointer, focus: true });
  if (finding.pointer) selectField(state.build.keys[index], finding.pointer);
}

function resourceLink(finding) {
  if (!finding.resource) return null;
  const text = finding.field ? `${finding.resource} ${finding.field}` : finding.resource;
  return element("div", {}, button(text, { class: "link isolate", title: "Show in output" }, () => openResource(finding)));
}

function findingItem(finding) {
  return element(
    "li",
    { "data-code": finding.code },
    element("div", {}, severity(finding.severity), " ", element("code", { class: "isolate" }, finding.code)),
    element("p", { class: "isolate" }, finding.message),
    resourceLink(finding),
    finding.location ? locationLinks(finding.location) : null,
    finding.help ? element("p", { class: "hint isolate" }, `help: ${finding.help}`) : null,
  );
}

function dangerItem(object, danger) {
  return element(
    "li",
    { "data-code": danger.code },
    element("div", {}, severity(danger.severity), " ", element("code", { class: "isolate" }, danger.code)),
    element("p", { class: "isolate" }, danger.message),
    element("div", {}, button(object.id, { class: "link isolate", title: "Show in diff" }, () => showView("diff"))),
    danger.location ? locationLinks(danger.location) : null,
  );
}

function replaceItems(list, items) {
  // Unchanged items keep their elements and the focus.
  const same = list.children.length === items.length && items.every((item, index) => item.isEqualNode(list.children[index]));
  if (!same) list.replaceChildren(...items);
}

function renderFindings() {
  const { findings } = state.build;
  replaceItems(byId("finding-list"), findings.map(findingItem));
  byId("findings-empty").hidden = findings.length > 0;
  byId("findings-empty").textContent = "No findings.";
  byId("findings-heading").textContent = findings.length > 0 ? `Findings (${findings.length})` : "Findings";
}

function renderDangers() {
  const items = diff.objects.flatMap((object) => (object.dangers ?? []).map((danger) => dangerItem(object, danger)));
  replaceItems(byId("danger-list"), items);
  byId("dangers").hidden = items.length === 0;
  byId("dangers-heading").textContent = `Dangers (${items.length})`;
}

function renderLayers() {
  const { layers } = state.build;
  const tree = layers ? layerTree(layers) : element("p", { class: "hint" }, "No successful build yet.");
  const shown = byId("layer-tree");
  if (!shown.firstElementChild?.isEqualNode(tree)) shown.replaceChildren(tree);
}

function renderBuild({ isUpdate }) {
  renderFindings();
  renderLayers();
  if (!isUpdate) byId("aside").scrollTo(0, 0);
}

/** Describes the findings of a target: "1 error, 2 warnings". */
export function findingsText(findings) {
  const number = (name) => findings.filter((finding) => finding.severity === name).length;
  const parts = [];
  if (number("error") > 0) parts.push(count(number("error"), "error"));
  if (number("warning") > 0) parts.push(count(number("warning"), "warning"));
  return parts.join(", ");
}

/** Connects the details to the state. */
export function startDetails() {
  on("build", renderBuild);
  on("diff", (answer) => {
    diff = { objects: answer.objects ?? [] };
    renderDangers();
  });
  on("settings", (name) => {
    if (state.build && (name === "editor" || name === "template")) {
      renderFindings();
      renderDangers();
      renderLayers();
    }
  });
}
