// Kuramoto less transformer, in every comparison of our study.

import { table } from "./csv.js";
import { claim, forest } from "./forest.js";

// It needs no text.
export const parts = [];
export const draw = () => {};

// Files of claims, and what their runs were.
const studies = [
  ["compare-4m", "paper", "120k, 4 million bytes, paper's recipe"],
  ["compare", "paper", "120k, 10 million bytes, paper's recipe"],
  ["python-source", "paper", "the same on Python source"],
  ["compare-4m", "tuned", "120k, 4 million bytes, tuned"],
  ["compare", "tuned", "120k, 10 million bytes, tuned"],
  ["python-source", "tuned", "the same on Python source"],
  ["epoch-1m", "tuned", "1M, 90 million bytes, tuned"],
];

export async function start({ fail }, figure) {
  try {
    const rows = await Promise.all(studies.map(async ([file, protocol, title]) => {
      const own = (await table(`${file}.csv`)).find((row) => row.claim.includes(`${protocol} protocol, validation`));
      return claim(`${title} (${own.seeds} seeds)`, own);
    }));
    figure.prepend(...forest("Kuramoto less transformer, in validation bits per byte", rows,
      { ticks: [-0.15, -0.1, -0.05, 0, 0.05, 0.1, 0.15], axis: "Kuramoto less transformer, validation bits per byte",
        columns: { here: "here: mean and 95% interval", paper: "paper: 1M parameters, 50 epochs" } }));
  } catch (error) {
    fail(error);
  }
}
