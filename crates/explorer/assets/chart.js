// Line charts as SVG: hover shows values, and what is shown can be saved as SVG or CSV.

const space = "http://www.w3.org/2000/svg";
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

// A panel: title, one sentence, content.
export function panel(title, says, { full = false } = {}) {
  const tools = element("span");
  const content = element("div");
  const node = element("section", { class: full ? "panel full" : "panel" },
    element("header", {}, element("h2", {}, title), tools), element("p", { class: "says" }, says), content);
  return { node, content, tools };
}

export function save(name, kind, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: kind })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const [width, height] = [560, 260];
const edge = { left: 52, right: 12, top: 10, bottom: 34 };

function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) found.push(x);
  return found;
}

const short = (x) => {
  if (x !== 0 && (Math.abs(x) >= 1e6 || Math.abs(x) < 1e-3)) return x.toExponential(1);
  return Math.abs(x) >= 1000 ? `${+(x / 1000).toPrecision(4)}k` : `${+x.toPrecision(4)}`;
};

export function smooth(points, amount) {
  let mean;
  let weight = 0;
  // What was not measured is left out, not drawn as nothing.
  return points.filter(([, y]) => Number.isFinite(y)).map(([x, y]) => {
    // The mean of what was seen so far, so that the start is not drawn towards nothing.
    weight = weight * amount + 1;
    mean = mean === undefined ? y : mean + (y - mean) / weight;
    return [x, mean];
  });
}

// lines: [{ name, colour, points: [[x, y]], dashed }]
export function chart(panel, { name, x, y, lines, log = false, zero = false }) {
  const shown = lines.map((line) => ({ ...line, points: line.points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b) && (!log || a > 0)) }))
    .filter((line) => line.points.length);
  panel.content.replaceChildren();
  panel.tools.replaceChildren();
  if (!shown.length) {
    panel.content.append(element("p", { class: "empty" }, "Nothing to show yet: it appears as the run writes it."));
    return;
  }
  const all = shown.flatMap((line) => line.points);
  const scale = log ? Math.log10 : (a) => a;
  const least = (of) => all.reduce((best, p) => Math.min(best, of(p)), Infinity);
  const most = (of) => all.reduce((best, p) => Math.max(best, of(p)), -Infinity);
  let [x0, x1] = [least((p) => scale(p[0])), most((p) => scale(p[0]))];
  let [y0, y1] = [zero ? 0 : least((p) => p[1]), most((p) => p[1])];
  if (x0 === x1) x1 = x0 + 1;
  const room = (y1 - y0 || Math.abs(y1) || 1) * 0.05;
  [y0, y1] = [zero ? 0 : y0 - room, y1 + room];
  const px = (a) => edge.left + ((scale(a) - x0) / (x1 - x0)) * (width - edge.left - edge.right);
  const py = (b) => height - edge.bottom - ((b - y0) / (y1 - y0)) * (height - edge.top - edge.bottom);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${y} against ${x}` });
  for (const b of ticks(y0, y1)) {
    drawing.append(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: py(b), y2: py(b) }),
      svg("text", { x: edge.left - 5, y: py(b) + 4, "text-anchor": "end" }, short(b)));
  }
  const marks = log ? ticks(x0, x1).map((a) => 10 ** a) : ticks(x0, x1);
  for (const a of marks) drawing.append(svg("text", { x: px(a), y: height - edge.bottom + 15, "text-anchor": "middle" }, short(a)));
  drawing.append(svg("path", { class: "axis", d: `M${edge.left} ${edge.top}V${height - edge.bottom}H${width - edge.right}` }),
    svg("text", { x: (width + edge.left) / 2, y: height - 4, "text-anchor": "middle" }, x),
    svg("text", { transform: `translate(12 ${height / 2}) rotate(-90)`, "text-anchor": "middle" }, y));
  for (const line of shown) {
    const d = line.points.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
    drawing.append(svg("path", { d, fill: "none", stroke: line.colour, "stroke-width": 1.6, "stroke-dasharray": line.dashed ? "6 4" : "" }));
    if (line.points.length === 1) drawing.append(svg("circle", { cx: px(line.points[0][0]), cy: py(line.points[0][1]), r: 3, fill: line.colour }));
  }
  const cursor = svg("line", { class: "axis", y1: edge.top, y2: height - edge.bottom, visibility: "hidden" });
  drawing.append(cursor);
  const values = element("p", { class: "count", "aria-live": "off" }, "Point at the chart for values.");
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const at = x0 + (((event.clientX - box.left) / box.width) * width - edge.left) / (width - edge.left - edge.right) * (x1 - x0);
    const nearest = (points) => points.reduce((best, p) => (Math.abs(scale(p[0]) - at) < Math.abs(scale(best[0]) - at) ? p : best));
    const here = shown.map((line) => [line, nearest(line.points)]);
    cursor.setAttribute("visibility", "visible");
    cursor.setAttribute("x1", px(here[0][1][0]));
    cursor.setAttribute("x2", px(here[0][1][0]));
    values.textContent = here.map(([line, [a, b]]) => `${line.name} ${short(a)}: ${b.toPrecision(4)}`).join("   ");
  });
  const key = element("p", { class: "count" });
  for (const line of shown) {
    const swatch = svg("svg", { viewBox: "0 0 10 10", width: 10, height: 10, class: "swatch" },
      svg("rect", { width: 10, height: 10, fill: line.colour, opacity: line.dashed ? 0.45 : 1 }));
    key.append(swatch, `${line.name}  `);
  }
  panel.content.append(drawing, key, values);
  panel.tools.append(
    element("button", { class: "small", onclick: () => save(`${name}.svg`, "image/svg+xml", standalone(drawing)) }, "SVG"), " ",
    element("button", { class: "small", onclick: () => save(`${name}.csv`, "text/csv", csv(shown, x, y)) }, "CSV"));
}

// The page's style does not travel with the file.
function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  copy.setAttribute("xmlns", space);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  for (const text of copy.querySelectorAll("text")) text.setAttribute("font-family", "sans-serif"), text.setAttribute("font-size", 11);
  for (const node of copy.querySelectorAll(".axis")) node.setAttribute("stroke", "#555"), node.setAttribute("fill", "none");
  for (const node of copy.querySelectorAll(".grid")) node.setAttribute("stroke", "#ccc");
  return copy.outerHTML;
}

function csv(lines, x, y) {
  const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const rows = lines.flatMap((line) => line.points.map(([a, b]) => `${quote(line.name)},${a},${b}`));
  return [`series,${quote(x)},${quote(y)}`, ...rows].join("\n") + "\n";
}
