// Dark and light colours, their contrast, reduced motion, and narrow windows.
//
//   node appearance.mjs CHROMIUM URL DIRECTORY SCREENSHOTS

import { check, equal, replaceIn, runStory } from "./page.mjs";

const REPLICAS = '#panel-output article[data-id="Deployment shop/web"] [data-pointer="/spec/replicas"]';

/** Returns the texts whose contrast with their background is below 4.5 (WCAG AA). Runs in the page. */
const lowContrast = () => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return { channels: [red, green, blue], alpha };
  };
  const luminance = (channels) => {
    const [red, green, blue] = channels.map((one) => one / 255).map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { channels, alpha } = rgba(getComputedStyle(at).backgroundColor);
      if (alpha === 255) return channels;
    }
    return [255, 255, 255];
  };
  const found = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!hasText || element.closest(".visually-hidden, .skip, option") || !element.checkVisibility()) continue;
    const [text, back] = [luminance(rgba(getComputedStyle(element).color).channels), luminance(background(element))];
    const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    if (ratio < 4.5) found.add(`${element.tagName}.${element.className}#${element.id} ${ratio.toFixed(2)}`);
  }
  return [...found];
};

const header = (page) => page.read(() => getComputedStyle(document.getElementById("header")).backgroundColor);

const brightness = async (page) => (await header(page)).match(/\d+/g).slice(0, 3).map(Number).reduce((sum, one) => sum + one) / 3;

const checkTheme = async (page, isDark, name) => {
  const found = await brightness(page);
  check(`background of ${name}`, isDark ? found < 80 : found > 200, found);
  equal(`texts with low contrast in ${name}`, await page.read(lowContrast), []);
};

const open = async (page) => {
  await page.click('#targets a[data-name="prod"]');
  await page.waitTarget("prod");
  await page.click(REPLICAS);
  await page.waitText("#field-path", "spec.replicas");
};

const systemTheme = async (page) => {
  await page.media("prefers-color-scheme", "light");
  await checkTheme(page, false, "light");
  await page.media("prefers-color-scheme", "dark");
  await checkTheme(page, true, "dark");
  await page.screenshot("dark");
};

const chosenTheme = async (page) => {
  const themes = [await page.text("#theme")];
  for (let i = 0; i < 3; i += 1) {
    await page.click("#theme");
    themes.push(await page.text("#theme"));
    const theme = await page.read(() => document.documentElement.dataset.theme);
    equal("theme of the document", `Theme: ${theme}`, themes.at(-1));
    await checkTheme(page, theme !== "light", `chosen ${theme}`);
  }
  equal("themes", themes, ["Theme: system", "Theme: light", "Theme: dark", "Theme: system"]);
  const stored = await page.read(() => Object.keys(localStorage));
  equal("storage", stored, ["smp-preview"]);
};

const reducedMotion = async (page) => {
  const animation = async (change) => {
    const generation = await page.generation();
    replaceIn("prod/kustomization.yaml", ...change);
    await page.waitLater(generation);
    return page.read(() => getComputedStyle(document.querySelector("#panel-output .line.changed")).animationName);
  };
  await page.media();
  const usual = await animation(["count: 3", "count: 4"]);
  check("animation of a changed line", usual !== "none", usual);
  await page.media("prefers-reduced-motion", "reduce");
  equal("animation with reduced motion", await animation(["count: 4", "count: 3"]), "none");
};

/** Returns the visible columns, and the widths of the document and the window. */
const columns = (page) => page.read(() => ({
  shown: ["nav", "main", "aside"].filter((id) => document.getElementById(id).checkVisibility()),
  widths: [document.documentElement.scrollWidth, innerWidth],
}));

const narrow = async (page) => {
  await page.size(390, 844);
  await page.click('#panes [data-pane="targets"]');
  equal("column of targets", await columns(page), { shown: ["nav"], widths: [390, 390] });
  await page.screenshot("narrow-targets");
  await page.click('#targets a[data-name="prod"]');
  await page.wait("output", () => document.body.dataset.pane === "main");
  equal("column of the output", await columns(page), { shown: ["main"], widths: [390, 390] });
  await page.screenshot("narrow");
  await page.click(REPLICAS);
  await page.wait("details", () => document.body.dataset.pane === "details");
  equal("column of details", await columns(page), { shown: ["aside"], widths: [390, 390] });
  await page.waitText("#field-path", "spec.replicas");
  await page.screenshot("narrow-details");
  await page.press("Escape");
  equal("column after Escape", await columns(page), { shown: ["main"], widths: [390, 390] });
  await page.media("prefers-color-scheme", "dark");
  await page.screenshot("narrow-dark");
};

const landmarks = async (page) => {
  await page.call("Accessibility.enable");
  const { nodes } = await page.call("Accessibility.getFullAXTree");
  const roles = nodes.filter((node) => !node.ignored).map((node) => node.role?.value);
  for (const role of ["banner", "navigation", "main", "complementary", "contentinfo", "search", "tablist", "status"]) {
    check(`landmark ${role}`, roles.includes(role), [...new Set(roles)]);
  }
  const unnamed = nodes.filter((node) => !node.ignored && ["button", "textbox", "searchbox", "combobox", "link", "tab"].includes(node.role?.value)
    && !node.name?.value);
  equal("controls without a name", unnamed.map((node) => [node.role.value, node.nodeId]), []);
};

await runStory(async (page) => {
  for (const step of [open, systemTheme, chosenTheme, landmarks, reducedMotion, narrow]) await step(page);
});
