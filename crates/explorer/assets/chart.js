// Line charts as SVG: values where one points or walks with the arrow keys; what is shown can be saved as SVG or CSV.
//
// A chart is made once and then brought up to date, so that focus and reading stay where they are while a run trains.

import { element, saveText, space, svg, setText } from "./dom.js";
import { drawn, plain, prose } from "./math.js";

const height = 260;
const edge = { left: 52, right: 12, top: 10, bottom: 34 };

function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) found.push(x);
  return found;
}

// Marks of a logarithmic axis from and to powers of ten: 1, 2 and 5 of each, or 1 alone where those are many.
function powers(low, high, count) {
  const found = [];
  for (let p = Math.floor(low); p <= high; p++) for (const m of [1, 2, 5]) found.push(m * 10 ** p);
  const inside = found.filter((x) => Math.log10(x) >= low - 1e-9 && Math.log10(x) <= high + 1e-9);
  return inside.length > count + 1 ? inside.filter((x) => Number.isInteger(Math.log10(x))) : inside;
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

export const dashed = "6 4";
export const dotted = "1.5 3";

// what: { name, x, y, lines, log, zero, mark (an x) }; names may have formulas between $. A line is { name, colour (a class),
// points: [[x, y]], dash, level (the same everywhere), dots (their radius, in place of a line), join (both), spread: [[x, low, high]] }.
export function chart(panel, what) {
  panel.chart ??= new Chart(panel);
  panel.chart.show(what);
}

class Chart {
  // The x that is read; it stays when the axes move.
  at;
  lines = [];
  drawing = svg("svg", { role: "img", tabindex: 0 });
  cursor = svg("line", { class: "axis", y1: edge.top, y2: height - edge.bottom });
  key = element("p", { class: "count key" });
  values = element("p", { class: "count", "aria-live": "polite" });
  figure = element("div", {}, this.drawing, this.key, this.values);
  empty = element("p", { class: "empty" }, "There is nothing to draw yet.");

  constructor(panel) {
    const { drawing } = this;
    this.tools = element("span", {},
      element("button", { class: "small", onclick: () => saveText(`${this.what.name}.svg`, "image/svg+xml", standalone(drawing)) }, "SVG"), " ",
      element("button", { class: "small", onclick: () => saveText(`${this.what.name}.csv`, "text/csv", csv(this.lines, this.what)) }, "CSV"));
    panel.content.append(this.empty, this.figure);
    panel.tools.append(this.tools);
    drawing.addEventListener("pointermove", (event) => this.read(this.under(event.clientX)));
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      if (!step) return;
      event.preventDefault();
      const here = this.at === undefined ? this.places.length : this.places.indexOf(this.at);
      this.read(this.places[Math.min(Math.max(here + step, 0), this.places.length - 1)]);
    });
    new ResizeObserver(() => this.figure.clientWidth !== this.width && this.draw()).observe(panel.content);
  }

  show(what) {
    const can = ([a, b]) => Number.isFinite(a) && Number.isFinite(b) && (!what.log || a > 0);
    this.what = what;
    this.lines = what.lines.map((line) => ({ ...line, points: line.points.filter(can) })).filter((line) => line.points.length);
    this.empty.hidden = this.lines.length > 0;
    this.figure.hidden = this.tools.hidden = !this.lines.length;
    this.drawing.setAttribute("aria-label", `${plain(what.y)} against ${plain(what.x)}; the arrow keys read values`);
    this.draw();
  }

  draw() {
    const { drawing, lines } = this;
    // Drawn as wide as its place is, so that text has the same size everywhere; a place that is hidden has no width yet.
    this.width = this.figure.clientWidth;
    if (!lines.length || !this.width) return;
    const { width } = this;
    const { x, y, log, zero } = this.what;
    this.scale = log ? Math.log10 : (a) => a;
    const all = lines.flatMap((line) => line.points);
    const least = (of) => all.reduce((best, p) => Math.min(best, of(p)), Infinity);
    const most = (of) => all.reduce((best, p) => Math.max(best, of(p)), -Infinity);
    let [x0, x1] = [least((p) => this.scale(p[0])), most((p) => this.scale(p[0]))];
    let [y0, y1] = [zero ? 0 : least((p) => p[1]), most((p) => p[1])];
    if (x0 === x1) x1 = x0 + 1;
    const room = (y1 - y0 || Math.abs(y1) || 1) * 0.05;
    [y0, y1] = [zero ? 0 : y0 - room, y1 + room];
    this.span = [x0, x1];
    this.places = [...new Set(all.map((p) => p[0]))].sort((a, b) => a - b);
    const px = (a) => this.px(a);
    const py = (b) => height - edge.bottom - ((b - y0) / (y1 - y0)) * (height - edge.top - edge.bottom);
    const nodes = [];
    for (const b of ticks(y0, y1)) {
      nodes.push(svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: py(b), y2: py(b) }),
        svg("text", { x: edge.left - 5, y: py(b) + 4, "text-anchor": "end" }, short(b)));
    }
    const marks = (log ? powers : ticks)(x0, x1, Math.min(width / 80, 5));
    for (const a of marks) nodes.push(svg("text", { x: px(a), y: height - edge.bottom + 15, "text-anchor": "middle" }, short(a)));
    nodes.push(svg("path", { class: "axis", d: `M${edge.left} ${edge.top}V${height - edge.bottom}H${width - edge.right}` }),
      svg("text", { x: (width + edge.left) / 2, y: height - 4, "text-anchor": "middle" }, ...drawn(x)),
      svg("text", { transform: `translate(12 ${height / 2}) rotate(-90)`, "text-anchor": "middle" }, ...drawn(y)));
    if (this.what.mark !== undefined) nodes.push(svg("line", { class: "chosen", x1: px(this.what.mark), x2: px(this.what.mark), y1: edge.top, y2: height - edge.bottom }));
    for (const line of lines) {
      const d = line.points.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
      if (!line.dots || line.join) nodes.push(svg("path", { class: line.colour, d, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-dasharray": line.dash ?? "" }));
      for (const [a, low, high] of line.spread ?? []) nodes.push(svg("path", { class: line.colour, d: `M${px(a)} ${py(low)}V${py(high)}`, stroke: "currentColor", "stroke-width": 4, opacity: 0.5 }));
      const radius = line.dots ?? (line.points.length === 1 ? 3 : 0);
      if (radius) for (const [a, b] of line.points) nodes.push(svg("circle", { class: line.colour, cx: px(a).toFixed(1), cy: py(b).toFixed(1), r: radius, fill: "currentColor" }));
    }
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.replaceChildren(...nodes, this.cursor);
    this.key.replaceChildren(...lines.map((line) => element("span", {},
      svg("svg", { viewBox: "0 0 22 10", class: `sample ${line.colour}` },
        line.dots && !line.join ? svg("circle", { cx: 11, cy: 5, r: Math.min(line.dots, 5), fill: "currentColor" })
          : svg("path", { d: "M0 5H22", stroke: "currentColor", "stroke-width": 2.5, "stroke-dasharray": line.dash ?? "" })), ...prose(line.name))));
    this.read(this.at);
  }

  px(a) {
    const [x0, x1] = this.span;
    return edge.left + ((this.scale(a) - x0) / (x1 - x0)) * (this.width - edge.left - edge.right);
  }

  // The x nearest to a place on the screen.
  under(screen) {
    const place = screen - this.drawing.getBoundingClientRect().left;
    return this.places.reduce((best, a) => (Math.abs(this.px(a) - place) < Math.abs(this.px(best) - place) ? a : best));
  }

  nearest(points, at) {
    return points.reduce((best, p) => (Math.abs(this.scale(p[0]) - this.scale(at)) < Math.abs(this.scale(best[0]) - this.scale(at)) ? p : best));
  }

  read(at) {
    this.at = at;
    const [x0, x1] = this.span;
    const seen = at !== undefined && this.scale(at) >= x0 && this.scale(at) <= x1;
    this.cursor.setAttribute("visibility", seen ? "visible" : "hidden");
    if (!seen) {
      setText(this.values, "Point at the chart for values, or walk along it with the arrow keys.");
      return;
    }
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.px(at));
    const here = this.lines.map((line) => [line, this.nearest(line.points, at)]);
    const value = ([line, [a, b]]) => `${plain(line.name)} ${b.toPrecision(4)}${a === at || line.level ? "" : ` (at ${short(a)})`}`;
    setText(this.values, `${plain(this.what.x)} ${short(at)}: ${here.map(value).join(" · ")}`);
  }
}

// The page's style does not travel with the file.
function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const [, , width] = drawing.getAttribute("viewBox").split(" ");
  for (const [name, value] of Object.entries({ xmlns: space, width, height })) copy.setAttribute(name, value);
  copy.lastChild.remove();
  const here = drawing.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((node, i) => {
    const style = getComputedStyle(here[i]);
    for (const name of ["stroke", "fill", "stroke-width"]) node.setAttribute(name, style.getPropertyValue(name));
    if (node.localName === "text") node.setAttribute("font-family", "sans-serif"), node.setAttribute("font-size", 11);
  });
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(drawing.closest(".panel")).backgroundColor }));
  return copy.outerHTML;
}

function csv(lines, { x, y }) {
  const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const rows = lines.flatMap((line) => line.points.map(([a, b]) => `${quote(plain(line.name))},${a},${b}`));
  return [`series,${quote(plain(x))},${quote(plain(y))}`, ...rows].join("\n") + "\n";
}
