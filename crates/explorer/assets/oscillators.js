// The oscillators of the chosen byte as they move through the layers.

import { name } from "./bytes.js";
import { button, element, panel, save, saveText, setText } from "./dom.js";
import { phases } from "./key.js";
import { prose } from "./math.js";
import { say } from "./notice.js";
import { paint, palette, toSvg } from "./pen.js";
import { threshold } from "./pulling.js";
import { bytes, circle, torus } from "./scene.js";
import { layerName } from "./state.js";

export const parts = ["phase", "coupling"];

const own = panel("oscillators", "Oscillators of the chosen byte", "How they move as the byte passes through the layers.");
const scenes = {
  circle: { draw: circle, title: "Circle", says: "Large dots: oscillators at their phases $θ_tj$. Lines lead to the attended resultants $G_tj$: the length is the local order, the direction where the pull goes. After the last layer, and for values with drift, there are no lines." },
  torus: { draw: torus, title: "Torus", says: "Around the tube: phase $θ_tj$, with 0 outside. Around the ring: the oscillator's number $j$." },
  bytes: { draw: bytes, title: "All bytes", says: `Every byte $u$ at $z_tu$, the mean of $exp i(θ_uj − θ_tj)$ over oscillators; orange is the chosen byte. Beyond the dashed line (${threshold}) it locks with it.` },
};
const modes = element("select", { id: "scene", "aria-label": "View" }, ...Object.entries(scenes).map(([id, { title }]) => element("option", { value: id }, title)));
const play = button("play", "Play", () => toggle(), { "aria-pressed": "false" });
const canvas = element("canvas", { class: "scene", role: "img", "aria-label": "Oscillators of the chosen byte", width: 720, height: 720 });
const says = element("p", { class: "says" });
const where = element("p", { class: "count", id: "scene-place" });
const stepwise = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const milliseconds = 1400;
let inside;
let colour;
// The place between states, how long it has been on its way from the last one (1 is all of it), and the frame that moves it.
// Without a frame it is the shown layer.
let at = 0;
let clock = 0;
let frame;
let last;

own.node.querySelector(".says").replaceWith(says);
own.tools.append(play, modes,
  button("save-svg", "SVG", () => inside.state.found && saveText(`${title()}.svg`, "image/svg+xml", toSvg(shapes(), colour, title())), { class: "small" }),
  button("save-png", "PNG", () => canvas.toBlob((blob) => save(`${title()}.png`, blob), "image/png"), { class: "small" }),
  button("save-video", "Video", () => record(), { class: "small" }));
const key = phases();
own.content.append(canvas, where, key);

export function start(given) {
  inside = given;
  colour = palette(document.documentElement);
  dark.addEventListener("change", () => { colour = palette(document.documentElement); draw(); });
  modes.addEventListener("change", () => draw());
  new ResizeObserver(([{ contentRect }]) => {
    // Sharp, but no more dots than a frame has time for.
    const size = Math.min(Math.round(contentRect.width * Math.min(devicePixelRatio, 2)), 1000);
    if (size && size !== canvas.width) { canvas.width = canvas.height = size; draw(); }
  }).observe(canvas);
  return own.node;
}

const shapes = () => scenes[modes.value].draw({ found: inside.state.found, prefix: "", token: inside.state.token, threshold }, at);
const title = () => `byte-${inside.state.token}-${modes.value}`;

export function draw() {
  const { found, layer, token } = inside.state;
  if (!own.filled(found) || !found.phase || !found.coupling) return;
  // Another layer was chosen: it goes on from there.
  if (frame === undefined || Math.floor(at + 1e-6) !== layer) [at, clock] = [layer, 0];
  paint(canvas, shapes(), colour);
  if (says.dataset.mode !== modes.value) {
    says.replaceChildren(...prose(scenes[modes.value].says));
    says.dataset.mode = modes.value;
    // There the colours are not of phases.
    key.hidden = modes.value === "bytes";
  }
  setText(where, `byte ${token} “${name(found.reading.bytes[token])}”, ${layerName(Math.floor(at + 1e-6), found.layers)}${found.touched ? "; filled: with intervention, hollow: original" : ""}`);
}

function toggle(on = frame === undefined) {
  play.setAttribute("aria-pressed", on);
  play.textContent = on ? "Pause" : "Play";
  cancelAnimationFrame(frame);
  frame = undefined;
  if (!on || !inside.state.found) return;
  if (at >= inside.state.found.layers) inside.toLayer(0);
  last = performance.now();
  frame = requestAnimationFrame(step);
}

// Moves on by the time since the last frame; rests a moment at every state, so that it can be seen.
function step(now) {
  const { found } = inside.state;
  if (!found) return toggle(false);
  clock += (now - last) / milliseconds;
  last = now;
  const whole = Math.floor(at + 1e-6);
  if (clock >= 1) {
    clock = 0;
    at = whole + 1;
    if (at > found.layers) at = 0;
  } else {
    const way = Math.min(clock / 0.8, 1);
    at = stepwise.matches || whole >= found.layers ? whole : Math.min(whole + way * way * (3 - 2 * way), whole + 0.9999);
  }
  frame = requestAnimationFrame(step);
  const shown = Math.floor(at + 1e-6);
  if (shown !== inside.state.layer) inside.toLayer(shown);
  else draw();
}

// One pass through the layers as a WebM file.
async function record() {
  if (!inside.state.found) return;
  const kind = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"].find((kind) => window.MediaRecorder?.isTypeSupported(kind));
  if (!kind) return say("This browser cannot record a canvas: save SVG or PNG.");
  const recorder = new MediaRecorder(canvas.captureStream(60), { mimeType: kind, videoBitsPerSecond: 6e6 });
  const chunks = [];
  recorder.ondataavailable = ({ data }) => data.size && chunks.push(data);
  const stopped = new Promise((resolve) => { recorder.onstop = resolve; });
  const control = own.tools.querySelector("#save-video");
  control.disabled = true;
  control.textContent = "Recording…";
  toggle(false);
  inside.toLayer(0);
  recorder.start();
  toggle(true);
  const passes = inside.state.found.layers + 1;
  await new Promise((resolve) => setTimeout(resolve, passes * milliseconds));
  recorder.stop();
  await stopped;
  toggle(false);
  control.disabled = false;
  control.textContent = "Video";
  save(`${title()}.${kind.includes("mp4") ? "mp4" : "webm"}`, new Blob(chunks, { type: kind.split(";")[0] }));
}
