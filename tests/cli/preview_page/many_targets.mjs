// A list of 1,000 targets: filters, a save that many of them use, a removed target.
//
//   node many_targets.mjs CHROMIUM URL DIRECTORY SCREENSHOTS

import { rmSync } from "node:fs";

import { absolute, check, equal, replaceIn, runStory } from "./page.mjs";

const filter = (page, id, value) => page.read((control, text) => {
  const element = document.getElementById(control);
  element.value = text;
  element.dispatchEvent(new Event(element.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  return document.getElementById("target-count").textContent;
}, id, value);

const filters = async (page) => {
  equal("number of targets", await page.text("#target-count"), "1,020 targets");
  equal("rows", await page.count("#targets > li"), 1020);
  equal("filtered by name", await filter(page, "filter", "cluster-0007"), "1 of 1,020 targets");
  equal("filtered by two words", await filter(page, "filter", "cluster 099"), "11 of 1,020 targets");
  await filter(page, "filter", "");
  const errors = await page.count('#targets a[data-state="error"]');
  check("targets with errors", errors > 0, errors);
  equal("filtered by state", await filter(page, "state-filter", "error"), `${errors} of 1,020 targets`);
  equal("shown rows", await page.count("#targets > li:not([hidden])"), errors);
  equal("no filter", await filter(page, "state-filter", "all"), "1,020 targets");
};

const saveBase = async (page) => {
  await page.click('#targets a[data-name="overlays/cluster-0010"]');
  await page.waitTarget("overlays/cluster-0010");
  const before = await page.read(() => {
    const list = document.getElementById("targets");
    list.scrollTop = 300;
    window.rows = [...list.querySelectorAll("a")];
    return { scroll: list.scrollTop, generation: Number(document.getElementById("main").dataset.generation) };
  });
  replaceIn("bases/base-00/settings.yaml", "level: info", "level: debug");
  await page.waitLater(before.generation);
  const status = await page.text("#status");
  check("status", status.startsWith("Built 51 targets in "), status);
  const after = await page.read((generation) => ({
    kept: window.rows.filter((row) => row.isConnected).length,
    built: window.rows.filter((row) => Number(row.dataset.generation) > generation).length,
    scroll: document.getElementById("targets").scrollTop,
  }), before.generation);
  equal("rows after a save", after, { kept: 1020, built: 51, scroll: before.scroll });
  const changed = await page.read(() => [...document.querySelectorAll("#panel-output .line.changed")].map((one) => one.textContent.trim()));
  equal("changed lines", changed, ["level: debug"]);
};

const searchAll = async (page) => {
  await page.press("/");
  await page.type("level");
  await page.waitText("#search-count", "200 matches, 810 more not shown");
  await page.press("Escape");
};

const removeTarget = async (page) => {
  await page.click('#targets a[data-name="overlays/cluster-0010"]');
  rmSync(absolute("overlays/cluster-0010"), { recursive: true });
  await page.waitText("#target-count", "1,019 targets");
  equal("row of the removed target", await page.count('#targets a[data-name="overlays/cluster-0010"]'), 0);
  await page.waitText("#error", "The target was removed.", true);
  await page.press("]");
  await page.wait("another target", () => document.getElementById("error").textContent === "");
};

await runStory(async (page) => {
  for (const step of [filters, saveBase, searchAll, removeTarget]) await step(page);
  await page.screenshot("many-targets");
});
