// Requests to the server. The token is only kept in this module.

let token = null;

/** The server rejects the token or the key. */
export class AccessError extends Error {}

/** Exchanges the single-use key of the address for a token. */
export async function exchangeKey(key) {
  const response = await fetch("/api/token", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
    cache: "no-store",
  });
  if (!response.ok) throw new AccessError("the key is invalid");
  token = (await response.json()).token;
}

/** Reports whether the page has a token. */
export function hasAccess() {
  return token !== null;
}

async function send(path, options = {}) {
  if (token === null) throw new AccessError("no token");
  const headers = { ...options.headers, Authorization: `Bearer ${token}` };
  const response = await fetch(path, { ...options, headers, cache: "no-store" });
  if (response.status === 401) {
    token = null;
    throw new AccessError("the token is invalid");
  }
  if (!response.ok) throw new Error(await errorText(response));
  return response;
}

async function errorText(response) {
  try {
    return (await response.json()).error ?? `status ${response.status}`;
  } catch {
    return `status ${response.status}`;
  }
}

/** Sends a GET request and returns its JSON. */
export async function get(path, parameters, signal) {
  const response = await send(`${path}?${new URLSearchParams(parameters)}`, { signal });
  return response.json();
}

/** Sends a GET request and returns its content as a blob. */
export async function download(path, parameters) {
  const response = await send(`${path}?${new URLSearchParams(parameters)}`);
  return response.blob();
}

/** Sends a POST request with a JSON body and returns its JSON. */
export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await send(path, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

/** Yields the events of the server until the stream ends. */
export async function* events() {
  const response = await send("/api/events");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    // Only the new part is searched for the end of an event, since events can be large.
    const last = parts.at(-1) ?? "";
    if (!value.includes("\n\n") && !(last.endsWith("\n") && value.startsWith("\n"))) {
      parts.push(value);
      continue;
    }
    const blocks = (parts.join("") + value).split("\n\n");
    parts = [blocks.pop()];
    yield* blocks.map(parseEvent).filter((event) => event !== null);
  }
}

function parseEvent(block) {
  const lines = block.split("\n").filter((line) => line.startsWith("data:"));
  return lines.length === 0 ? null : JSON.parse(lines.map((line) => line.slice(5)).join("\n"));
}
