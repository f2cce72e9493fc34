// Helpers of the browser tests: opens the page of a preview, waits for conditions, and compares what is found.

import { isDeepStrictEqual } from "node:util";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { openPage, until, useBrowser } from "../browser.mjs";

const [program, url, directory, screenshots] = process.argv.slice(2);

const show = (value) => JSON.stringify(value) ?? "undefined";

/** Fails unless a value equals the expected one. */
export const equal = (what, found, wanted) => {
  if (!isDeepStrictEqual(found, wanted)) throw new Error(`${what}: found ${show(found)}, expected ${show(wanted)}`);
};

/** Fails unless a text contains a part. */
export const contains = (what, text, part) => {
  if (!String(text).includes(part)) throw new Error(`${what}: found ${show(text)}, expected a text with ${show(part)}`);
};

/** Fails unless a condition is true; `found` is part of the message. */
export const check = (what, isTrue, found) => {
  if (!isTrue) throw new Error(`${what}: found ${show(found)}`);
};

/** Writes a file of the previewed directory. */
export const save = (file, text) => writeFileSync(join(directory, file), text);

/** Replaces a part of a file of the previewed directory. */
export const replaceIn = (file, before, after) => {
  const text = readFileSync(join(directory, file), "utf8");
  contains(file, text, before);
  save(file, text.replace(before, after));
};

export const absolute = (file) => join(directory, file);

/** Returns the source of a call of a function in the page. */
const callOf = (action, args) => `(${action})(...${JSON.stringify(args)})`;

/** A page of the preview, as a user sees it. */
export class Preview {
  constructor(page) {
    Object.assign(this, page);
  }

  /** Runs a function in the page and returns its result. */
  read(action, ...args) {
    return this.run(callOf(action, args));
  }

  /** Waits until a function in the page returns something true. */
  wait(what, action, ...args) {
    const source = callOf(action, args);
    return until(what, () => this.run(source), () => this.summary());
  }

  /** Waits until the text of an element equals the expected one, or contains it if `isPart` is set. */
  waitText(selector, wanted, isPart = false) {
    return this.wait(`${selector} with ${show(wanted)}`, (at, text, part) => {
      const found = document.querySelector(at)?.textContent;
      return part ? found?.includes(text) : found === text;
    }, selector, wanted, isPart);
  }

  /** Returns the parts of the page that explain a failure. */
  async summary() {
    return show(await this.read(() => ({
      connection: document.body.dataset.connection,
      target: { ...document.getElementById("main")?.dataset },
      status: document.getElementById("status")?.textContent,
      error: document.getElementById("error")?.textContent,
      field: document.getElementById("field-body")?.textContent.slice(0, 300),
      focus: document.activeElement?.outerHTML.slice(0, 300),
      scroll: [...document.querySelectorAll(".scroll")].map((one) => [one.scrollTop, one.scrollHeight, one.clientHeight]),
      lines: document.querySelectorAll(".line").length,
      address: location.href,
    })));
  }

  text(selector) {
    return this.read((at) => document.querySelector(at)?.textContent ?? null, selector);
  }

  count(selector) {
    return this.read((at) => document.querySelectorAll(at).length, selector);
  }

  /** Clicks the middle of an element with the mouse. */
  async click(selector) {
    const at = await this.wait(`${selector} to click`, (one) => {
      const element = document.querySelector(one);
      if (!element) return null;
      const isReachable = () => {
        const { left, top } = element.getBoundingClientRect();
        return element.contains(document.elementFromPoint(left + 5, top + 5));
      };
      if (!isReachable()) element.scrollIntoView({ block: "center" });
      const { left, top, width, height } = element.getBoundingClientRect();
      const point = { x: left + Math.min(width / 2, 40), y: top + height / 2 };
      return width > 0 && element.contains(document.elementFromPoint(point.x, point.y)) ? point : null;
    }, selector);
    const mouse = { ...at, button: "left", clickCount: 1 };
    await this.call("Input.dispatchMouseEvent", { type: "mousePressed", ...mouse });
    await this.call("Input.dispatchMouseEvent", { type: "mouseReleased", ...mouse });
  }

  async type(text) {
    for (const key of text) await this.press(key);
  }

