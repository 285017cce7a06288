// Colour keys: what the colours of a figure stand for, in numbers.

import { css, later, ofAngle, ofShare } from "./colour.js";
import { element } from "./dom.js";

export function key(title, entries) {
  const node = element("p", { class: "count key" }, title);
  for (const [colour, name] of entries) {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = css(colour);
    node.append(element("span", {}, swatch, name));
  }
  return node;
}

export const phases = () => key("phase (radians):", [[0, "0"], [0.5, "π/2"], [1, "π"], [1.5, "3π/2"]].map(([turn, name]) => [ofAngle(turn * Math.PI), name]));

// Shares are painted by their square root, or most would look like none.
export const ofCoupling = (share) => ofShare(Math.sqrt(share));
export const couplings = () => key("coupling A_tu:", [...[0, 0.06, 0.25, 0.56, 1].map((share) => [ofCoupling(share), `${share}`]), [later, "later bytes: none"]]);
