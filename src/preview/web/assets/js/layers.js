// The layer tree: bases, components, resources, patches, generators and transformers.

import { count, element } from "./dom.js";
import { locationLinks } from "./editor.js";

const MAX_OBJECTS = 50;

function effectText(layer) {
  const objects = layer.objects ?? [];
  if (layer.repeated) return "expanded above";
  if (objects.length === 0) return "";
  if (layer.kind === "patch" || layer.kind === "transformer" || layer.kind === "function") {
    return `${count(layer.changed ?? 0, "value")} of ${count(objects.length, "object")}`;
  }
  return count(objects.length, "object");
}

function objectItem(object) {
  const name = object.namespace ? `${object.namespace}/${object.name}` : object.name;
  const suffix = object.deletedBy ? ` (deleted by ${object.deletedBy})` : "";
  return element("li", { class: "isolate" }, `${object.kind} ${name}${suffix}`);
}

function label(layer) {
  return element(
    "span",
    { class: "layer-label" },
    element("span", { class: "layer-kind" }, layer.kind),
    " ",
    element("span", { class: "layer-name isolate" }, layer.value ? `${layer.name} ${layer.value}` : layer.name),
    " ",
    element("span", { class: "layer-effect" }, effectText(layer)),
  );
}

function objectList(layer) {
  const objects = layer.objects ?? [];
  const items = objects.slice(0, MAX_OBJECTS).map(objectItem);
  if (objects.length > MAX_OBJECTS) items.push(element("li", { class: "hint" }, `and ${objects.length - MAX_OBJECTS} more`));
  return items.length > 0 ? element("ul", { class: "layer-objects" }, ...items) : null;
}

function layerItem(layer, depth) {
  const children = layer.children ?? [];
  const isParent = children.length > 0;
  const content = element(
    "div",
    { class: "layer-content" },
    layer.file ? locationLinks(layer, true) : null,
    isParent ? null : objectList(layer),
    isParent ? element("ul", {}, ...children.map((child) => layerItem(child, depth + 1))) : null,
  );
  const details = element("details", { open: isParent && depth < 2 }, element("summary", {}, label(layer)), content);
  return element("li", {}, details);
}

/** Returns the tree of a target as nested lists. */
export function layerTree(layers) {
  return element("ul", { class: "layers" }, layerItem(layers, 0));
}
