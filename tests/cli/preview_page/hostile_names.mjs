// Names and values that are scripts, links or invisible characters are shown as text.
//
//   node hostile_names.mjs CHROMIUM URL DIRECTORY SCREENSHOTS

import { check, contains, equal, replaceIn, runStory } from "./page.mjs";

/** Fails if a text became an element, or a character that changes the order of others is part of the page. */
const inspect = async (page, what) => {
  const found = await page.read(() => ({
    elements: [...document.querySelectorAll("main img, nav img, aside img, footer img, body script, iframe, object, embed, svg, form:not([method=dialog]), meta[http-equiv], base")]
      .map((one) => one.outerHTML),
    links: [...document.querySelectorAll("a[href], area[href]")].map((one) => one.href)
      .filter((href) => !href.startsWith("vscode://file/") && !href.startsWith(`${location.origin}/#`)),
    handlers: [...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith("on")),
    invisible: [document.title, document.documentElement.textContent, ...[...document.querySelectorAll("[title], [aria-label]")]
      .flatMap((one) => [one.title, one.ariaLabel ?? ""])].filter((text) => /[\u202a-\u202e\u2066-\u2069\u200b\u0007]/.test(text)),
    width: document.documentElement.scrollWidth - innerWidth,
    pwned: String(window.pwned),
  }));
  equal(what, found, { elements: [], links: [], handlers: [], invisible: [], width: 0, pwned: "undefined" });
};

const openAll = async (page) => {
  const names = await page.read(() => [...document.querySelectorAll("#targets a")].map((row) => row.dataset.name));
  check("hostile targets", names.length >= 5, names);
  const texts = [];
  for (const name of names) {
    await page.read((one) => [...document.querySelectorAll("#targets a")].find((row) => row.dataset.name === one).click(), name);
    await page.waitTarget(name);
    await page.waitLines();
    texts.push(await page.text("#panel-output"));
    await inspect(page, `output of ${name}`);
    for (const view of ["diff", "source", "output"]) {
      await page.read((id) => document.getElementById(id).click(), `tab-${view}`);
      await page.wait(view, (one) => one === "diff" || document.querySelector(`#panel-${one} .line`) || !document.getElementById(`${one}-empty`).hidden, view);
      await inspect(page, `${view} of ${name}`);
    }
  }
  const all = texts.join("\n");
  contains("names as text", all, "<script>window.pwned=1</script>");
  contains("names as text", all, "<img src=x onerror=window.pwned=1>");
  contains("invisible character as text", all, "\\u202e");
  check("cut line", / … [\d,]+ more characters/.test(all), all.length);
};

const explainAll = async (page) => {
  await page.waitLines();
  const pointers = await page.read(() => [...document.querySelectorAll("#panel-output .line.field")].map((one) => one.dataset.pointer).slice(0, 40));
  check("fields", pointers.length > 5, pointers);
  for (const pointer of pointers) {
    await page.read((one) => [...document.querySelectorAll("#panel-output .line.field")].find((line) => line.dataset.pointer === one).click(), pointer);
    await page.wait(`provenance of ${pointer}`, (one) => {
      const address = new URLSearchParams(location.hash.slice(1));
      return address.get("pointer") === one && document.getElementById("field-path");
    }, pointer);
    await inspect(page, `provenance of ${pointer}`);
  }
};

const searchAll = async (page) => {
  await page.press("/");
  for (const query of ["<script>", "onerror", "javascript:", "\u202e"]) {
    await page.read((text) => {
      const input = document.getElementById("search");
      input.value = text;
      input.dispatchEvent(new Event("input"));
    }, query);
    await page.wait(`matches of ${query}`, (text) => [...document.querySelectorAll("#search-results li")].length > 0
      && document.querySelector("#search-results").textContent.includes(text === "\u202e" ? "\\u202e" : text), query);
    await inspect(page, `search for ${query}`);
  }
  await page.press("Escape");
};

const openByAddress = async (page) => {
  const names = await page.read(() => [...document.querySelectorAll("#targets a")].map((row) => row.dataset.name));
  for (const name of names.toReversed()) {
    await page.read((one) => {
      location.hash = `target=${encodeURIComponent(one)}`;
    }, name);
    await page.waitTarget(name);
  }
  await page.read(() => {
    location.hash = "target=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E&view=javascript:alert(1)&resource=x&pointer=//../&file=%3Cimg%3E";
  });
  await page.waitText("#status", "Target not found: <script>window.pwned=1</script>");
  await inspect(page, "unknown target");
};

/** An editor template of the user cannot run a script. */
const editorTemplate = async (page) => {
  await page.read(() => {
    const set = (id, value) => {
      const control = document.getElementById(id);
      control.value = value;
      control.dispatchEvent(new Event("change"));
    };
    set("setting-editor", "custom");
    set("setting-template", "javascript:window.pwned=1//{path}");
  });
  equal("links of a script", await page.count("a.editor-link"), 0);
  await page.read(() => {
    const control = document.getElementById("setting-editor");
    control.value = "vscode";
    control.dispatchEvent(new Event("change"));
  });
};

const breakBuild = async (page) => {
  await page.read(() => document.querySelector('#targets a[data-name^="plain"]').click());
  await page.waitTarget("plain");
  replaceIn("plain/kustomization.yaml", "resources:", "resources:\n- \"</pre><script>window.pwned=1</script><img src=x onerror=window.pwned=1>\\u202e.yaml\"");
  await page.waitText("#error", "Build failed.", true);
  contains("error", await page.text("#error"), "<script>");
  await inspect(page, "error");
  await page.screenshot("hostile");
};

await runStory(async (page) => {
  for (const step of [openAll, explainAll, searchAll, openByAddress, editorTemplate, breakBuild]) await step(page);
});
