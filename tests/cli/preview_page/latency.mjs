// Saves an overlay or its base, and prints how many milliseconds later the page has painted the change.
//
//   node latency.mjs CHROMIUM URL DIRECTORY TOKEN SAVES

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

import { openPage, useBrowser } from "../browser.mjs";
import { Preview } from "./page.mjs";

const [program, url, directory, token, saves] = process.argv.slice(2);
const TARGET = "overlays/cluster-0000";

/** Another client uses the only key, so the page gets the token of that client. */
const shareToken = async (page) => {
  page.on("Fetch.requestPaused", ({ requestId }) => {
    const body = Buffer.from(JSON.stringify({ token })).toString("base64");
    const responseHeaders = [{ name: "Content-Type", value: "application/json" }];
    page.call("Fetch.fulfillRequest", { requestId, responseCode: 200, responseHeaders, body });
  });
  await page.call("Fetch.enable", { patterns: [{ urlPattern: "*/api/token" }] });
};

/** Stores a promise of the time of the frame after a text is in the output. Runs in the page. */
const observe = (text) => {
  const list = document.querySelector("#panel-output .list");
  window.repaint = new Promise((done) => {
    const observer = new MutationObserver(() => {
      if (!list.textContent.includes(text)) return;
      observer.disconnect();
      requestAnimationFrame(() => done(performance.timeOrigin + performance.now()));
    });
    observer.observe(list, { childList: true, subtree: true, characterData: true });
  });
};

const CHANGES = {
  overlay: { file: `${TARGET}/patch.yaml`, pattern: /replicas: .*/, value: (number) => `replicas: ${number}` },
  base: { file: "bases/base-00/web.yaml", pattern: /web:1\.0\..*/, value: (number) => `web:1.0.${number}` },
};

/** Returns the milliseconds from the end of the save to the repaint. */
const measure = async (page, { file, pattern, value }, number) => {
  const text = readFileSync(join(directory, file), "utf8").replace(pattern, value(number));
  await page.read(observe, value(number));
  const written = openSync(join(directory, file), "w");
  writeSync(written, text);
  const saved = performance.timeOrigin + performance.now();
  closeSync(written);
  return (await page.run("window.repaint")) - saved;
};

await useBrowser(program, async (browser) => {
  const page = new Preview(await openPage(browser));
  await shareToken(page);
  await page.open(url);
  await page.wait("connection", () => document.body.dataset.connection === "connected");
  await page.size(1440, 900);
  await page.click(`#targets a[data-name="${TARGET}"]`);
  await page.waitTarget(TARGET);
  const times = { "overlay, repaint": [], "base, repaint": [] };
  for (let save = 0; save < Number(saves); save += 1) {
    const kind = save % 4 === 3 ? "base" : "overlay";
    times[`${kind}, repaint`].push(await measure(page, CHANGES[kind], 100000 + save));
    await page.wait("end of the update", () => !document.getElementById("main").hasAttribute("aria-busy"));
  }
  return times;
});
