// Differences between two versions of the same lines.

/** Returns how many lines at the start and at the end are equal. */
export function commonEnds(before, after) {
  const limit = Math.min(before.length, after.length);
  let prefix = 0;
  while (prefix < limit && before[prefix].text === after[prefix].text) prefix += 1;
  let suffix = 0;
  while (suffix < limit - prefix && before.at(-1 - suffix).text === after.at(-1 - suffix).text) suffix += 1;
  return { prefix, suffix };
}

/** Returns the indexes of lines that are new or changed. */
export function changedLines(before, after) {
  const { prefix, suffix } = commonEnds(before, after);
  const known = new Set(before.slice(prefix, before.length - suffix).map((line) => line.text));
  const changed = new Set();
  for (let index = prefix; index < after.length - suffix; index += 1) {
    if (!known.has(after[index].text)) changed.add(index);
  }
  return changed;
}

/** Returns the index in `after` of the line that has `index` in `before`. */
export function followLine(before, after, index) {
  const { prefix, suffix } = commonEnds(before, after);
  if (index < prefix) return index;
  if (index >= before.length - suffix) return index + after.length - before.length;
  const pointer = before[index]?.pointer;
  const found = pointer === undefined ? -1 : after.findIndex((line) => line.pointer === pointer);
  return found >= 0 ? found : Math.max(0, Math.min(index, after.length - 1));
}
