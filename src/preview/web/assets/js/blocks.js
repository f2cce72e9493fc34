// Blocks of lines whose elements are created when they come near the visible part.

import { element } from "./dom.js";

const BLOCK_LINES = 200;
const LINE_HEIGHT = 20;
const IDLE_TIMEOUT_MILLISECONDS = 500;
// Up to this number of lines, all elements are created, so that the browser's own search finds them.
const KEPT_LINES = 20000;

/** Creates and removes the lines of blocks while the user scrolls. */
export class Blocks {
  /** `createLine(entry, index)` returns the element of a line; `isPinned(block)` prevents removal. */
  constructor(scroller, createLine, isPinned) {
    this.createLine = createLine;
    this.isPinned = isPinned;
    this.byElement = new WeakMap();
    this.waiting = new Set();
    this.lines = 0;
    this.observer = new IntersectionObserver((seen) => seen.forEach((one) => this.visit(one)), {
      root: scroller,
      rootMargin: "1200px 0px",
    });
  }

  /** Creates the blocks of an entry; their lines are created later. */
  create(entry) {
    const { lines } = entry.group;
    const blocks = [];
    for (let start = 0; start < lines.length; start += BLOCK_LINES) {
      const end = Math.min(start + BLOCK_LINES, lines.length);
      const block = { entry, start, end, filled: false, element: element("div", { class: "block" }) };
      const height = `${(end - start) * LINE_HEIGHT}px`;
      block.element.style.setProperty("min-height", height);
      block.element.style.setProperty("contain-intrinsic-size", `auto none auto ${height}`);
      this.byElement.set(block.element, block);
      this.observer.observe(block.element);
      this.waiting.add(block);
      blocks.push(block);
    }
    this.lines += lines.length;
    this.fillWhenIdle();
    return blocks;
  }

  /** Forgets the blocks of an entry. */
  release(entry) {
    for (const block of entry.blocks) {
      this.observer.unobserve(block.element);
      this.waiting.delete(block);
    }
    this.lines -= entry.blocks.at(-1)?.end ?? 0;
  }

  /** Creates the lines of a block. */
  fill(block) {
    if (block.filled) return;
    const content = new DocumentFragment();
    for (let index = block.start; index < block.end; index += 1) content.append(this.createLine(block.entry, index));
    block.element.replaceChildren(content);
    block.element.style.removeProperty("min-height");
    block.filled = true;
    this.waiting.delete(block);
  }

  /** Returns the element of a line, and creates it if needed. */
  line(entry, index) {
    const block = entry.blocks[Math.floor(index / BLOCK_LINES)];
    if (!block) return null;
    this.fill(block);
    return block.element.querySelector(`[data-n="${index + 1}"]`);
  }

  visit(seen) {
    const block = this.byElement.get(seen.target);
    if (seen.isIntersecting) this.fill(block);
    else if (block.filled && this.lines > KEPT_LINES && !this.isPinned(block)) this.empty(block, seen.boundingClientRect);
  }

  empty(block, rectangle) {
    // A hidden panel has no layout, so its heights are unknown.
    if (rectangle.height === 0) return;
    block.element.style.setProperty("min-height", `${rectangle.height}px`);
    block.element.replaceChildren();
    block.filled = false;
  }

  fillWhenIdle() {
    if (this.idle || this.waiting.size === 0) return;
    const request = globalThis.requestIdleCallback ?? ((run) => setTimeout(() => run({ timeRemaining: () => 8 }), 30));
    this.idle = request((deadline) => {
      this.idle = undefined;
      if (this.lines > KEPT_LINES) return;
      for (const block of this.waiting) {
        // At least one block each time: a busy machine never has much time left.
        this.fill(block);
        if (deadline.timeRemaining() < 4) break;
      }
      this.fillWhenIdle();
    }, { timeout: IDLE_TIMEOUT_MILLISECONDS });
  }
}
