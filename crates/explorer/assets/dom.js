// Elements, panels and files.

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

// A panel: title, one sentence, content.
export function panel(title, says, { full = false } = {}) {
  const tools = element("span");
  const content = element("div");
  const node = element("section", { class: full ? "panel full" : "panel" },
    element("header", {}, element("h2", {}, title), tools), element("p", { class: "says" }, says), content);
  return { node, content, tools };
}

// The same figure of the model as it is and of the touched one, side by side once there are both.
export function pair(intact, touched) {
  const captions = ["as it is", "touched"].map((name) => element("figcaption", { class: "count" }, name));
  const figures = [intact, touched].map((node, i) => element("figure", {}, captions[i], node));
  const node = element("div", { class: "pair", hidden: true }, ...figures);
  const show = (both) => {
    captions[0].hidden = figures[1].hidden = !both;
    node.hidden = false;
  };
  return { node, show };
}

export function save(name, kind, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: kind })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
