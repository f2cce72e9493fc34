// The fragment of the address: a single-use key at the start, afterwards the selected view.

const NAMES = ["target", "view", "resource", "pointer", "file"];

/** Splits the fragment into the key, which has no `=`, and the parameters of the view. */
export function parseFragment(hash) {
  const parts = hash.replace(/^#/, "").split("&");
  const key = parts[0] !== "" && !parts[0].includes("=") ? parts.shift() : null;
  const parameters = new URLSearchParams(parts.join("&"));
  const address = {};
  for (const name of NAMES) address[name] = parameters.get(name);
  return { key, address };
}

/** Returns the fragment of a view; it contains neither the key nor the token. */
export function formatFragment(address) {
  const parameters = new URLSearchParams();
  for (const name of NAMES) {
    const value = address[name];
    if (value !== null && value !== undefined && value !== "") parameters.set(name, value);
  }
  const fragment = parameters.toString().replaceAll("%2F", "/");
  return fragment === "" ? location.pathname : `#${fragment}`;
}

/** Takes the key out of the address bar and returns it with the view. */
export function takeKey() {
  const parsed = parseFragment(location.hash);
  if (parsed.key !== null) history.replaceState(null, "", formatFragment(parsed.address));
  return parsed;
}

/** Shows a view in the address bar, as a new history entry unless `replace` is set. */
export function showAddress(address, replace) {
  const fragment = formatFragment(address);
  if (fragment === location.hash) return;
  if (replace) history.replaceState(null, "", fragment);
  else history.pushState(null, "", fragment);
}
