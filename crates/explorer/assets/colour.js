// Colours that stay apart for every kind of colour vision. tests/browser/colour.mjs measures that.

// Classes of the style sheet, which has such colours for light and for dark.
export const series = ["s0", "s1", "s2", "s3", "s4", "s5", "s6"];

const steps = 256;
const table = (of) => Array.from({ length: steps }, (_, i) => of(i));

// OKLab (Ottosson 2020) as sRGB, 0 to 255.
function fromOklab([lightness, a, b]) {
  const [l, m, s] = [[0.3963377774, 0.2158037573], [-0.1055613458, -0.0638541728], [-0.0894841775, -1.291485548]]
    .map(([p, q]) => (lightness + p * a + q * b) ** 3);
  return [[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965], [-0.0041960863, -0.7034186147, 1.707614701]]
    .map(([x, y, z]) => x * l + y * m + z * s)
    .map((c) => (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055))
    .map((c) => Math.round(255 * Math.min(Math.max(c, 0), 1)));
}

// Angles: an ellipse in lightness and blue to orange, the two directions that red-green colour blindness leaves whole.
// Lightness changes fastest at 0, where the phases of a trained model are most: blue at 0, light at a quarter turn, orange at
// half, dark at three quarters.
const wheel = table((i) => {
  const angle = (2 * Math.PI * i) / steps;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return fromOklab([0.6 + 0.34 * sin, 0.03 - 0.05 * cos, -0.02 - 0.11 * cos]);
});
export function ofAngle(angle) {
  const turn = angle / (2 * Math.PI);
  return wheel[Math.round((turn - Math.floor(turn)) * steps) % steps] ?? nothing;
}

const mix = (a, b, x) => a.map((part, i) => Math.round(part + (b[i] - part) * x));
// Shares from 0 to 1, dark to light (after viridis).
const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const ramp = table((i) => {
  const at = (i / (steps - 1)) * (stops.length - 1);
  const first = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[first], stops[first + 1], at - first);
});
export const ofShare = (share) => ramp[Math.round(Math.min(Math.max(share, 0), 1) * (steps - 1))] ?? nothing;
// Couplings are painted by their square root, or most would look like none.
export const ofCoupling = (share) => ofShare(Math.sqrt(share));

// Where there is nothing, or no number.
export const nothing = [128, 128, 128];

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

// Colours as words of a picture (red in the lowest byte), because a picture has tens of thousands of cells.
const words = new Map();
export const word = (colour) => {
  if (!words.has(colour)) words.set(colour, 0xff000000 | (colour[2] << 16) | (colour[1] << 8) | colour[0]);
  return words.get(colour);
};
