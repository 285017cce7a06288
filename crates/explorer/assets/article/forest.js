// Differences with their intervals, one row each, beside the paper's; and the same as a table.

import { element, svg } from "../dom.js";
import { signed } from "./parts.js";

const height = 30;
const top = 8;
const bottom = 40;

// Roots keep small differences apart where large ones are shown as well.
const scales = { linear: (x) => x, root: (x) => Math.sign(x) * Math.sqrt(Math.abs(x)) };

// rows: { name, mean, low, high, seeds, verdict, paper, paperSd }; `ticks` are places on the axis.
export function forest(label, rows, { ticks, scale = "linear", axis, columns }) {
  const drawing = svg("svg", { role: "img", "aria-label": label, class: "forest" });
  const figure = element("div", {}, drawing);
  const f = scales[scale];
  const draw = () => {
    const width = figure.clientWidth;
    if (!width) return;
    // Where there is no room beside the drawing, names are above their rows.
    const narrow = width < 560;
    const [left, each, shift] = narrow ? [14, height + 14, 14] : [Math.min(350, width * 0.46), height, 0];
    const [low, high] = [f(ticks[0]), f(ticks.at(-1))];
    const px = (x) => left + ((Math.min(Math.max(f(x), low), high) - low) / (high - low)) * (width - left - 28);
    const end = top + rows.length * each;
    const nodes = ticks.flatMap((x) => [svg("line", { class: x === 0 ? "axis" : "grid", x1: px(x), x2: px(x), y1: top, y2: end }),
      svg("text", { x: px(x), y: end + 15, "text-anchor": "middle" }, x === 0 ? "0" : signed(x, 3).replace(/\.?0+$/, ""))]);
    nodes.push(svg("text", { x: (left + width) / 2, y: end + 33, "text-anchor": "middle" }, axis));
    rows.forEach((row, i) => {
      const y = top + i * each + height / 2 + shift;
      nodes.push(narrow ? svg("text", { x: 0, y: y - 12 }, row.name) : svg("text", { x: left - 14, y: y + 4, "text-anchor": "end" }, row.name));
      if (row.paper !== undefined) {
        const sd = row.paperSd ?? 0;
        nodes.push(svg("path", { class: "s1", d: `M${px(row.paper - sd)} ${y + 6}H${px(row.paper + sd)}`, stroke: "currentColor", "stroke-width": 1.5 }),
          svg("circle", { class: "s1 hollow", cx: px(row.paper), cy: y + 6, r: 4, stroke: "currentColor", "stroke-width": 1.6 }));
      }
      nodes.push(svg("path", { class: "s0", d: `M${px(row.low)} ${y - 2}H${px(row.high)}`, stroke: "currentColor", "stroke-width": 3 }),
        svg("circle", { class: "s0", cx: px(row.mean), cy: y - 2, r: 4.5, fill: "currentColor" }));
    });
    drawing.setAttribute("viewBox", `0 0 ${width} ${end + bottom}`);
    drawing.replaceChildren(...nodes);
  };
  new ResizeObserver(draw).observe(figure);
  const mark = (kind, title) => element("span", {}, svg("svg", { viewBox: "0 0 22 10", class: `sample ${kind}` },
    kind === "s0" ? svg("circle", { cx: 11, cy: 5, r: 4.5, fill: "currentColor" }) : svg("circle", { class: "hollow", cx: 11, cy: 5, r: 4, stroke: "currentColor", "stroke-width": 1.6 })), title);
  const key = element("p", { class: "count key" }, mark("s0", columns.here), mark("s1", columns.paper));
  const cells = (row) => [row.name, signed(row.mean, 4), `${signed(row.low, 4)} to ${signed(row.high, 4)}`, `${row.seeds}`, row.paper === undefined ? "" : signed(row.paper, 3), row.verdict];
  const numbers = element("details", {}, element("summary", {}, "The numbers"), element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ...["", "mean", "95% interval", "seeds", "paper", "verdict"].map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row).map((text) => element("td", {}, text))))))));
  return [figure, key, numbers];
}

// A row of claims.csv.
export const claim = (name, row) => ({ name, mean: +row.mean, low: +row.low, high: +row.high, seeds: +row.seeds, paper: row.paper === "" ? undefined : +row.paper, verdict: row.verdict });
