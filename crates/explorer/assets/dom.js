// Elements, panels and files.

import { prose } from "./math.js";

export const space = "http://www.w3.org/2000/svg";
export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") node.toggleAttribute(key, value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// Only what is new is written: what stays keeps its selection, and is not read out again.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// A panel: title, one sentence (with formulas between $), content, and what is there while there is no content.
export function panel(id, title, says, invitation = "Type a text above.") {
  const tools = element("span", { class: "tools" });
  // Neither shows before the panel comes into view: until then nobody asked what is in it.
  const content = element("div", { class: "content", hidden: true });
  const empty = element("p", { class: "empty", hidden: true }, invitation);
  const node = element("section", { class: "panel", id: `panel-${id}`, "aria-labelledby": `title-${id}` },
    element("header", {}, element("h2", { id: `title-${id}` }, ...prose(title)), tools),
    element("p", { class: "says" }, ...prose(says)), empty, content);
  const filled = (is) => {
    content.hidden = !is;
    empty.hidden = !!is;
    return is;
  };
  return { node, content, tools, empty, filled };
}

// The same figure of the model as it is and of the one that is intervened in, side by side once there are both.
export function pair(intact, changed) {
  const captions = ["original", "with intervention"].map((name) => element("figcaption", { class: "count" }, name));
  const figures = [intact, changed].map((node, i) => element("figure", {}, captions[i], node));
  const node = element("div", { class: "pair" }, ...figures);
  const show = (both) => {
    captions[0].hidden = figures[1].hidden = !both;
  };
  return { node, show };
}

export const button = (id, title, onclick, attributes = {}) => element("button", { id, type: "button", onclick, ...attributes }, title);

export function save(name, blob) {
  const link = element("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
export const saveText = (name, kind, text) => save(name, new Blob([text], { type: kind }));
