// Opens the HTML page of a review in Chromium, uses it as a reader does, and prints what happened as JSON.
//
//   node browser.mjs CHROMIUM PAGE

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { openPage, useBrowser } from "../browser.mjs";

const [program, file] = process.argv.slice(2);

const use = async (browser) => {
  const { call, open: visit, run, press, eventsOf } = await openPage(browser);
  const url = pathToFileURL(resolve(file)).href;
  await visit(url);
  const set = (id, value) => run(`(() => {
    const control = document.getElementById(${JSON.stringify(id)});
    if (control.type === "checkbox") control.checked = ${JSON.stringify(value)}; else control.value = ${JSON.stringify(value)};
    control.dispatchEvent(new Event("input", { bubbles: true }));
    return document.getElementById("count").textContent;
  })()`);
  const open = () => run(`document.querySelectorAll("[aria-expanded=true]").length`);
  const focused = () => run(`document.activeElement.id || document.activeElement.textContent`);

  const found = { summary: await run(`document.getElementById("summary").textContent`) };
  found.all = await run(`document.getElementById("count").textContent`);
  found.search = await set("search", "name-7 configmap");
  await set("search", "");
  found.dangers = await set("danger", true);
  await set("danger", false);
  found.kinds = await run(`[...document.getElementById("kind").options].map((option) => option.value)`);
  found.kind = await set("kind", "Deployment");
  await set("kind", "");
  found.targets = await run(`document.getElementById("target").options.length`);
  await press("j");
  await press("j");
  await press("k");
  found.first = await focused();
  await press("Enter");
  found.opened = await open();
  found.body = await run(`document.querySelector("article .body")?.textContent ?? ""`);
  await press("s");
  found.side = await run(`document.body.classList.contains("side")`);
  await press("Enter");
  found.folded = await open();
  await press("/");
  found.typing = await focused();
  await press("e");
  found.typed = await run(`document.getElementById("search").value`);
  await set("search", "");
  await press("Escape");
  // The times between two frames while the page is scrolled from top to bottom.
  const scroll = () => run(`new Promise((done) => {
    window.scrollTo(0, 0);
    let before = performance.now();
    const times = [];
    const step = (now) => {
      times.push(now - before);
      before = now;
      const height = document.documentElement.scrollHeight - window.innerHeight;
      if (window.scrollY >= height - 1 || times.length > 600) return done(times.slice(3));
      window.scrollBy(0, Math.max(300, height / 200));
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`);
  // The longest of the frames, each as fast as in the best of up to eight runs: a frame that the page makes slow is slow in all,
  // one that waits for another process is not.
  const best = async () => {
    let fastest = await scroll();
    for (let i = 1; i < 8 && Math.max(...fastest) >= 100; i += 1) {
      const times = await scroll();
      fastest = fastest.slice(0, times.length).map((time, at) => Math.min(time, times[at]));
    }
    return { worst: Math.max(...fastest), frames: fastest.length };
  };
  found.scroll = await best();
  const start = Date.now();
  await press("e");
  found.expanded = await open();
  found.expandTime = Date.now() - start;
  found.scrollExpanded = await best();
  await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
  found.dark = await run(`getComputedStyle(document.querySelector("header")).backgroundColor`);
  found.hacked = await run(`String(window.hacked)`);
  found.elements = await run(`document.querySelectorAll("img, iframe, object, embed, link, a").length + document.scripts.length`);
  found.requests = eventsOf("Network.requestWillBeSent").map((event) => event.params.request.url).filter((request) => request !== url);
  found.dialogs = eventsOf("Page.javascriptDialogOpening").length;
  found.errors = eventsOf("Runtime.exceptionThrown").map((event) => event.params.exceptionDetails.text)
    .concat(eventsOf("Log.entryAdded").map((event) => event.params.entry.text));
  return found;
};

await useBrowser(program, use);
