// Looks at an overlay, finds where a value comes from, edits, breaks and mends it, searches, and reveals a secret.
//
//   node story.mjs CHROMIUM URL DIRECTORY SCREENSHOTS

import { until } from "../browser.mjs";
import { absolute, check, contains, equal, replaceIn, runStory, save, url } from "./page.mjs";

const KUSTOMIZATION = "prod/kustomization.yaml";
const REPLICAS = '#panel-output article[data-id="Deployment shop/web"] [data-pointer="/spec/replicas"]';

const open = async (page) => {
  const address = await page.read(() => location.href);
  check("address without the key", !address.includes(new URL(url).hash.slice(1)), address);
  equal("number of targets", await page.text("#target-count"), "3 targets");
  equal("first target", await page.text("#target-name"), "base");
  equal("selected row", await page.read(() => document.querySelector("#targets a[aria-current=true]").dataset.name), "base");
  await page.click('#targets a[data-name="prod"]');
  await page.waitTarget("prod");
  await page.waitText("#target-name", "prod");
};

const readChain = async (page) => {
  await page.click(REPLICAS);
  await page.waitText("#field-path", "spec.replicas");
  equal("resource", await page.text("#field-resource"), "Deployment shop/web");
  const chain = await page.read(() => [...document.querySelectorAll("#field-chain > li")].map((item) => [
    ...[".value", ".tag", ".location", ".excerpt-line.highlight"].map((part) => item.querySelector(part)?.textContent),
    item.querySelector(".editor-link")?.getAttribute("href"),
  ]));
  const editor = (file, at) => `vscode://file${absolute(file)}:${at}`;
  equal("chain", chain, [
    ["3", "in effect", "prod/kustomization.yaml:5:10", "  count: 3", editor(KUSTOMIZATION, "5:10")],
    ["1", "overridden", "base/web.yaml:6:13", "  replicas: 1", editor("base/web.yaml", "6:13")],
  ]);
  equal("writer", await page.text("#field-chain > li .by"), "by replicas[0]");
  contains("address", await page.read(() => location.hash), "#target=prod&view=output&resource=");
  contains("address", await page.read(() => location.hash), "&pointer=/spec/replicas");
  equal("selected line", await page.read((at) => document.querySelector(at).getAttribute("aria-current"), REPLICAS), "true");
  await page.screenshot("light");
};

const readOtherLines = async (page) => {
  await page.click('#panel-output article[data-id="ConfigMap shop/notes"] [data-pointer="/data/text"]');
  await page.waitText("#field-path", "data.text");
  equal("lines of a value", (await page.text("#field-chain .value")).split("\n"), ["first", "second"]);
  equal("line without a value", await page.read(() => {
    const lines = [...document.querySelectorAll('#panel-output article[data-id="Deployment shop/web"] .line')];
    const line = lines.find((one) => one.textContent === "metadata:");
    line.click();
    return line.dataset.pointer ?? null;
  }), null);
  await page.waitText("#status", "This line has no value of its own: select a line with a value");
  await page.waitText("#field-body", "Select a line of the output to see which file sets its value.");
  await page.click('#targets a[data-name="test"]');
  await page.waitTarget("test");
  equal("status of another target", await page.text("#status"), "");
  await page.click('#targets a[data-name="prod"]');
  await page.waitTarget("prod");
  await page.click(REPLICAS);
  await page.waitText("#field-path", "spec.replicas");
};

const readSource = async (page) => {
  await page.click("#field-chain > li:first-child button.location");
  await page.wait("line of the source", () => document.activeElement.matches("#panel-source .line.cursor[data-n='5']"));
  equal("file", await page.read(() => document.getElementById("source-file").value), KUSTOMIZATION);
  equal("source line", await page.read(() => document.activeElement.textContent), "  count: 3");
  await page.run("history.back()");
  await page.wait("output after going back", () => document.getElementById("tab-output").getAttribute("aria-selected") === "true");
  await page.waitText("#field-path", "spec.replicas");
};

/** Scrolls so that the line is in the middle, with lines before and after it. */
const prepareEdit = (page) => page.read((at) => {
  const line = document.querySelector(at);
  line.scrollIntoView({ block: "center" });
  line.focus({ preventScroll: true });
  window.kept = [...document.querySelectorAll('#panel-output article:not([data-id="Deployment shop/web"])')]
    .flatMap((article) => [...article.querySelectorAll(".line")]);
  return { top: line.getBoundingClientRect().top, scroll: document.querySelector("#panel-output .scroll").scrollTop, kept: window.kept.length };
}, REPLICAS);

