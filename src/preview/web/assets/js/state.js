// The state of the page and its change events.

export const state = {
  /** Targets by name, in the order of the list. */
  targets: new Map(),
  comparison: null,
  /** The name of the selected target. */
  target: null,
  /** The last answer of `/api/target` for the selected target. */
  build: null,
  /** "output", "diff" or "source". */
  view: "output",
  /** The selected field: `{ resource, key, pointer }`. */
  field: null,
  /** The file of the source view. */
  file: null,
};

const bus = new EventTarget();

/** Registers a listener of an event: "targets", "target", "build", "view", "field", "update". */
export function on(name, listener) {
  bus.addEventListener(name, (event) => listener(event.detail));
}

/** Sends an event to its listeners. */
export function emit(name, detail) {
  bus.dispatchEvent(new CustomEvent(name, { detail }));
}

/** Returns unique keys of resources, which stay the same between builds. */
export function resourceKeys(resources) {
  const seen = new Map();
  return resources.map((resource) => {
    const base = `${resource.apiVersion} ${resource.id}`;
    const repeated = seen.get(base) ?? 0;
    seen.set(base, repeated + 1);
    return repeated === 0 ? base : `${base} ${repeated}`;
  });
}
