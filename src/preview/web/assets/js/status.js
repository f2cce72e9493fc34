// The status line, the connection state and the page without access.

import { byId, count, element, setText } from "./dom.js";

const CONNECTIONS = { connecting: "Connecting", connected: "Connected", disconnected: "Disconnected" };

/** Writes to the status line, which screen readers announce. */
export function showStatus(text) {
  setText(byId("status"), text);
}

/** Shows whether the event stream is open. */
export function showConnection(connection) {
  document.body.dataset.connection = connection;
  setText(byId("connection"), CONNECTIONS[connection]);
}

/** Replaces the page with the instructions to open it again. */
export function showNoAccess() {
  const message = byId("no-access");
  if (!message.hidden) return;
  const command = element("code", {}, "kubectl smp preview");
  message.replaceChildren(
    element("h1", {}, "Not connected"),
    element("p", {}, "This page is not connected to the preview. Press Enter in the terminal of ", command, " to open a new page."),
  );
  message.hidden = false;
  document.body.dataset.access = "none";
}

/** Shows the page again after a new key was accepted. */
export function hideNoAccess() {
  byId("no-access").hidden = true;
  delete document.body.dataset.access;
}

function duration(milliseconds) {
  return milliseconds < 1 ? "less than 1 ms" : `${Math.round(milliseconds).toLocaleString("en")} ms`;
}

/** Describes an update: "Built overlays/prod in 7 ms". */
export function describeUpdate(update) {
  const { targets, changed = [], removed = [] } = update;
  const built = targets.length === 1 ? targets[0].name : count(targets.length, "target");
  const parts = [];
  if (targets.length > 0) parts.push(`Built ${built} in ${duration(update.milliseconds)}`);
  const failed = targets.filter((target) => target.state === "error").length;
  if (failed > 0) parts.push(targets.length === 1 ? "with errors" : `${failed} with errors`);
  if (removed.length > 0) parts.push(removed.length === 1 ? `${removed[0]} removed` : `${removed.length} targets removed`);
  if (changed.length > 0) parts.push(`changed: ${changed[0]}${changed.length > 1 ? ` and ${changed.length - 1} more` : ""}`);
  return parts.join(", ");
}