  media(name, value) {
    return this.call("Emulation.setEmulatedMedia", { features: value ? [{ name, value }] : [] });
  }

  size(width, height) {
    return this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  }

  async screenshot(name) {
    await this.read(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => true));
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    mkdirSync(screenshots, { recursive: true });
    writeFileSync(join(screenshots, `${name}.png`), Buffer.from(data, "base64"));
  }

  /** Waits until a target is painted. */
  waitTarget(name) {
    return this.wait(`output of ${name}`, (target) => {
      const main = document.getElementById("main");
      return main.dataset.target === target && !main.hasAttribute("aria-busy");
    }, name);
  }

  /** Waits until all lines exist: those outside the window are created while the browser is idle. */
  waitLines() {
    return this.wait("all lines of the output", () => document.querySelector("#panel-output .block")
      && !document.querySelector("#panel-output .block:empty"));
  }

  /** Returns the generation that is painted. */
  generation() {
    return this.read(() => Number(document.getElementById("main").dataset.generation));
  }

  /** Waits until a later generation of the selected target is painted. */
  waitLater(generation) {
    return this.wait(`generation after ${generation}`, (before) => {
      const main = document.getElementById("main");
      return Number(main.dataset.generation) > before && !main.hasAttribute("aria-busy");
    }, generation);
  }

  /** Fails if the page ran a foreign script, asked another server, violated its policy, or keeps the token. */
  async checkSafety() {
    const origin = new URL(url).origin;
    const requests = this.eventsOf("Network.requestWillBeSent").map((event) => event.params.request.url);
    equal("requests to other servers", requests.filter((one) => !one.startsWith(`${origin}/`) && one !== "about:blank"), []);
    equal("dialogs", this.eventsOf("Page.javascriptDialogOpening").length, 0);
    const entries = this.eventsOf("Log.entryAdded").map((event) => event.params.entry);
    equal("log", entries.filter((entry) => !this.expectedLog?.test(`${entry.text} ${entry.url}`)), []);
    equal("exceptions", this.eventsOf("Runtime.exceptionThrown").map((event) => event.params.exceptionDetails), []);
    equal("scripts of names", await this.read(() => String(window.pwned)), "undefined");
    await this.checkSecrecy();
  }

  /** Fails if the key or the token is in the address, a link, or the storage. */
  async checkSecrecy() {
    const answers = this.eventsOf("Network.requestWillBeSent").map((event) => event.params.request.headers);
    const tokens = answers.map((headers) => headers.Authorization?.replace("Bearer ", "")).filter(Boolean);
    check("requests with a token", tokens.length > 0, answers);
    const secrets = [...new Set([...tokens, new URL(url).hash.slice(1)])];
    const kept = await this.read(() => ({
      address: location.href,
      links: [...document.querySelectorAll("[href], [src], [action]")].map((one) => one.href ?? one.src ?? one.action),
      page: document.documentElement.outerHTML,
      local: JSON.stringify(localStorage),
      session: JSON.stringify(sessionStorage),
      cookie: document.cookie,
      state: JSON.stringify(history.state),
    }));
    for (const secret of secrets) {
      for (const [place, text] of Object.entries(kept)) check(`token in ${place}`, !String(text).includes(secret), place);
    }
    equal("keys of the storage", await this.read(() => Object.keys(localStorage).filter((key) => key !== "smp-preview")), []);
    equal("session storage and cookies", [kept.session, kept.cookie], ["{}", ""]);
  }
}

/** Opens the address with the key, and waits for the first output. */
export const openPreview = async (browser) => {
  const page = new Preview(await openPage(browser));
  // The start of the server and the first build are not part of what is tested.
  await page.open(url);
  await page.wait("connection", () => document.body.dataset.connection === "connected");
  await page.wait("output", () => document.querySelector("#panel-output .line"));
  return page;
};

/** Runs a story with the page of the preview; fails the process if a step fails. */
export const runStory = (story) =>
  useBrowser(program, async (browser) => {
    const page = await openPreview(browser);
    await page.size(1440, 900);
    const found = await story(page);
    await page.checkSafety();
    return found ?? {};
  });

export { url };
