// A list of groups of lines with a line cursor. Output, diff and source are such lists.

import { Blocks } from "./blocks.js";
import { changedLines, followLine } from "./changes.js";
import { element } from "./dom.js";

const CHUNK = 150;
const FLASH_MILLISECONDS = 1500;

/** Shows groups `{ key, hash, lines }`; an update replaces only groups whose hash changed. */
export class LineView {
  /**
   * `render(group, index)` returns the content of a line, `heading(group)` the heading of a group,
   * and `activate(group, index)` runs on a click or Enter.
   */
  constructor(panel, { render, heading, activate }) {
    this.scroller = panel.querySelector(".scroll");
    this.list = panel.querySelector(".list");
    Object.assign(this, { render, heading, activate });
    this.groups = [];
    this.entries = new Map();
    this.cursor = null;
    this.blocks = new Blocks(this.scroller, (entry, index) => this.createLine(entry, index), (block) => this.isPinned(block));
    this.list.addEventListener("click", (event) => this.onClick(event));
    this.list.addEventListener("focusin", (event) => this.onFocus(event));
  }

  /** Shows other content from its start. */
  reset(groups) {
    this.set([]);
    this.cursor = null;
    this.scroller.scrollTo(0, 0);
    this.set(groups);
  }

  /** Shows new groups; keeps the elements of unchanged groups, the scroll position, the cursor and the focus. */
  set(groups) {
    const anchor = this.anchor();
    const hadFocus = this.list.contains(document.activeElement);
    this.removeMissing(groups);
    this.groups = groups;
    groups.forEach((group) => this.updateEntry(group));
    this.created = 0;
    this.createChunk();
    this.cursor ??= this.firstLine();
    this.markCursor();
    this.restore(anchor);
    if (hadFocus) this.focusCursor();
    this.createLater();
  }

  removeMissing(groups) {
    const kept = new Set(groups.map((group) => group.key));
    for (const [key, entry] of this.entries) {
      if (kept.has(key)) continue;
      this.blocks.release(entry);
      entry.section.remove();
      this.entries.delete(key);
      if (this.cursor?.key === key) this.cursor = null;
    }
  }

  updateEntry(group) {
    const entry = this.entries.get(group.key);
    if (!entry) return;
    this.clearChanges(entry);
    const before = entry.group;
    entry.group = group;
    if (before.hash !== group.hash) this.replaceLines(entry, before);
    this.replaceHeading(entry);
  }

  replaceHeading(entry) {
    const heading = this.heading(entry.group);
    if (!entry.section.firstElementChild.isEqualNode(heading)) entry.section.firstElementChild.replaceWith(heading);
  }

  replaceLines(entry, before) {
    const wasShown = entry.blocks.some((block) => block.filled);
    this.blocks.release(entry);
    entry.changed = changedLines(before.lines, entry.group.lines);
    entry.changedAt = performance.now();
    entry.blocks = this.blocks.create(entry);
    if (this.cursor?.key === entry.group.key) {
      this.cursor.index = followLine(before.lines, entry.group.lines, this.cursor.index);
    }
    if (wasShown) entry.blocks.forEach((block) => this.blocks.fill(block));
    entry.section.lastElementChild.replaceChildren(...entry.blocks.map((block) => block.element));
  }

  clearChanges(entry) {
    if (entry.changed.size === 0) return;
    entry.changed = new Set();
    for (const line of entry.section.querySelectorAll(".line.changed")) line.classList.remove("changed", "flash");
  }

  createEntry(group) {
    const entry = { group, changed: new Set(), changedAt: 0, blocks: [] };
    entry.blocks = this.blocks.create(entry);
    const lines = element("div", { class: "lines" }, ...entry.blocks.map((block) => block.element));
    entry.section = element("article", { class: "group", "data-id": group.id, "aria-label": group.id }, this.heading(group), lines);
    entry.section.smpKey = group.key;
    this.entries.set(group.key, entry);
    return entry;
  }

  createChunk() {
    const end = Math.min(this.created + CHUNK, this.groups.length);
    let next = this.created === 0 ? this.list.firstElementChild : this.sectionOf(this.created - 1).nextElementSibling;
    for (; this.created < end; this.created += 1) {
      const group = this.groups[this.created];
      const { section } = this.entries.get(group.key) ?? this.createEntry(group);
      if (section === next) next = next.nextElementSibling;
      else this.list.insertBefore(section, next);
    }
  }

  sectionOf(index) {
    return this.entries.get(this.groups[index].key).section;
  }

  createLater() {
    clearTimeout(this.timer);
    if (this.created >= this.groups.length) return;
    this.timer = setTimeout(() => {
      this.createChunk();
      this.createLater();
    });
  }

  createAll() {
    while (this.created < this.groups.length) this.createChunk();
  }

  createLine(entry, index) {
    const outer = this.render(entry.group, index);
    const line = outer.classList.contains("line") ? outer : outer.querySelector(".line");
    line.setAttribute("data-n", index + 1);
    const isCursor = this.cursor?.key === entry.group.key && this.cursor.index === index;
    line.setAttribute("tabindex", isCursor ? "0" : "-1");
    line.classList.toggle("cursor", isCursor);
    if (entry.changed.has(index)) {
      const isNew = performance.now() - entry.changedAt < FLASH_MILLISECONDS;
      line.classList.add("changed", ...(isNew ? ["flash"] : []));
    }
    return outer;
  }

