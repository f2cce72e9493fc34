// Does everything without the mouse.
//
//   node keyboard.mjs CHROMIUM URL DIRECTORY SCREENSHOTS

import { check, contains, equal, replaceIn, runStory } from "./page.mjs";

const focus = (page) => page.read(() => {
  const { id, className, dataset } = document.activeElement;
  return id || dataset.name || dataset.n && `line ${dataset.n}` || className;
});

/** Returns the resource and the number of the line that has the focus. */
const line = (page) => page.read(() => {
  const { activeElement } = document;
  return [activeElement.closest("article")?.dataset.id ?? null, Number(activeElement.dataset.n)];
});

const tabOrder = async (page) => {
  await page.read(() => document.activeElement.blur());
  const order = [];
  for (let i = 0; i < 11; i += 1) {
    await page.press("Tab");
    order.push(await focus(page));
    const outline = await page.read(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return `${outlineStyle} ${outlineWidth}`;
    });
    equal(`outline of ${order.at(-1)}`, outline, "solid 2px");
  }
  equal("order of Tab", order,
    ["skip", "search", "export", "theme", "settings-open", "help-open", "filter", "state-filter", "base", "tab-output", "line 1"]);
};

const moveLines = async (page) => {
  const first = await page.read(() => [...document.querySelectorAll("#panel-output article")].map((one) => one.dataset.id).slice(0, 3));
  for (let i = 0; i < 4; i += 1) await page.press("j");
  equal("j", await line(page), [first[0], 5]);
  await page.press("k");
  await page.press("ArrowUp");
  equal("k and ArrowUp", await line(page), [first[0], 3]);
  await page.press("ArrowDown");
  equal("ArrowDown", await line(page), [first[0], 4]);
  await page.press("n");
  await page.press("n");
  equal("n", await line(page), [first[2], 1]);
  await page.press("p");
  equal("p", await line(page), [first[1], 1]);
  await page.press("k");
  const [id, number] = await line(page);
  check("k on the first line", id === first[0] && number > 5, [id, number]);
};

const selectField = async (page) => {
  await page.press("p");
  await page.wait("field", () => document.activeElement.matches(".line"));
  for (let i = 0; i < 6 && !(await page.read(() => document.activeElement.dataset.pointer)); i += 1) await page.press("j");
  await page.press("Enter");
  await page.wait("provenance", () => document.querySelector("#field-chain > li"));
  await page.press("Escape");
  await page.waitText("#field-body", "Select a line of the output to see which file sets its value.");
};

const chooseTarget = async (page) => {
  await page.press("]");
  await page.waitTarget("prod");
  await page.press("]");
  await page.press("]");
  await page.waitTarget("test");
  await page.press("[");
  await page.waitTarget("prod");
  await page.press("f");
  equal("f", await focus(page), "filter");
  await page.type("tes");
  equal("filtered", await page.text("#target-count"), "1 of 3 targets");
  await page.press("Enter");
  await page.waitTarget("test");
  await page.press("f");
  await page.press("Escape");
  equal("filter after Escape", await page.read(() => document.getElementById("filter").value), "");
  equal("focus after Escape", await page.read(() => document.activeElement.matches("#panel-output .line")), true);
  await page.press("[");
  await page.waitTarget("prod");
};

const chooseView = async (page) => {
  const selected = () => page.read(() => document.querySelector("[role=tab][aria-selected=true]").id);
  for (const [key, tab] of [["d", "tab-diff"], ["s", "tab-source"], ["o", "tab-output"]]) {
    await page.press(key);
    equal(key, await selected(), tab);
  }
  await page.read(() => document.getElementById("tab-output").focus());
  await page.press("ArrowRight");
  equal("ArrowRight on a tab", [await selected(), await focus(page)], ["tab-diff", "tab-diff"]);
  await page.press("Home");
  equal("Home on a tab", await selected(), "tab-output");
};

const openEditor = async (page) => {
  await page.read(() => {
    window.opened = [];
    HTMLAnchorElement.prototype.click = function click() {
      window.opened.push(this.href);
    };
  });
  await page.press("/");
  await page.type("replicas: 3");
  await page.waitText("#search-count", "1 match");
  await page.press("Enter");
  await page.waitText("#field-path", "spec.replicas");
  await page.wait("focus", () => document.activeElement.dataset.pointer === "/spec/replicas");
  await page.press("e");
  const opened = await page.wait("editor", () => window.opened[0]);
  check("editor", opened.startsWith("vscode://file/") && opened.endsWith("prod/kustomization.yaml:5:10"), opened);
};

const revealSecret = async (page) => {
  await page.press("/");
  await page.type("password");
  await page.waitText("#search-count", "3 matches");
  await page.press("Enter");
  await page.waitTarget("base");
  await page.wait("secret", () => document.activeElement.dataset.pointer?.endsWith("/password"));
  await page.press("r");
  await page.wait("value", () => document.querySelector(".revealed"));
  contains("value", await page.text(".revealed"), "correct-horse-battery");
  await page.press("r");
  await page.wait("hidden value", () => !document.querySelector(".revealed"));
  await page.press("Tab");
  equal("button", await focus(page), "reveal");
  await page.press("Enter");
  await page.wait("value", () => document.querySelector(".revealed"));
  equal("button keeps the focus", await focus(page), "reveal");
  await page.press("Enter");
  await page.wait("hidden value", () => !document.querySelector(".revealed"));
};

const readHelp = async (page) => {
  await page.press("?");
  await page.wait("help", () => document.querySelector("dialog#help[open]"));
  await page.press("j");
  await page.press("Escape");
  await page.wait("closed help", () => !document.querySelector("dialog[open]"));
};

const disableKeys = async (page) => {
  await page.read(() => document.getElementById("settings-open").focus());
  await page.press("Enter");
  await page.wait("settings", () => document.querySelector("dialog#settings[open]"));
  await page.read(() => document.getElementById("setting-keys").focus());
  await page.press(" ");
  await page.press("Escape");
  await page.wait("closed settings", () => !document.querySelector("dialog[open]"));
  await page.read(() => document.querySelector("#panel-output .line[tabindex='0']").focus());
  const before = await line(page);
  await page.press("j");
  equal("j without shortcuts", await line(page), before);
  await page.press("ArrowDown");
  equal("arrow keys without shortcuts", await line(page), [before[0], before[1] + 1]);
};

/** A save keeps the keyboard at its line. */
const keepFocus = async (page) => {
  const before = await line(page);
  const generation = await page.generation();
  replaceIn("base/web.yaml", "web:1", "web:2");
  await page.waitLater(generation);
  equal("focus after a save", await line(page), before);
};

await runStory(async (page) => {
  for (const step of [tabOrder, moveLines, selectField, chooseTarget, chooseView, openEditor, revealSecret, readHelp, disableKeys, keepFocus]) {
    await step(page);
  }
});
