// View settings, kept in localStorage, and their dialog.

import { byId, element } from "./dom.js";
import { emit } from "./state.js";

/** The editors of the settings by name. */
export const EDITORS = new Map([
  ["vscode", { title: "VS Code", template: "vscode://file/{path}:{line}:{column}" }],
  ["vscode-insiders", { title: "VS Code Insiders", template: "vscode-insiders://file/{path}:{line}:{column}" }],
  ["vscodium", { title: "VSCodium", template: "vscodium://file/{path}:{line}:{column}" }],
  ["cursor", { title: "Cursor", template: "cursor://file/{path}:{line}:{column}" }],
  ["zed", { title: "Zed", template: "zed://file/{path}:{line}:{column}" }],
  ["idea", { title: "IntelliJ IDEA", template: "idea://open?file={path}&line={line}&column={column}" }],
  ["custom", { title: "Custom URL template", template: "" }],
  ["none", { title: "None", template: "" }],
]);

const STORAGE_KEY = "smp-preview";
const THEMES = ["system", "light", "dark"];

export const settings = { theme: "system", editor: "vscode", template: "", wrap: true, keys: true };

function load() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORAGE_KEY)) ?? {};
    for (const [name, value] of Object.entries(settings)) {
      if (typeof stored[name] === typeof value) settings[name] = stored[name];
    }
  } catch {
    // Without storage, the defaults are used.
  }
  if (!THEMES.includes(settings.theme)) settings.theme = "system";
  if (!EDITORS.has(settings.editor)) settings.editor = "vscode";
}

function change(name, value) {
  settings[name] = value;
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(settings));
  } catch {
    // The setting lasts until the page is closed.
  }
  apply();
  emit("settings", name);
}

function apply() {
  const { dataset } = document.documentElement;
  dataset.theme = settings.theme;
  dataset.wrap = settings.wrap ? "on" : "off";
  byId("theme").textContent = `Theme: ${settings.theme}`;
  byId("setting-theme").value = settings.theme;
  byId("setting-editor").value = settings.editor;
  byId("setting-template").value = settings.template;
  byId("setting-template-row").hidden = settings.editor !== "custom";
  byId("setting-wrap").checked = settings.wrap;
  byId("setting-keys").checked = settings.keys;
}

/** Loads the settings and connects the dialog. */
export function startSettings() {
  for (const [id, editor] of EDITORS) byId("setting-editor").append(element("option", { value: id }, editor.title));
  load();
  apply();
  byId("theme").addEventListener("click", () => {
    change("theme", THEMES[(THEMES.indexOf(settings.theme) + 1) % THEMES.length]);
  });
  byId("settings-open").addEventListener("click", () => byId("settings").showModal());
  const bind = (id, name, property) => {
    byId(id).addEventListener("change", (event) => change(name, event.target[property]));
  };
  bind("setting-theme", "theme", "value");
  bind("setting-editor", "editor", "value");
  bind("setting-template", "template", "value");
  bind("setting-wrap", "wrap", "checked");
  bind("setting-keys", "keys", "checked");
}
