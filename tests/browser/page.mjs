// The explorer in a real browser: a trained run, a run that trains meanwhile, two widths, light and dark.
// Usage: node page.mjs PROGRAM FOLDER [SCREENSHOTS]

import assert from "node:assert";
import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

const [program, folder, pictures] = process.argv.slice(2);
const tiny = ["--set", "data.bytes=60000", "--batch", "2", "--context", "64", "--width", "16", "--layers", "3", "--validate-every", "20", "--validation-windows", "4", "--warmup", "5"];
const train = (out, steps) => spawn(program, ["train", ...tiny, "--steps", `${steps}`, "--threads", "1", "--out", `${folder}/${out}`], { stdio: "ignore" });
const done = (child) => new Promise((resolve) => child.on("exit", resolve));
assert.equal(await done(train("trained", 60)), 0);

const server = spawn(program, ["explore", folder, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
const link = await new Promise((resolve) => server.stdout.once("data", (data) => resolve(String(data).trim())));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});
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
  const steps = async () => Number((await page.locator("tr", { has: page.locator('[data-run="live"]') }).locator("td").nth(4).textContent()).replaceAll(",", ""));
  const before = await steps();
  await page.waitForTimeout(2000);
  const after = await steps();
  assert.ok(after > before, `steps went from ${before} to ${after} within two seconds`);
  await page.fill("#smoothing", "80");
  await page.check("#log-axis");
  await page.hover("#charts svg");
  const saved = page.waitForEvent("download");
  await page.click('#charts button:text("CSV")');
  assert.match((await saved).suggestedFilename(), /bits\.csv/);
  await shot("runs");

  console.log("inside: a text, a byte, its pulls, layers");
  await page.click("#tab-inside");
  await page.selectOption("#inside-run", "trained");
  await page.fill("#text", 'Anna was a merry baker. "What colour is your boat?"');
  await page.waitForFunction(() => document.querySelectorAll(".strip button").length === 51);
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

  console.log("a telephone, in the dark");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 390, height: 800 });
  for (const tab of ["#tab-runs", "#tab-inside"]) {
    await page.click(tab);
    await page.waitForTimeout(300);
    const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(wide <= 390, `${tab}: the page is ${wide} wide`);
  }
  await shot("telephone");
  assert.deepEqual(errors, [], "nothing on the console");
  console.log(`ok: first paint after ${Math.round(paint)} ms, no errors on the console`);
} finally {
  trainer?.kill("SIGKILL");
  await browser.close();
  server.kill("SIGINT");
}
