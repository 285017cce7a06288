// The explorer in a real browser: a trained run, a run that trains meanwhile, two widths, light and dark.
// Usage: node page.mjs PROGRAM FOLDER [SCREENSHOTS]

import assert from "node:assert";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { launch } from "./browser.mjs";

const [program, folder, pictures] = process.argv.slice(2);
const tiny = ["--set", "data.bytes=60000", "--batch", "2", "--context", "64", "--width", "16", "--layers", "3", "--validate-every", "20", "--validation-windows", "4", "--warmup", "5"];
const train = (out, steps) => spawn(program, ["train", ...tiny, "--steps", `${steps}`, "--threads", "1", "--out", `${folder}/${out}`], { stdio: "ignore" });
const done = (child) => new Promise((resolve) => child.on("exit", resolve));
assert.equal(await done(train("trained", 60)), 0);

const server = spawn(program, ["explore", folder, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
const link = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
const browser = await launch();

// Text that is too small (10 pixels) or too faint (WCAG AA: 4.5 to 1), as the page has it now.
function unreadable() {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => parts(colour).slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data.trim()).join("");
    if (!text || !node.getClientRects().length) continue;
    const style = getComputedStyle(node);
    const drawing = node.ownerSVGElement;
    const size = parseFloat(style.fontSize) * (drawing ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : 1);
    const [a, b] = [light(drawing ? style.fill : style.color), light(behind(node))].sort((x, y) => y - x);
    if (size < 10 || (a + 0.05) / (b + 0.05) < 4.5) found.push(`${text.slice(0, 30)}: ${size.toFixed(1)} pixels, ${((a + 0.05) / (b + 0.05)).toFixed(2)} to 1`);
  }
  return found;
}

