// What every ablation of the paper changes in our study.

import { table } from "./csv.js";
import { claim, forest } from "./forest.js";

// It needs no text.
export const parts = [];
export const draw = () => {};

// "enwik8, 120k: remove value gate: hurts"
const title = ({ claim: text }) => text.split(": ")[1];

export async function start({ fail }, figure) {
  try {
    const [claims, cells] = await Promise.all([table("ablations.csv"), table("ablations-paper.csv")]);
    const spread = new Map(cells.map((cell) => [cell.arm, +cell.paper_sd]));
    const rows = claims.map((row) => ({ ...claim(title(row), row), paperSd: spread.get(row.arm) }));
    figure.prepend(...forest("What every ablation changes, in bits per byte, beside the paper", rows,
      { ticks: [-0.02, 0, 0.02, 0.1, 0.25, 0.5, 1, 1.2], scale: "root", axis: "change of validation bits per byte (root scale)",
        columns: { here: `here: mean and 95% interval over ${rows[0].seeds} seeds`, paper: "paper: mean ± sd over five seeds, 1M parameters, 50 epochs" } }));
    const count = (verdict) => claims.filter((row) => row.verdict.startsWith(verdict)).length;
    figure.querySelector("#ablations-sum").textContent = `Of the paper's ${claims.length} signs, ${count("agrees")} are found beyond chance, ${count("disagrees")} are reversed, ${count("inconclusive")} stay open.`;
  } catch (error) {
    fail(error);
  }
}
