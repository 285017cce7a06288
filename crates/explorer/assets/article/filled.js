// Numbers in the prose, from the tables of results: data-from is a file of claims and an arm in it.

import { table } from "./csv.js";
import { signed } from "./parts.js";

export async function fill() {
  for (const node of document.querySelectorAll("[data-from]")) {
    const [file, arm] = node.dataset.from.split(" ");
    const { mean, low, high } = (await table(`${file}.csv`)).find((row) => row.arm === arm);
    node.textContent = `${signed(+mean)} (${signed(+low)} to ${signed(+high)})`;
  }
}
