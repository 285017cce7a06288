// The article: every figure draws, its numbers are the engine's and the explorer's, and it follows the text, the keyboard and the
// reader's settings.

import assert from "node:assert";
import { unreadable } from "./readable.mjs";

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

// Figures in which nothing is drawn. Runs in the page.
function empty() {
  const colours = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  };
  const bad = [];
  for (const figure of document.querySelectorAll("figure.live")) {
    const [canvases, drawings] = [[...figure.querySelectorAll("canvas")], [...figure.querySelectorAll("svg:not(.sample)")]];
    const drawn = canvases.every((canvas) => colours(canvas) > 3) && drawings.every((drawing) => drawing.querySelectorAll("path, circle").length >= 2);
    const listed = canvases.length + drawings.length || [...figure.querySelectorAll("li")].filter((item) => /%/.test(item.textContent)).length;
    const said = [...figure.querySelectorAll(".reading-line")].every((line) => /\d/.test(line.textContent) && !/NaN|undefined|Infinity/.test(line.textContent));
    if (!drawn || !listed || !said) bad.push(figure.id);
  }
  return bad;
}

// The paper's equations, as the figures compute them, against what the engine did. Runs in the page.
async function equations(question) {
  const [api, layer] = [await import("../api.js"), await import("./layer.js")];
  const found = await api.inspect({ ...question, parts: ["phase", "coupling", "gates", "middle", "omega", "order"] });
  const { n, k, layers, radii } = found;
  const apart = { coupling: 0, step: 0, pulls: 0, local: 0 };
  const far = (name, a, b) => { apart[name] = Math.max(apart[name], Math.abs(a - b)); };
  for (let l = 0; l < layers; l++) for (let t = 0; t < n; t += 7) {
    const shares = layer.couplingRow(found, found.coupling, l, t);
    layer.couplings(found, l, t).forEach((share, u) => far("coupling", share, shares[u]));
    const { g, a } = layer.direction(found, l, t);
    const [v, phases, { synchronization }] = [layer.valueGates(found, l, t), layer.phasesOf(found, l, t), layer.steps(found, l, t)];
    const size = layer.rms(a.map((x, j) => x * v[j]));
    const scale = (radii[l][0] / size) * Math.tanh(size / radii[l][0]);
    for (let j = 0; j < k; j++) {
      if (size > 1e-6) far("step", scale * v[j] * a[j], synchronization[j]);
      far("pulls", a[j], shares.reduce((sum, share, u) => sum + share * Math.sin(found.phase[(l * n + u) * k + j] - phases[j]), 0));
    }
    far("local", found.local[l * n + t], a.reduce((sum, _, j) => sum + Math.hypot(g[j], g[k + j]), 0) / k);
  }
  return apart;
}

