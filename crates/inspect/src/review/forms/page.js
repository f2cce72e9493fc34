"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const element = (name, kind, text) => {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
};
const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const location_ = (at) => (at ? at.file + ":" + at.line : "");
const cause = (field) => {
  const [before, after] = [location_(field.oldLocation), location_(field.newLocation)];
  if (after && before && after !== before) return "at " + after + " (was at " + before + ")";
  return after ? "at " + after : before ? "was at " + before : "";
};
const rows = [];
for (const target of data.targets) {
  if (target.failure) {
    rows.push({ target: target.target, kind: "", action: "failed", title: target.failure, object: null,
      text: target.target + " " + target.failure + " " + (target.newError || target.oldError || ""),
      error: target.newError || target.oldError || "" });
  }
  for (const object of target.objects || []) {
    const name = object.namespace ? object.namespace + "/" + object.name : object.name;
    rows.push({ target: target.target, kind: object.kind, action: object.change, object,
      title: object.kind + " " + name, text: JSON.stringify(object) + " " + target.target });
  }
}
const list = byId("list");
let current = -1;
const body = (row) => {
  const made = element("div", "body");
  if (row.error) made.append(element("div", "finding error", row.error));
  for (const danger of (row.object && row.object.dangers) || []) {
    const at = location_(danger.location);
    made.append(element("div", "finding " + danger.severity, danger.code + ": " + danger.message + (at ? " at " + at : "")));
  }
  for (const field of (row.object && row.object.fields) || []) {
    const one = element("div", "field");
    one.append(element("div", "path", field.path));
    const values = element("div", "values");
    for (const side of ["old", "new"]) {
      if (side in field) values.append(element("pre", side, shown(field[side])));
      else if (document.body.classList.contains("side")) values.append(element("div"));
    }
    one.append(values, element("div", "at", cause(field)));
    made.append(one);
  }
  return made;
};
const isOpen = (row) => row.article.childElementCount > 1;
const setOpen = (row, open) => {
  if (open === isOpen(row)) return;
  if (open) row.article.append(body(row));
  else row.article.lastElementChild.remove();
  row.button.setAttribute("aria-expanded", String(open));
};
rows.forEach((row, number) => {
  row.article = element("article");
  row.button = element("button");
  row.button.type = "button";
  row.button.setAttribute("aria-expanded", "false");
  row.button.append(element("span", row.action, row.action + " "), element("strong", "", row.title));
  const dangers = (row.object && row.object.dangers) || [];
  if (dangers.length) row.button.append(element("span", "error", " " + dangers.map((one) => one.code).join(", ")));
  row.button.append(element("span", "target", row.target));
  row.button.addEventListener("click", () => { current = number; setOpen(row, !isOpen(row)); });
  row.article.append(row.button);
});
// Groups of changes, of which the browser lays out only visible ones.
const GROUP = 50;
const HEIGHT = 42;
const groups = [];
for (let i = 0; i < rows.length; i += GROUP) {
  const group = element("section");
  group.append(...rows.slice(i, i + GROUP).map((row) => row.article));
  groups.push(group);
}
list.append(...groups);
byId("summary").textContent = data.summary;
const options = (id, label, values) => {
  const select = byId(id);
  select.append(new Option(label, ""));
  for (const value of [...new Set(values)].sort()) if (value) select.append(new Option(value, value));
};
options("target", "all targets", rows.map((row) => row.target));
options("kind", "all kinds", rows.map((row) => row.kind));
options("action", "all changes", rows.map((row) => row.action));
const filter = () => {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = ["target", "kind", "action"].map((id) => [id, byId(id).value]);
  let count = 0;
  for (const row of rows) {
    const text = (row.lower ??= row.text.toLowerCase());
    const fits = chosen.every(([id, value]) => !value || row[id] === value)
      && (!byId("danger").checked || ((row.object && row.object.dangers) || []).length > 0)
      && words.every((word) => text.includes(word));
    row.article.hidden = !fits;
    if (fits) count += 1;
  }
  groups.forEach((group, i) => {
    const shown = rows.slice(i * GROUP, (i + 1) * GROUP).filter((row) => !row.article.hidden).length;
    group.hidden = shown === 0;
    group.style.containIntrinsicSize = "auto " + shown * HEIGHT + "px";
  });
  byId("count").textContent = count + " of " + rows.length;
};
for (const id of ["search", "target", "kind", "action", "danger"]) byId(id).addEventListener("input", filter);
const visible = () => rows.filter((row) => !row.article.hidden);
const expandAll = () => {
  const all = visible();
  const open = all.some((row) => !isOpen(row));
  all.forEach((row) => setOpen(row, open));
  byId("expand").textContent = open ? "Fold all" : "Expand all";
};
byId("expand").addEventListener("click", expandAll);
const setSide = () => {
  document.body.classList.toggle("side", byId("side").checked);
  for (const row of rows.filter(isOpen)) { setOpen(row, false); setOpen(row, true); }
};
byId("side").addEventListener("input", setSide);
const move = (step) => {
  let next = current + step;
  while (next >= 0 && next < rows.length && rows[next].article.hidden) next += step;
  if (next < 0 || next >= rows.length) return;
  current = next;
  rows[next].button.focus();
  rows[next].article.scrollIntoView({ block: "nearest" });
};
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
  if (typing && event.key === "Escape") event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = {
    "/": () => byId("search").focus(), j: () => move(1), k: () => move(-1), e: expandAll,
    s: () => { byId("side").checked = !byId("side").checked; setSide(); },
  }[event.key];
  if (action) { event.preventDefault(); action(); }
});
filter();