  /** Replaces the element of one line. */
  repaintLine(key, index) {
    const entry = this.entries.get(key);
    const line = entry && this.blocks.line(entry, index);
    if (!line) return;
    const outer = line.parentElement.classList.contains("block") ? line : line.parentElement;
    const hadFocus = outer.contains(document.activeElement);
    outer.replaceWith(this.createLine(entry, index));
    if (hadFocus) this.focusCursor();
  }

  // --- Cursor ---

  firstLine() {
    const group = this.groups.find((one) => one.lines.length > 0);
    return group ? { key: group.key, index: 0 } : null;
  }

  /** Returns the line under the cursor: `{ group, index, line, element }`. */
  current() {
    const entry = this.cursor && this.entries.get(this.cursor.key);
    if (!entry) return null;
    const { index } = this.cursor;
    return { group: entry.group, index, line: entry.group.lines[index], element: this.blocks.line(entry, index) };
  }

  isPinned(block) {
    const { cursor } = this;
    return cursor?.key === block.entry.group.key && cursor.index >= block.start && cursor.index < block.end;
  }

  markCursor() {
    const line = this.current()?.element;
    for (const other of this.list.querySelectorAll(".line.cursor, .line[tabindex='0']")) {
      if (other === line) continue;
      other.classList.remove("cursor");
      other.setAttribute("tabindex", "-1");
    }
    line?.classList.add("cursor");
    line?.setAttribute("tabindex", "0");
  }

  focusCursor() {
    this.current()?.element?.focus({ preventScroll: true });
  }

  /** Moves the cursor to a line, scrolls to it and focuses it. */
  go(key, index, { block = "nearest", focus = true } = {}) {
    if (!this.entries.has(key)) this.createAll();
    if (!this.entries.has(key)) return false;
    this.cursor = { key, index };
    this.markCursor();
    const scroll = () => this.current()?.element?.scrollIntoView({ block });
    scroll();
    // Blocks above may get their true height only now.
    if (block !== "nearest") requestAnimationFrame(scroll);
    if (focus) this.focusCursor();
    return true;
  }

  /** Moves the cursor by lines. */
  moveLine(step) {
    const at = this.position();
    if (!at) return;
    const index = this.cursor.index + step;
    if (index >= 0 && index < this.groups[at.group].lines.length) this.go(this.cursor.key, index);
    else this.moveGroup(step, step < 0);
  }

  /** Moves the cursor to the next or previous group that has lines. */
  moveGroup(step, toLast = false) {
    const at = this.position();
    if (!at) return;
    for (let index = at.group + step; index >= 0 && index < this.groups.length; index += step) {
      const { key, lines } = this.groups[index];
      if (lines.length === 0) continue;
      this.go(key, toLast ? lines.length - 1 : 0, { block: toLast ? "nearest" : "start" });
      return;
    }
    this.focusCursor();
  }

  position() {
    const group = this.groups.findIndex((one) => one.key === this.cursor?.key);
    return group < 0 ? null : { group };
  }

  lineOf(target) {
    const line = target.closest(".line");
    const key = line?.closest(".group")?.smpKey;
    return key === undefined ? null : { key, index: Number(line.getAttribute("data-n")) - 1 };
  }

  onClick(event) {
    const line = this.lineOf(event.target);
    if (!line || !getSelection().isCollapsed) return;
    this.cursor = line;
    this.markCursor();
    this.activate(this.entries.get(line.key).group, line.index);
  }

  onFocus(event) {
    const line = this.lineOf(event.target);
    if (!line) return;
    this.cursor = line;
    this.markCursor();
  }

  /** Runs the action of the line under the cursor. */
  activateCurrent() {
    const current = this.current();
    if (current) this.activate(current.group, current.index);
  }

  // --- Scroll position ---

  /** Returns a visible line and its distance from the top of the window. */
  anchor() {
    const box = this.scroller.getBoundingClientRect();
    if (box.height === 0 || this.scroller.scrollTop === 0) return null;
    const focused = this.cursor && this.entries.get(this.cursor.key) ? this.current().element : null;
    const top = focused?.getBoundingClientRect().top ?? -1;
    if (focused && top >= box.top && top < box.bottom) return this.anchorOf(focused);
    for (let y = box.top + 44; y < box.bottom; y += 20) {
      const line = document.elementFromPoint(box.left + box.width / 2, y)?.closest(".line");
      if (line && this.list.contains(line)) return this.anchorOf(line);
    }
    return null;
  }

  anchorOf(line) {
    const { key, index } = this.lineOf(line);
    return { key, index, lines: this.entries.get(key).group.lines, top: line.getBoundingClientRect().top };
  }

  restore(anchor) {
    if (!anchor) return;
    if (!this.entries.get(anchor.key)?.section.isConnected) return;
    const entry = this.entries.get(anchor.key);
    const line = this.blocks.line(entry, followLine(anchor.lines, entry.group.lines, anchor.index));
    if (line) this.scroller.scrollTop += line.getBoundingClientRect().top - anchor.top;
  }
}
