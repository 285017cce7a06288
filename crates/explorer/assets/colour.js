// Colours that stay apart for every kind of colour vision.

export const series = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#767676"];

const mix = (a, b, x) => a.map((part, i) => Math.round(part + (b[i] - part) * x));

// Angles: light at 0, blue at a quarter turn, dark at half, rust at three quarters; lightness alone tells opposites apart.
const wheel = [[232, 224, 232], [74, 120, 186], [43, 20, 54], [176, 84, 58]];
export function ofAngle(angle) {
  const turn = (((angle / (2 * Math.PI)) % 1) + 1) % 1;
  const at = turn * 4;
  const i = Math.floor(at) % 4;
  return mix(wheel[i], wheel[(i + 1) % 4], at - Math.floor(at));
}

// Shares from 0 to 1, dark to light (after viridis).
const ramp = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
export function ofShare(share) {
  const at = Math.min(Math.max(share, 0), 1) * 4;
  const i = Math.min(Math.floor(at), 3);
  return mix(ramp[i], ramp[i + 1], at - i);
}

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

// Paints cells (rows x columns) into a canvas, one pixel each; the style sheet makes them larger.
export function paint(canvas, rows, columns, colour) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const [r, g, b] = colour(Math.floor(i / columns), i % columns);
    image.data.set([r, g, b, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}
