// Starts the page, follows the events of the server and the address bar.

import { AccessError, events, exchangeKey, hasAccess } from "./api.js";
import { takeKey } from "./address.js";
import { byId, setText } from "./dom.js";
import { startDetails } from "./details.js";
import { startDiff } from "./diff.js";
import { startKeys } from "./keys.js";
import { startList } from "./list.js";
import { loadTarget, openTarget } from "./navigation.js";
import { startOutput } from "./output.js";
import { startProvenance } from "./provenance.js";
import { startSearch } from "./search.js";
import { startSettings } from "./settings.js";
import { startSource } from "./source.js";
import { emit, state } from "./state.js";
import { describeUpdate, hideNoAccess, showStatus, showConnection, showNoAccess } from "./status.js";
import { showRemoved, startSummary } from "./summary.js";

const RETRY_MILLISECONDS = 1000;
let opened = {};

function onState(event) {
  setText(byId("title"), event.title);
  state.comparison = event.comparison;
  state.targets = new Map(event.targets.map((target) => [target.name, target]));
  emit("targets");
  if (state.target === null) openFirst();
  else if (!state.targets.has(state.target)) showRemoved();
  else if (state.build?.generation !== state.targets.get(state.target).generation) loadTarget(true);
}

function openFirst() {
  const [first] = state.targets.keys();
  if (first === undefined) {
    showStatus("No targets");
    return;
  }
  const isKnown = state.targets.has(opened.target);
  if (opened.target && !isKnown) showStatus(`Target not found: ${opened.target}`);
  openTarget(isKnown ? opened.target : first, isKnown ? opened : {}, true);
}

function onUpdate(event) {
  for (const target of event.targets) state.targets.set(target.name, target);
  for (const name of event.removed ?? []) state.targets.delete(name);
  // The server prepares its answer while the list is updated.
  if (event.targets.some((target) => target.name === state.target)) loadTarget(true);
  emit("update", event);
  showStatus(describeUpdate(event));
  if (state.target === null) openFirst();
  else if (event.removed?.includes(state.target)) showRemoved();
}

async function follow() {
  for await (const event of events()) {
    showConnection("connected");
    if (event.type === "state") onState(event);
    else if (event.type === "update") onUpdate(event);
  }
}

async function connect() {
  while (hasAccess()) {
    try {
      await follow();
    } catch (error) {
      if (error instanceof AccessError) break;
    }
    showConnection("disconnected");
    await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
  }
  showNoAccess();
}

/** Exchanges a key of the address, if it has one; then reports whether the page has access. */
async function enter() {
  const { key, address } = takeKey();
  opened = address;
  if (key === null) return hasAccess();
  const hadAccess = hasAccess();
  try {
    await exchangeKey(key);
    hideNoAccess();
    if (!hadAccess) connect();
  } catch {
    // The key was used before; a token that the page already has stays valid.
  }
  return hasAccess();
}

async function onAddress() {
  if (!(await enter())) showNoAccess();
  else if (opened.target && state.targets.size > 0) openTarget(opened.target, { ...opened, view: opened.view ?? "output" }, true);
}

async function start() {
  startSettings();
  const views = { output: startOutput(), diff: startDiff(), source: startSource() };
  [startSummary, startList, startDetails, startProvenance, startSearch].forEach((begin) => begin());
  startKeys(views);
  addEventListener("hashchange", onAddress);
  if (!(await enter())) showNoAccess();
}

start();
