// Opens the HTML page of a review in Chromium, uses it as a reader does, and prints what happened as JSON.
//
//   node browser.mjs CHROMIUM PAGE
//
// The browser is controlled by its debugging protocol over two pipes, so that nothing needs to be installed.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [program, page] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "kubectl-smp-browser-"));
const browser = spawn(
  program,
  ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--window-size=1200,900", `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"],
  { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
);
const [, , , input, output] = browser.stdio;

const waiting = new Map();
const events = [];
let last = 0;
let buffered = "";
output.setEncoding("utf8");
output.on("data", (chunk) => {
  const messages = (buffered + chunk).split("\0");
  buffered = messages.pop();
  for (const message of messages.map((text) => JSON.parse(text))) {
    if (message.id) waiting.get(message.id)(message);
    else events.push(message);
  }
});
const send = (method, params = {}, sessionId = undefined) =>
  new Promise((done, fail) => {
    last += 1;
    waiting.set(last, (answer) => (answer.error ? fail(new Error(`${method}: ${answer.error.message}`)) : done(answer.result)));
    input.write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
  });
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const until = async (what, test) => {
  for (let i = 0; i < 1200; i += 1) {
    const found = await test();
    if (found) return found;
    await pause(50);
  }
  throw new Error(`timed out: ${what}`);
};

const use = async () => {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await call(`${domain}.enable`);
  const url = pathToFileURL(resolve(page)).href;
  await call("Page.navigate", { url });
  await until("the page is loaded", () => events.some((event) => event.method === "Page.loadEventFired"));
  const run = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const press = async (key, code = key, text = key) => {
    const base = { key, code, windowsVirtualKeyCode: key.length === 1 ? key.toUpperCase().charCodeAt(0) : 0 };
    await call("Input.dispatchKeyEvent", { type: "keyDown", ...base, text });
    await call("Input.dispatchKeyEvent", { type: "keyUp", ...base });
  };
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
  await press("Enter", "Enter", "\r");
  found.opened = await open();
  found.body = await run(`document.querySelector("article .body")?.textContent ?? ""`);
  await press("s");
  found.side = await run(`document.body.classList.contains("side")`);
  await press("Enter", "Enter", "\r");
  found.folded = await open();
  await press("/");
  found.typing = await focused();
  await press("e");
  found.typed = await run(`document.getElementById("search").value`);
  await set("search", "");
  await press("Escape", "Escape", "");
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
  const of = (method) => events.filter((event) => event.method === method && event.sessionId === sessionId);
  found.requests = of("Network.requestWillBeSent").map((event) => event.params.request.url).filter((request) => request !== url);
  found.dialogs = of("Page.javascriptDialogOpening").length;
  found.errors = of("Runtime.exceptionThrown").map((event) => event.params.exceptionDetails.text)
    .concat(of("Log.entryAdded").map((event) => event.params.entry.text));
  return found;
};

let failed = false;
try {
  process.stdout.write(JSON.stringify(await use()) + "\n");
} catch (error) {
  failed = true;
  process.stderr.write(`${error.stack}\n`);
} finally {
  browser.kill("SIGKILL");
  await until("the browser ended", () => browser.exitCode !== null || browser.signalCode !== null);
  await pause(100);
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  process.exit(failed ? 1 : 0);
}