const errors = [];
let trainer;
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  // The browser itself reports a refusal that is provoked below.
  let provoked = false;
  page.on("console", (message) => message.type() === "error" && !(provoked && message.text().includes("422")) && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  const shot = (name) => pictures && page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  const text = (selector) => page.textContent(selector);
  await page.goto(link);
  assert.ok(!page.url().includes("token"), "the token leaves the address");

  console.log("runs: listed, drawn, and a new one watched as it trains");
  await page.waitForSelector('[data-run="trained"]:checked');
  await page.waitForSelector("#charts svg path[stroke]");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  assert.ok(paint < 1000, `first paint after ${paint} ms`);
  trainer = train("live", 100000);
  await page.click('[data-run="live"]');
  const cell = (i) => page.locator("tr", { has: page.locator('[data-run="live"]') }).locator("td").nth(i).textContent();
  const steps = async () => Number((await cell(4)).replaceAll(",", ""));
  const before = await steps();
  await page.waitForTimeout(2000);
  const after = await steps();
  assert.ok(after > before, `steps went from ${before} to ${after} within two seconds`);
  await page.fill("#smoothing", "80");
  await page.check("#log-axis");
  assert.ok(Number(await cell(6)) > 0, "the floor is known while the run trains");
  const saved = async (kind) => {
    const file = page.waitForEvent("download");
    await page.click(`#charts button:text("${kind}")`);
    return file;
  };
  assert.match((await saved("CSV")).suggestedFilename(), /bits\.csv/);
  const drawn = await readFile(await (await saved("SVG")).path(), "utf8");
  assert.ok(!/currentColor|var\(/.test(drawn), "a saved drawing has its own colours");
  const reading = () => page.evaluate(() => document.querySelector("#charts [aria-live]").textContent);
  await page.hover("#charts svg");
  assert.match(await reading(), /^step \d.*: live \d/);
  await page.evaluate(() => { window.chart = document.querySelector("#charts svg"); window.chart.focus(); });
  await page.keyboard.press("Home");
  const [at, drawing] = [await reading(), await page.evaluate(() => window.chart.innerHTML)];
  await page.waitForFunction((before) => window.chart.innerHTML !== before, drawing);
  assert.ok(await page.evaluate(() => document.activeElement === window.chart && window.chart.isConnected), "focus stays while a run trains");
  assert.match(at, /^step 1: live \d/);
  assert.match(await reading(), /^step 1: live \d/, "what is read stays while a run trains");
  await shot("runs");

  console.log("inside: a text, a byte, its pulls, layers");
  await page.click("#tab-inside");
  await page.selectOption("#inside-run", "trained");
  await page.fill("#text", 'Anna was a merry baker. "What colour is your boat?"');
  await page.waitForFunction(() => document.querySelectorAll(".strip button").length === 51);
  await page.focus("#text");
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" It is red", { delay: 15 });
  await page.waitForFunction(() => [...document.querySelectorAll(".strip button")].map((b) => b.textContent).join("").endsWith("boat?\"\u00a0It\u00a0is\u00a0red"));
  await page.click(".strip button:nth-child(20)");
  await page.waitForFunction(() => document.body.textContent.includes("towards"));
  const chosen = () => page.evaluate(() => [...document.querySelectorAll(".strip button")].findIndex((b) => b.ariaPressed === "true"));
  assert.equal(await chosen(), 19);
  await page.keyboard.press("ArrowRight");
  assert.equal(await chosen(), 20, "the arrow keys move on from a clicked byte");
  const painted = () => page.evaluate(() => { const c = document.querySelector('canvas[aria-label^="Phases of the model"]'); return [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data].join(); });
  const first = await painted();
  await page.click("#play");
  await page.waitForFunction(() => document.querySelector("#layer").value === "3");
  assert.notEqual(await painted(), first, "phases move through the layers");

  console.log("touch: sliders change what is seen, and are put back");
  const intact = await text("#bits");
  await page.fill("#touch-tau", "0");
  await page.waitForFunction(() => document.querySelector("#bits").textContent.includes("touched"));
  await page.fill("#touch-held", "0-7");
  await page.fill("#touch-flat", "1");
  await page.fill("#touch-turn", "1");
  await page.waitForSelector('canvas[aria-label="Phases of the touched model"]');
  await page.waitForSelector('caption:text("touched") >> nth=1');
  assert.ok(await page.locator(".circle .hollow .phase").count() > 0, "the circle shows both");
  for (const key of ["bits of the next byte", "coupling A_tu", "phase (radians)"]) await page.waitForSelector(`.key:has-text("${key}")`);
  await shot("inside");
  await page.click("#touch-reset");
  await page.waitForFunction((before) => document.querySelector("#bits").textContent === before, intact);

  console.log("writing, checkpoints, nonsense");
  await page.click("#write");
  await page.waitForFunction(() => document.querySelector("#written").textContent.length >= 100);
  await page.focus("#checkpoint");
  const last = await text("#bits");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction((before) => document.querySelector("#bits").textContent !== before, last);
  provoked = true;
  await page.fill("#text", "€");
  await page.waitForFunction(() => document.querySelector("#notice").textContent.includes("does not occur"));
  await page.fill("#text", "Anna");
  await page.waitForFunction(() => document.querySelector("#notice").hidden);

  console.log("wide and narrow, light and dark: it fits, and can be read");
  for (const colorScheme of ["light", "dark"]) for (const width of [1280, 390]) for (const tab of ["#tab-runs", "#tab-inside"]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.click(tab);
    await page.waitForTimeout(300);
    const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(wide <= width, `${tab}: the page is ${wide} wide of ${width}`);
    assert.deepEqual(await page.evaluate(unreadable), [], `${tab} at ${width}, ${colorScheme}`);
    await shot(`${tab.slice(5)}-${width}-${colorScheme}`);
  }
  assert.deepEqual(errors, [], "nothing on the console");
  console.log(`ok: first paint after ${Math.round(paint)} ms, no errors on the console`);
} finally {
  trainer?.kill("SIGKILL");
  await browser.close();
  server.kill("SIGINT");
}
