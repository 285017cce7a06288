// Learning curves of the two models with a million parameters.

import { chart, dashed } from "../chart.js";
import { table } from "./csv.js";
import { plot } from "./parts.js";

// It needs no text.
export const parts = [];
export const draw = () => {};

export async function start({ fail }, figure) {
  const place = plot();
  figure.prepend(place.content);
  try {
    const rows = await table("curves.csv");
    const seeds = [...new Set(rows.map((row) => row.seed))];
    const lines = [["kuramoto-tuned", "Kuramoto", "s0"], ["transformer-tuned", "transformer", "s1"]].flatMap(([arm, name, colour]) => seeds.map((seed, i) => ({
      name: `${name}, seed ${seed}`, colour, dash: i ? dashed : "",
      points: rows.filter((row) => row.arm === arm && row.seed === seed).map((row) => [+row.bytes / 1e6, +row.validation]) })));
    chart(place, { name: "curves", x: "bytes read (millions)", y: "validation bits per byte", log: true, lines });
  } catch (error) {
    fail(error);
  }
}
