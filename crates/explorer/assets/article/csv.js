// Tables of results, as the study wrote them: files beside the page.

// Fields of a line, which may be quoted.
const fields = (line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain);

const known = new Map();
// The rows of a file, each by the names of its columns.
export function table(file) {
  if (!known.has(file)) known.set(file, fetched(file));
  return known.get(file);
}

async function fetched(file) {
  const response = await fetch(new URL(`data/${file}`, import.meta.url));
  if (!response.ok) throw new Error(`the results ${file} cannot be fetched: the server answered ${response.status}`);
  const [head, ...lines] = (await response.text()).trim().split("\n").map(fields);
  return lines.map((line) => Object.fromEntries(head.map((name, i) => [name, line[i]])));
}

// Two columns as points.
export const numbers = (rows, x, y) => rows.filter((row) => row[y] !== "").map((row) => [+row[x], +row[y]]);
