// Controls Chromium by its debugging protocol over two pipes, so that nothing needs to be installed.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const DEADLINE_MILLISECONDS = 60_000;
const KEYS = {
  Enter: { windowsVirtualKeyCode: 13, text: "\r" },
  Tab: { windowsVirtualKeyCode: 9 },
  Escape: { windowsVirtualKeyCode: 27 },
  Home: { windowsVirtualKeyCode: 36 },
  End: { windowsVirtualKeyCode: 35 },
  ArrowLeft: { windowsVirtualKeyCode: 37 },
  ArrowUp: { windowsVirtualKeyCode: 38 },
  ArrowRight: { windowsVirtualKeyCode: 39 },
  ArrowDown: { windowsVirtualKeyCode: 40 },
};

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Waits until a test returns something true, and returns that. `describe` adds what was found to the error. */
export const until = async (what, test, describe = () => "") => {
  const end = Date.now() + DEADLINE_MILLISECONDS;
  while (Date.now() < end) {
    const found = await test();
    if (found) return found;
    await pause(20);
  }
  throw new Error(`timed out: ${what} ${await describe()}`);
};

/** Starts the browser; `events` has the events of all pages. */
const startBrowser = (program) => {
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
  const listeners = [];
  let last = 0;
  let buffered = "";
  output.setEncoding("utf8");
  output.on("data", (chunk) => {
    const messages = (buffered + chunk).split("\0");
    buffered = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      if (message.id) {
        waiting.get(message.id)(message);
        waiting.delete(message.id);
      } else {
        events.push(message);
        listeners.forEach((listener) => listener(message));
      }
    }
  });
  const send = (method, params = {}, sessionId = undefined) =>
    new Promise((done, fail) => {
      last += 1;
      waiting.set(last, (answer) => (answer.error ? fail(new Error(`${method}: ${answer.error.message}`)) : done(answer.result)));
      input.write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
    });
  const close = async () => {
    browser.kill("SIGKILL");
    await until("the browser ended", () => browser.exitCode !== null || browser.signalCode !== null);
    await pause(100);
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  return { send, events, listeners, close };
};

/** Opens an empty page. Its functions run scripts, press keys, and return the events of the page. */
export const openPage = async (browser) => {
  const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => browser.send(method, params, sessionId);
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await call(`${domain}.enable`);
  const eventsOf = (method) => browser.events.filter((event) => event.method === method && event.sessionId === sessionId);
  const on = (method, listener) => browser.listeners.push((event) => {
    if (event.method === method && event.sessionId === sessionId) listener(event.params);
  });
  const open = async (url) => {
    const loaded = eventsOf("Page.loadEventFired").length;
    await call("Page.navigate", { url });
    await until(`${url} is loaded`, () => eventsOf("Page.loadEventFired").length > loaded);
  };
  const run = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };
  const press = async (key, modifiers = 0) => {
    const code = key.toUpperCase().charCodeAt(0);
    const base = { key, code: key, modifiers, ...(KEYS[key] ?? { windowsVirtualKeyCode: code, text: key }) };
    await call("Input.dispatchKeyEvent", { type: base.text ? "keyDown" : "rawKeyDown", ...base });
    await call("Input.dispatchKeyEvent", { type: "keyUp", ...base, text: undefined });
  };
  return { call, open, run, press, on, eventsOf };
};

/** Runs `use(browser)`, prints its result as JSON, and ends the process; with status 1 and the error if it fails. */
export const useBrowser = async (program, use) => {
  const browser = startBrowser(program);
  let failed = false;
  try {
    process.stdout.write(JSON.stringify(await use(browser)) + "\n");
  } catch (error) {
    failed = true;
    process.stderr.write(`${error.stack}\n`);
  } finally {
    await browser.close();
    process.exit(failed ? 1 : 0);
  }
};
