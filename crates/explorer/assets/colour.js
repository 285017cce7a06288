// Colours that stay apart for every kind of colour vision.

// Classes of the style sheet, which has such colours for light and for dark.
export const series = ["s0", "s1", "s2", "s3", "s4", "s5", "s6"];

const mix = (a, b, x) => a.map((part, i) => Math.round(part + (b[i] - part) * x));
// A table, not computed each time: a picture has tens of thousands of cells.
const steps = 256;
const between = (stops) => Array.from({ length: steps }, (_, i) => {
  const at = (i / (steps - 1)) * (stops.length - 1);
  const first = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[first], stops[first + 1], at - first);
});

// Angles: light at 0, blue at a quarter turn, dark at half, rust at three quarters; opposite angles differ in lightness too.
const wheel = between([[232, 224, 232], [74, 120, 186], [43, 20, 54], [176, 84, 58], [232, 224, 232]]);
export function ofAngle(angle) {
  const turn = angle / (2 * Math.PI);
  return wheel[Math.round((turn - Math.floor(turn)) * (steps - 1))] ?? later;
}

// Shares from 0 to 1, dark to light (after viridis).
const ramp = between([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]);
export const ofShare = (share) => ramp[Math.round(Math.min(Math.max(share, 0), 1) * (steps - 1))] ?? later;

// Where there is nothing, or no number.
export const later = [128, 128, 128];

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

// Paints cells (rows x columns) into a canvas, one pixel each; the style sheet makes them larger.
export function paint(canvas, rows, columns, colour) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const [r, g, b] = colour(Math.floor(i / columns), i % columns);
    image.data[4 * i] = r;
    image.data[4 * i + 1] = g;
    image.data[4 * i + 2] = b;
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