const edit = async (page) => {
  await page.waitLines();
  const before = await prepareEdit(page);
  check("scrolled list", before.scroll > 100 && before.kept > 200, before);
  const generation = await page.generation();
  replaceIn(KUSTOMIZATION, "count: 3", "count: 4");
  await page.waitLater(generation);
  await page.wait("changed value", (at) => document.querySelector(at).textContent.includes("replicas: 4"), REPLICAS);
  const after = await page.read((at) => ({
    top: document.querySelector(at).getBoundingClientRect().top,
    scroll: document.querySelector("#panel-output .scroll").scrollTop,
    kept: window.kept.filter((line) => line.isConnected).length,
  }), REPLICAS);
  check("position of the line", Math.abs(after.top - before.top) <= 1, { before, after });
  equal("scroll position", after.scroll, before.scroll);
  equal("lines of unchanged resources that are still the same elements", after.kept, before.kept);
  equal("focus", await page.read(() => document.activeElement.dataset.pointer), "/spec/replicas");
  equal("selected lines", await page.read(() => [...document.querySelectorAll("#panel-output [aria-current]")].map((one) => one.textContent)), ["  replicas: 4"]);
  equal("changed lines", await page.read(() => [...document.querySelectorAll("#panel-output .line.changed")].map((one) => one.textContent)), ["  replicas: 4"]);
  await page.waitText("#field-chain .value", "4");
  const status = await page.text("#status");
  check("status", /^Built prod in .+ ms, changed: prod\/kustomization\.yaml$/.test(status), status);
};

const breakAndMend = async (page) => {
  const before = await page.count("#panel-output article");
  replaceIn(KUSTOMIZATION, "count: 4", "count: [");
  await page.waitText("#error", "Build failed. The output and the diff of the last successful build are shown.", true);
  contains("error", await page.text("#error pre"), "prod/kustomization.yaml");
  contains("location of the error", await page.text("#error .location"), "prod/kustomization.yaml:");
  equal("resources of the last good build", await page.count("#panel-output article"), before);
  contains("value of the last good build", await page.text(REPLICAS), "replicas: 4");
  contains("summary", await page.text("#target-summary"), "last successful build");
  const state = () => document.querySelector('#targets a[data-name="prod"]').dataset.state;
  equal("state in the list", await page.read(state), "error");
  contains("status", await page.text("#status"), "with errors");
  await page.screenshot("error");
  equal("other errors", await page.count("#error .more"), 0);
  replaceIn(KUSTOMIZATION, "count: [", "count: 4\nnone: 1\nmissing: 2\n");
  await page.waitText("#error .more", "and 1 more error: see the findings");
  replaceIn(KUSTOMIZATION, "count: 4\nnone: 1\nmissing: 2\n", "count: 5");
  await page.waitText("#error", "");
  contains("value after the fix", await page.text(REPLICAS), "replicas: 5");
  equal("state in the list", await page.read(state), "ok");
  check("summary", !(await page.text("#target-summary")).includes("last"), await page.text("#target-summary"));
};

const editOther = async (page) => {
  const rows = () => [...document.querySelectorAll("#targets a")].map((row) => row.dataset.name);
  save("test/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n");
  replaceIn("test/kustomization.yaml", "resources: [../base]", "resources: [../base, more.yaml]");
  await page.wait("build of another target", () => document.getElementById("status").textContent.startsWith("Built test in "));
  equal("selected target", await page.text("#target-name"), "prod");
  equal("rows", await page.read(rows), ["base", "prod", "test"]);
};

const search = async (page) => {
  await page.press("/");
  equal("focus of the search", await page.read(() => document.activeElement.id), "search");
  await page.type("image: registry");
  await page.waitText("#search-count", "3 matches");
  equal("marked text", await page.text("#search-results mark"), "image: registry");
  await page.press("ArrowDown");
  const second = await page.text("#search-results > li[aria-selected=true]");
  contains("second match", second, " in prod");
  await page.press("ArrowDown");
  await page.press("Enter");
  await page.waitTarget("test");
  await page.wait("line of the match", () => document.activeElement.matches("#panel-output .line")
    && document.activeElement.textContent.includes("image: registry"));
  await page.waitText("#field-path", "image", true);
  contains("address", await page.read(() => location.hash), "#target=test&view=output&resource=");
  await page.press("/");
  await page.type("nothing like this");
  await page.waitText("#search-count", "No matches");
  await page.press("Escape");
  equal("panel after Escape", await page.read(() => document.getElementById("search-panel").hidden), true);
  equal("focus after Escape", await page.read(() => document.activeElement.matches("#panel-output .line")), true);
};

