// Colour keys: what the colours of a figure stand for, in numbers.

import { css, nothing, ofAngle, ofCoupling } from "./colour.js";
import { element } from "./dom.js";
import { prose } from "./math.js";

export function key(title, entries) {
  const node = element("p", { class: "count key" }, element("span", {}, ...prose(title)));
  for (const [colour, name] of entries) {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = css(colour);
    node.append(element("span", {}, swatch, name));
  }
  return node;
}

// The whole circle as a strip, because phases lie between any four of its colours.
export function phases() {
  const strip = element("span", { class: "wheel", "aria-hidden": "true" });
  const stops = Array.from({ length: 33 }, (_, i) => css(ofAngle(-Math.PI + (2 * Math.PI * i) / 32)));
  strip.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return element("p", { class: "count key" }, element("span", {}, ...prose("phase $θ$ (radians):")), element("span", { class: "nowrap" }, "−π ", strip, " π"));
}

export const couplings = () => key("coupling $A_tu$:", [...[0, 0.06, 0.25, 0.56, 1].map((share) => [ofCoupling(share), `${share}`]), [nothing, "later bytes: none"]]);
