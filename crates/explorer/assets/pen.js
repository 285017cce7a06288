// Shapes of scene.js on a canvas, or as an SVG file.

const span = 1.28;

// Names of colours stand for those of the page: see style.css.
const named = new Set(["soft", "line", "accent", "s1", "ink", "card"]);
export function palette(node) {
  const style = getComputedStyle(node);
  const colours = Object.fromEntries([...named].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return (colour) => (named.has(colour) ? colours[colour] : colour);
}

export function paint(canvas, shapes, colour) {
  const context = canvas.getContext("2d");
  const scale = Math.min(canvas.width, canvas.height) / (2 * span);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = colour("card");
  context.fillRect(0, 0, canvas.width, canvas.height);
  // y upwards, as angles are drawn.
  context.setTransform(scale, 0, 0, -scale, canvas.width / 2, canvas.height / 2);
  context.lineCap = "round";
  for (const shape of shapes) {
    context.beginPath();
    if (shape.circle) context.arc(...shape.circle, 0, 2 * Math.PI);
    else if (shape.arc) context.arc(0, 0, shape.radius, ...shape.arc, shape.arc[1] < shape.arc[0]);
    else if (shape.line) {
      context.moveTo(shape.line[0], shape.line[1]);
      context.lineTo(shape.line[2], shape.line[3]);
    } else if (shape.path) shape.path.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    else if (shape.text) {
      context.save();
      context.translate(...shape.at);
      context.scale(1, -1);
      context.font = `${shape.size}px system-ui, sans-serif`;
      [context.textAlign, context.textBaseline, context.fillStyle] = ["center", "middle", colour("ink")];
      context.fillText(shape.text, 0, 0);
      context.restore();
      continue;
    }
    if (shape.fill) {
      context.fillStyle = colour(shape.fill);
      context.fill();
    }
    if (shape.stroke) {
      context.setLineDash(shape.dashed ? [0.03, 0.03] : []);
      context.strokeStyle = colour(shape.stroke);
      context.lineWidth = shape.width;
      context.stroke();
    }
  }
}

const escape = (text) => text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

export function toSvg(shapes, colour, caption) {
  const n = (x) => +x.toFixed(4);
  const look = ({ fill, stroke, width, dashed }) => `fill="${fill ? colour(fill) : "none"}"` + (stroke ? ` stroke="${colour(stroke)}" stroke-width="${width}" stroke-linecap="round"` : "")
    + (dashed ? ' stroke-dasharray="0.03 0.03"' : "");
  const polyline = (points) => `M${points.map(([x, y]) => `${n(x)} ${n(-y)}`).join("L")}`;
  const arc = ([from, to], r) => polyline(Array.from({ length: 17 }, (_, i) => [r * Math.cos(from + ((to - from) * i) / 16), r * Math.sin(from + ((to - from) * i) / 16)]));
  const lines = shapes.map((shape) => {
    if (shape.circle) return `<circle cx="${n(shape.circle[0])}" cy="${n(-shape.circle[1])}" r="${shape.circle[2]}" ${look(shape)}/>`;
    if (shape.arc) return `<path d="${arc(shape.arc, shape.radius)}" ${look(shape)}/>`;
    if (shape.line) return `<path d="${polyline([shape.line.slice(0, 2), shape.line.slice(2)])}" ${look(shape)}/>`;
    if (shape.path) return `<path d="${polyline(shape.path)}" ${look(shape)}/>`;
    return `<text x="${n(shape.at[0])}" y="${n(-shape.at[1])}" font-size="${shape.size}" fill="${colour("ink")}" font-family="sans-serif" text-anchor="middle" dominant-baseline="middle">${escape(shape.text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${-span} ${-span} ${2 * span} ${2 * span}" width="640" height="640"><title>${escape(caption)}</title>`
    + `<rect x="${-span}" y="${-span}" width="${2 * span}" height="${2 * span}" fill="${colour("card")}"/>\n${lines.join("\n")}\n</svg>\n`;
}
