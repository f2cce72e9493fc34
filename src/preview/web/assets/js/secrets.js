// Values of Secrets that the user revealed, until the next update.

import { post } from "./api.js";
import { reportError } from "./navigation.js";
import { state } from "./state.js";

const revealed = new Map();
const idOf = (key, pointer) => `${key}\n${pointer}`;
let period = 0;

/** Returns the revealed value of a line, or undefined. */
export function revealedText(key, line) {
  return revealed.get(idOf(key, line.pointer))?.text;
}

/** Hides all values; returns the fields that were revealed. */
export function hideSecrets() {
  const fields = [...revealed.values()];
  revealed.clear();
  period += 1;
  return fields;
}

/** Requests the value of a line, or hides it; then runs `repaint`. */
export async function toggleSecret(group, line, repaint) {
  const { key } = group;
  const { pointer } = line;
  if (revealed.delete(idOf(key, pointer))) {
    repaint();
    return;
  }
  const requested = period;
  try {
    const { name, generation } = state.build;
    const { text } = await post("/api/reveal", { target: name, resource: group.index, pointer, generation });
    if (requested !== period) return;
    revealed.set(idOf(key, pointer), { key, pointer, text });
    repaint();
  } catch (error) {
    reportError(error);
  }
}