const revealSecret = async (page) => {
  const row = '#panel-output article[data-id="Secret test-key"] .secret-row';
  const secrets = () => page.read(() => document.documentElement.outerHTML.match(/correct-horse|Y29ycmVjdC1ob3JzZ/g) ?? []);
  await page.click(`${row} .line`);
  await page.waitText("#field-chain .value", "***");
  equal("secrets in the page", await secrets(), []);
  await page.click(`${row} button.reveal`);
  await page.wait("value", () => document.querySelector(".revealed"));
  contains("revealed value", await page.text(`${row} .revealed`), "correct-horse-battery");
  equal("other values", await page.count(".revealed"), 1);
  equal("button", await page.text(`${row} button`), "Hide");
  await page.click(`${row} button.reveal`);
  await page.wait("hidden value", () => !document.querySelector(".revealed"));
  await page.click(`${row} button.reveal`);
  await page.wait("value", () => document.querySelector(".revealed"));
  const generation = await page.generation();
  replaceIn("test/more.yaml", "name: more", "name: again");
  await page.waitLater(generation);
  equal("revealed values after a save", [await page.count(".revealed"), await secrets()], [0, []]);
};

const openOtherViews = async (page) => {
  await page.click('#targets a[data-name="prod"]');
  await page.waitTarget("prod");
  await page.click("#tab-diff");
  const web = '#panel-diff [data-id="deployment.apps/web in shop"]';
  await page.wait("diff", (at) => document.querySelector(at)?.textContent.includes("replicas: 5"), web);
  const changed = await page.read((at) => [...document.querySelectorAll(`${at} .line`)].map((one) => one.textContent.trim()), web);
  check("diff", changed.includes("-   replicas: 1") && changed.includes("+   replicas: 5"), changed);
  equal("name of the hunk", changed[0].split(" @@ ")[1], "metadata");
  check("layers", (await page.text("#layer-tree")).includes("base"), await page.text("#layer-tree"));
  await page.run(`document.getElementById("export").click()`);
  await page.waitText("#status", "Exported prod.html");
  await page.click("#tab-output");
};

const countDangers = async (page) => {
  const patch = "patches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/hostNetwork, value: true}\n";
  replaceIn(KUSTOMIZATION, "labels:", `${patch}labels:`);
  const row = '#targets a[data-name="prod"]';
  await page.waitText(`${row} .counter.danger.error`, "!1");
  equal("icon", await page.read((at) => ({ ...document.querySelector(`${at} .icon`).dataset }), row), { state: "ok", danger: "error" });
  contains("state in words", await page.text(`${row} .visually-hidden`), "Dangerous changes, 1 danger");
  const filter = (name) => page.read((value) => {
    const states = document.getElementById("state-filter");
    states.value = value;
    states.dispatchEvent(new Event("change"));
    return [...document.querySelectorAll("#targets li:not([hidden]) a")].map((one) => one.dataset.name);
  }, name);
  equal("targets with dangers", await filter("danger"), ["prod"]);
  await page.screenshot("dangers");
  await filter("all");
  replaceIn(KUSTOMIZATION, patch, "");
  await page.wait("no dangers", (at) => !document.querySelector(`${at} .counter.danger`), row);
};

const reload = async (page) => {
  await page.checkSafety();
  page.expectedLog = /401.*\/api\/token/;
  for (const address of [await page.read(() => location.href), url]) {
    await page.open("about:blank");
    await page.open(address);
    await page.wait("page without access", () => document.body.dataset.access === "none");
    const text = await page.text("#no-access");
    contains("page without access", text, "This page is not connected to the preview. Press Enter in the terminal of kubectl smp preview to open a new page.");
    equal("lines without access", await page.count(".line"), 0);
  }
  await until("refused key", () => page.eventsOf("Log.entryAdded").length > 0);
};

await runStory(async (page) => {
  for (const step of [open, readChain, readSource, readOtherLines, edit, breakAndMend, editOther, search, revealSecret, openOtherViews, countDangers, reload]) {
    await step(page);
  }
});