export async function article(page, address, name, { unnamed, pictures }) {
  const line = (id) => page.$eval(`#figure-${id} .reading-line`, (node) => node.textContent);
  const inView = async (id) => {
    await page.$eval(`#figure-${id}`, (node) => node.scrollIntoView({ block: "center" }));
    await page.waitForFunction((id) => /\d/.test([".reading-line", "li", "svg"].map((kind) => document.querySelector(`#figure-${id} ${kind}`)).find(Boolean).textContent), {}, id);
  };
  const set = (id, value) => page.$eval(`#${id}`, (input, value) => { input.value = value; input.dispatchEvent(new Event("input", { bubbles: true })); }, value);
  const changes = (id, before) => page.waitForFunction((id, before) => document.querySelector(`#figure-${id} .reading-line`).textContent !== before, {}, id, before);

  const open = async () => {
    await page.goto(`${address}article/index.html`, { waitUntil: "load" });
    await page.waitForFunction(() => /bits per byte/.test(document.querySelector("#bits")?.textContent ?? ""));
  };

  await page.goto(`${address}index.html`);
  await page.waitForSelector("#tools a[href='article/index.html']");
  await open();
  const ids = await page.$$eval("figure.live", (all) => all.map((figure) => figure.id.replace("figure-", "")));
  assert.equal(ids.length, 16);
  for (const id of ids) await inView(id);
  await page.waitForFunction(() => /13 signs, \d+ are found/.test(document.querySelector("#ablations-sum").textContent));
  // A chart is drawn when its files are there.
  await page.waitForFunction(() => document.querySelectorAll("#figure-curves path, #figure-comparison circle").length > 10);
  assert.deepEqual(await page.evaluate(empty), []);
  assert.deepEqual(await page.$$eval("[data-from]", (all) => all.map((node) => /^[+−]0\.\d{3} \(/.test(node.textContent))), [true, true]);
  assert.equal(await page.$$eval("main", ([main]) => main.textContent.includes("$")), false, "all formulas are set");

  // The numbers.
  const text = await page.$eval("#text", (box) => box.value);
  const question = { run: "enwik8-kuramoto-1m", checkpoint: "best", text };
  const apart = await page.evaluate(equations, question);
  console.log(`  article: its equations differ from the engine by ${JSON.stringify(apart)} at most`);
  for (const [part, most] of Object.entries(apart)) assert.ok(most < 2e-5, `${part} differs by ${most}`);
  await set("layer", 2);
  await inView("score");
  await page.waitForFunction(() => /layer 2/.test(document.querySelector("#figure-score .reading-line").textContent));
  const [, other, coupling] = (await line("score")).match(/with byte (\d+) .* = (\d\.\d+)\.$/);
  await inView("readout");
  const own = await page.evaluate(() => [document.querySelector("#bits").textContent, document.querySelector("#next ol").innerText.replace(/\s+/g, " ")]);
  // The explorer opens on the same text, byte and layer.
  await page.goto(await page.$eval("#to-explorer", (link) => link.href));
  await page.waitForSelector("#next li:not([hidden])", { visible: true });
  await page.waitForFunction(() => document.querySelectorAll("#panel-pulls tbody tr").length > 3);
  const explorer = await page.evaluate(() => [document.querySelector("#bits").textContent, document.querySelector("#next ol").innerText.replace(/\s+/g, " ")]);
  const shown = (list) => list.match(/\d[\d.]*%/g).slice(0, 5);
  assert.deepEqual([own[0], shown(own[1])], [explorer[0], shown(explorer[1])], "the same numbers as in the explorer");
  const rows = await page.$$eval("#panel-pulls tbody tr", (all) => all.map((row) => [row.cells[0].textContent.trim().split(" ").at(-1), row.cells[2].textContent]));
  const pulled = rows.find(([byte]) => byte === other);
  assert.ok(pulled && Math.abs(+pulled[1] - +coupling) < 6e-4, `byte ${other} couples by ${coupling}, in the explorer ${JSON.stringify(pulled)}`);

  // Typing, and what may be changed.
  await open();
  await inView("score");
  await page.focus("#text");
  await page.keyboard.press("End");
  const times = [];
  for (const letter of " and the wall") {
    const before = await line("score");
    await page.evaluate(() => {
      const said = document.querySelector("#figure-score .reading-line");
      document.querySelector("#text").addEventListener("keydown", ({ timeStamp }) => {
        new MutationObserver((_, observer) => { window.took = performance.now() - timeStamp; observer.disconnect(); }).observe(said, { childList: true });
      }, { once: true });
    });
    await page.keyboard.type(letter);
    await changes("score", before);
    times.push(await page.evaluate(() => window.took));
  }
  console.log(`  article: a key changes the figure in view after ${median(times).toFixed(0)} ms (median of ${times.length})`);
  assert.ok(median(times) < 150, "figures follow the keys");
  for (const [id, input, value, says] of [["coupling", "tau", 0, /with the learned τ/], ["drift", "drift-rate", 0, /with these rates/], ["bound", "bound-radius", 0.5, /with this radius/],
    ["pull", "pull-oscillator", 5, /oscillator 5:/], ["journey", "journey-depth", 4, /after the last layer/]]) {
    await inView(id);
    await set(input, value);
    await page.waitForFunction((id, says) => new RegExp(says).test(document.querySelector(`#figure-${id} .reading-line`).textContent), {}, id, says.source);
  }
  // With τ = 0 all bytes couple alike.
  assert.match(await line("coupling"), new RegExp(`with ${(text.length + 13).toFixed(2)} bytes effectively`));
  await inView("ablate");
  const losses = {};
  for (const cut of ["synchronization", "feed-forward", "selection", "drift", "shuffle"]) {
    await page.click(`input[name=cut][value=${cut}]`);
    await page.waitForFunction(() => /without: .* [+−]/.test(document.querySelector("#figure-ablate .reading-line").textContent));
    losses[cut] = +(await line("ablate")).match(/([+−][\d.]+)\.$/)[1].replace("−", "-");
  }
  assert.ok(losses.synchronization > 0.1 && losses["feed-forward"] > 0.1, JSON.stringify(losses));

  // The classical model locks above its transition and not below it.
  await inView("classical");
  const settles = (coupling, low, high) => set("classical-coupling", coupling).then(() => page.waitForFunction((low, high) => {
    const r = +document.querySelector("#figure-classical .reading-line").textContent.match(/r = (\d\.\d+)/)?.[1];
    return r >= low && r <= high;
  }, { timeout: 30000 }, low, high));
  await settles(4, 0.83, 0.9);
  await settles(0, 0, 0.2);

  // A single byte, no byte, and characters of several bytes.
  for (const [given, ready] of [["A", /^byte 0/], ["", /^$/], ["€ 5 ☃ ok", /“k”/]]) {
    await page.$eval("#text", (box, given) => { box.value = given; box.dispatchEvent(new Event("input")); }, given);
    await page.waitForFunction((ready) => new RegExp(ready).test(document.querySelector("#where").textContent), {}, ready.source);
    for (const id of ids) {
      await page.$eval(`#figure-${id}`, (node) => node.scrollIntoView({ block: "center" }));
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 30))));
    }
    // Sliders and choices can be moved even where there is nothing to show.
    await page.$$eval("main input", (all) => all.forEach((input) => input.dispatchEvent(new Event(input.type === "radio" ? "change" : "input"))));
    const odd = await page.$$eval(".reading-line", (all) => all.map((node) => node.textContent).filter((said) => /NaN|undefined|Infinity/.test(said)));
    assert.deepEqual(odd, [], `of “${given}”`);
  }

  // By the keyboard alone: the text, and what is after it.
  await open();
  const reached = [];
  for (let i = 0; i < 90 && reached.at(-1) !== "classical-coupling"; i++) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement?.id));
  }
  for (const id of ["text", "layer", "score-back", "drift-distance", "tau", "pull-oscillator", "classical-coupling"]) assert.ok(reached.includes(id), `Tab does not reach ${id}: ${reached}`);

  console.log("  article: keyboard, widths, names, contrast");
  for (const width of [1920, 800, 400, 1280]) {
    await page.setViewport({ width, height: 900 });
    for (const id of ["", ...ids]) {
      if (id) await inView(id);
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
      assert.ok(wide <= width, `at ${id} the article is ${wide} wide of ${width}`);
      if (pictures && id) await page.screenshot({ path: `${pictures}/article-${name}-${width}-${id}.png` });
    }
  }
  assert.deepEqual(await page.evaluate(empty), []);
  assert.deepEqual(await page.evaluate(unnamed), []);
  assert.deepEqual(await page.evaluate(unreadable), []);
  if (name === "chrome") {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }, { name: "prefers-reduced-motion", value: "reduce" }]);
    await page.reload({ waitUntil: "load" });
    for (const id of ids) await inView(id);
    assert.deepEqual(await page.evaluate(unreadable), [], "in the dark");
    const playing = await page.$$eval("[id$=-play]", (all) => all.map((button) => button.getAttribute("aria-pressed")));
    assert.deepEqual(playing, ["false", "false"], "nothing moves by itself");
    await page.emulateMediaFeatures([]);
  }
}
