// The heading of the selected target and the error of its last build.

import { download } from "./api.js";
import { appendLines, byId, count, element, setText, visible } from "./dom.js";
import { findingsText } from "./details.js";
import { locationLinks } from "./editor.js";
import { reportError } from "./navigation.js";
import { on, state } from "./state.js";
import { showStatus } from "./status.js";

function renderHeading() {
  const name = state.target ?? "";
  setText(byId("target-name"), name);
  byId("target-name").title = visible(name);
  document.title = name === "" ? "kubectl smp preview" : `${visible(name)} · kubectl smp preview`;
}

function renderSummary() {
  const { name, generation, resources, findings, stale } = state.build;
  Object.assign(byId("main").dataset, { target: name, generation });
  const parts = [count(resources.length, "resource"), findingsText(findings), stale ? "last successful build" : ""];
  setText(byId("target-summary"), parts.filter((part) => part !== "").join(" · "));
}

function renderError() {
  const { error, stale, findings } = state.build;
  const banner = byId("error");
  const text = error ? error.text || error.message : "";
  // An unchanged error is not announced again.
  const others = findings.filter((finding) => finding.severity === "error").length - 1;
  const shown = `${state.target}\n${stale}\n${others}\n${text}`;
  if (error && banner.smpShown === shown) return;
  banner.smpShown = error ? shown : null;
  if (!error) {
    banner.replaceChildren();
    return;
  }
  const title = stale ? "Build failed. The output and the diff of the last successful build are shown." : "Build failed.";
  const content = element("pre", { class: "isolate" });
  appendLines(content, text);
  const links = error.location ? [locationLinks(error.location)] : [];
  const more = others > 0 ? [element("p", { class: "more" }, `and ${count(others, "more error")}: see the findings`)] : [];
  banner.replaceChildren(element("strong", {}, title), content, ...links, ...more);
}

/** Shows that the selected target no longer exists. */
export function showRemoved() {
  const banner = byId("error");
  banner.smpShown = null;
  banner.replaceChildren(element("strong", {}, "The target was removed. Its last output is shown."));
}

function renderView() {
  for (const tab of byId("tabs").children) {
    const isSelected = tab.dataset.view === state.view;
    tab.setAttribute("aria-selected", String(isSelected));
    tab.setAttribute("tabindex", isSelected ? "0" : "-1");
    byId(`panel-${tab.dataset.view}`).hidden = !isSelected;
  }
}

async function exportReview() {
  try {
    const blob = await download("/api/export", { target: state.target });
    const url = URL.createObjectURL(blob);
    const name = `${state.target.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "review"}.html`;
    element("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    showStatus(`Exported ${name}`);
  } catch (error) {
    reportError(error);
  }
}

function renderComparison() {
  const { comparison } = state;
  byId("comparison").hidden = !comparison;
  setText(byId("comparison"), comparison ? `compared with ${comparison}` : "");
  // The changes in a cluster are not a comparison of two builds.
  byId("export").hidden = !comparison || comparison === "cluster";
}

/** Connects the heading, the error and the tabs to the state. */
export function startSummary() {
  on("target", renderHeading);
  on("targets", renderComparison);
  on("build", () => {
    renderSummary();
    renderError();
  });
  on("view", renderView);
  byId("export").addEventListener("click", exportReview);
}
