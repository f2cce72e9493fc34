// Selects targets, views and fields, and keeps the address in step.

import { AccessError, get } from "./api.js";
import { showAddress } from "./address.js";
import { byId } from "./dom.js";
import { emit, resourceKeys, state } from "./state.js";
import { showStatus, showNoAccess } from "./status.js";

const VIEWS = ["output", "diff", "source"];
// The request of the selected target; updates that arrive meanwhile are combined into one more request.
const loading = { target: null, isOutdated: false, number: 0 };

function currentAddress() {
  const index = state.field && state.build ? state.build.keys.indexOf(state.field.key) : -1;
  return {
    target: state.target,
    view: state.view,
    resource: index < 0 ? null : String(index),
    pointer: index < 0 ? null : state.field.pointer,
    file: state.view === "source" ? state.file : null,
  };
}

/** Writes the current view to the address bar. */
export function updateAddress(replace = false) {
  if (state.target !== null) showAddress(currentAddress(), replace);
}

/** Returns the address of the current view without the key. */
export function currentLink() {
  updateAddress(true);
  return location.href;
}

/** Reports an error of a request. */
export function reportError(error) {
  if (error?.name === "AbortError") return;
  if (error instanceof AccessError) showNoAccess();
  else showStatus(`Request failed: ${error.message}`);
}

/** Requests the selected target again; `isUpdate` keeps the scroll position. */
export async function loadTarget(isUpdate) {
  const name = state.target;
  if (isUpdate && loading.target === name) {
    loading.isOutdated = true;
    return;
  }
  const number = loading.number + 1;
  Object.assign(loading, { target: name, isOutdated: false, number });
  byId("main").setAttribute("aria-busy", "true");
  try {
    const build = await get("/api/target", { name });
    if (number !== loading.number) return;
    build.keys = resourceKeys(build.resources);
    const previous = state.build;
    state.build = build;
    emit("build", { previous, isUpdate: isUpdate && previous?.name === build.name });
  } catch (error) {
    if (number === loading.number) reportError(error);
  } finally {
    if (number === loading.number) finishLoading();
  }
}

function finishLoading() {
  loading.target = null;
  byId("main").removeAttribute("aria-busy");
  if (loading.isOutdated) loadTarget(true);
}

/** Selects a target and optionally a view, a file and a field of it. */
export async function openTarget(name, address = {}, replace = false) {
  if (!state.targets.has(name)) {
    showStatus(`Target not found: ${name}`);
    return;
  }
  const isOther = state.target !== name;
  if (isOther) {
    // A message about the former target; none is selected when the page opens.
    if (state.target !== null) showStatus("");
    Object.assign(state, { target: name, field: null, file: null });
    emit("target");
    emit("field");
  }
  if (VIEWS.includes(address.view)) setView(address.view);
  if (address.file) state.file = address.file;
  if (isOther || state.build?.name !== name) await loadTarget(false);
  if (state.build?.name !== name) return;
  openAddress(address);
  updateAddress(replace);
  showPane("main");
}

function openAddress(address) {
  if (state.view === "source") emit("source", address);
  const key = state.build.keys[Number(address.resource ?? -1)];
  if (key === undefined) {
    if (state.field !== null && address.pointer === null) setField(null);
    return;
  }
  if (address.pointer) setField({ key, pointer: address.pointer });
  if (state.view === "output") emit("reveal-line", { key, pointer: address.pointer, focus: address.focus });
}

function setView(view) {
  if (state.view === view) return;
  state.view = view;
  emit("view");
}

/** Shows the output, the diff or the source. */
export function showView(view) {
  setView(view);
  updateAddress();
  showPane("main");
}

/** Shows a location in the source view. */
export function openSource(at) {
  state.file = at.file;
  setView("source");
  updateAddress();
  emit("source", { line: at.line, focus: true });
  showPane("main");
}

function setField(field) {
  state.field = field;
  emit("field");
}

/** Selects a field, which shows its provenance. */
export function selectField(key, pointer) {
  setField({ key, pointer });
  updateAddress();
  showPane("details");
}

/** Ends the selection of a field. */
export function clearField() {
  if (state.field === null) return false;
  setField(null);
  updateAddress();
  return true;
}

/** Selects a column; all columns are visible in wide windows. */
export function showPane(pane) {
  document.body.dataset.pane = pane;
  for (const one of byId("panes").children) one.setAttribute("aria-pressed", String(one.dataset.pane === pane));
}
