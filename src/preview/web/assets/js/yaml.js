// YAML syntax colouring of single lines.

import { appendText, element } from "./dom.js";

const KEY = /^(\s*(?:- +)*)((?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"#{[&*!|>%@`-][^#]*?|-[^\s#][^#]*?))(:)(?=\s|$)/;
const ITEMS = /^(\s*(?:-(?: +|$))*)/;
const COMMENT = /(^|\s)#.*$/;
const CONSTANT = /^(?:[-+]?(?:\d[\d_]*)?\.?\d+(?:e[-+]?\d+)?|0x[\da-f]+|0o[0-7]+|true|false|null|~|\.inf|\.nan)$/i;
const QUOTED = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/;
const BLOCK_SCALAR = /(?:^|[:\-]\s+)[|>][-+\d]*\s*(?:#.*)?$/;
const MAX_LENGTH = 2000;

/** Returns for each line whether it is inside a block scalar. */
export function blockScalarLines(lines) {
  let indentation = -1;
  return lines.map(({ text }) => {
    const start = text.search(/\S/);
    if (indentation >= 0 && (start < 0 || start > indentation)) return true;
    indentation = BLOCK_SCALAR.test(text) ? scalarIndentation(text, start) : -1;
    return false;
  });
}

function scalarIndentation(text, start) {
  const prefix = ITEMS.exec(text)[0];
  return KEY.test(text) ? prefix.length : start;
}

function token(parent, className, text) {
  if (text !== "") parent.append(element("span", { class: className }, text));
}

/** Appends the coloured text of a line. Long lines are cut. */
export function appendYaml(parent, text, isScalar) {
  const cut = text.length > MAX_LENGTH ? text.slice(0, MAX_LENGTH) : text;
  if (isScalar) token(parent, "string", cut);
  else appendTokens(parent, cut);
  if (cut.length < text.length) {
    token(parent, "cut", ` … ${(text.length - cut.length).toLocaleString("en")} more characters`);
  }
}

function appendTokens(parent, text) {
  const key = KEY.exec(text);
  const prefix = key ? key[1] : ITEMS.exec(text)[0];
  appendText(parent, prefix);
  if (key) {
    token(parent, "key", key[2]);
    appendText(parent, key[3]);
  }
  appendValue(parent, text.slice(key ? key[0].length : prefix.length));
}

function appendValue(parent, text) {
  const value = text.trimStart();
  if (value.length < text.length) appendText(parent, text.slice(0, text.length - value.length));
  const quoted = QUOTED.exec(value);
  const comment = COMMENT.exec(quoted ? value.slice(quoted[0].length) : value);
  const end = comment ? comment.index + (quoted ? quoted[0].length : 0) : value.length;
  const scalar = value.slice(0, end);
  token(parent, CONSTANT.test(scalar.trim()) ? "constant" : "string", scalar);
  token(parent, "comment", value.slice(end));
}
