// Search across all targets.

import { get } from "./api.js";
import { appendText, byId, element, isolated, setText } from "./dom.js";
import { openTarget, reportError } from "./navigation.js";

const DELAY_MILLISECONDS = 120;
let timer = null;
let request = null;
let matches = [];
let active = -1;
let returnFocus = null;

function markedText(text, query) {
  const parts = element("span", { class: "match-text isolate" });
  const lower = text.toLowerCase();
  const lowerQuery = query.toLowerCase();
  // Lowercase letters can differ in length; then nothing is marked.
  const start = lower.length === text.length && lowerQuery !== "" ? lower.indexOf(lowerQuery) : -1;
  if (start < 0) appendText(parts, text);
  else {
    const end = start + lowerQuery.length;
    appendText(parts, text.slice(0, start));
    parts.append(element("mark", {}, text.slice(start, end)));
    appendText(parts, text.slice(end));
  }
  return parts;
}

function option(match, index, query) {
  const created = element(
    "li",
    { role: "option", id: `match-${index}`, "aria-selected": "false" },
    markedText(match.text.trim().slice(0, 300), query),
    element("span", { class: "match-location" }, isolated(match.id), " in ", isolated(match.target)),
  );
  created.addEventListener("mousedown", (event) => event.preventDefault());
  created.addEventListener("click", () => openMatch(index));
  return created;
}

function show(answer, query) {
  ({ matches } = answer);
  byId("search-results").replaceChildren(...matches.map((match, index) => option(match, index, query)));
  const more = answer.more > 0 ? `, ${answer.more.toLocaleString("en")} more not shown` : "";
  const found = matches.length === 1 ? "1 match" : `${matches.length} matches`;
  setText(byId("search-count"), matches.length === 0 ? "No matches" : `${found}${more}`);
  openPanel(true);
  activate(matches.length > 0 ? 0 : -1);
}

function openPanel(isOpen) {
  byId("search-panel").hidden = !isOpen;
  byId("search").setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) byId("search").removeAttribute("aria-activedescendant");
}

function activate(index) {
  byId(`match-${active}`)?.setAttribute("aria-selected", "false");
  active = index;
  const item = byId(`match-${index}`);
  item?.setAttribute("aria-selected", "true");
  item?.scrollIntoView({ block: "nearest" });
  if (item) byId("search").setAttribute("aria-activedescendant", item.id);
  else byId("search").removeAttribute("aria-activedescendant");
}

function openMatch(index) {
  const match = matches[index];
  if (!match) return;
  openPanel(false);
  byId("search").blur();
  openTarget(match.target, { view: "output", resource: String(match.resource), pointer: match.pointer, focus: true });
}

async function search() {
  timer = null;
  request?.abort();
  const query = byId("search").value.trim();
  if (query === "") {
    matches = [];
    openPanel(false);
    return;
  }
  request = new AbortController();
  try {
    const answer = await get("/api/search", { q: query }, request.signal);
    if (byId("search").value.trim() === query) show(answer, query);
  } catch (error) {
    reportError(error);
  }
}

function searchLater() {
  clearTimeout(timer);
  timer = setTimeout(search, DELAY_MILLISECONDS);
}

async function searchNow() {
  clearTimeout(timer);
  timer = null;
  await search();
}

async function onKey(event) {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const step = event.key === "ArrowDown" ? 1 : -1;
    if (matches.length > 0) activate((active + step + matches.length) % matches.length);
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (timer !== null) await searchNow();
    openMatch(active);
  } else if (event.key === "Escape") {
    event.preventDefault();
    closeSearch();
  }
}

/** Focuses the search field. */
export function openSearch() {
  returnFocus = document.activeElement;
  byId("search").focus();
  byId("search").select();
}

function closeSearch() {
  openPanel(false);
  byId("search").value = "";
  matches = [];
  byId("search").blur();
  if (returnFocus?.isConnected) returnFocus.focus({ preventScroll: true });
}

/** Connects the search field. */
export function startSearch() {
  const input = byId("search");
  input.addEventListener("input", searchLater);
  input.addEventListener("keydown", onKey);
  input.addEventListener("focus", () => openPanel(matches.length > 0));
  input.addEventListener("blur", () => openPanel(false));
}
