// A first visit, with the models that come with the program: the tour, and how fast a 1M model answers.
// Usage: node visit.mjs PROGRAM FOLDER [SCREENSHOTS]

import assert from "node:assert";
import { explore, launch, median, open } from "./browser.mjs";

const [program, folder, pictures] = process.argv.slice(2);
// No folder is given, and there are no runs here.
const { server, link } = await explore(program, [], { cwd: folder });
const browser = await launch();
try {
  const page = await open(browser, {}, { tour: true });
  await page.goto(link);
  await page.waitForSelector("#tour:visible");
  assert.equal(await page.inputValue("#inside-run"), "enwik8-kuramoto-1m", "the largest shipped model");
  for (let step = 1; step <= 5; step++) {
    await page.waitForFunction((step) => document.querySelector("#tour .count").textContent === `${step} of 5`, step);
    const [box, height] = [await page.locator("#tour").boundingBox(), 900];
    assert.ok(box.y >= 0 && box.y + box.height <= height, `step ${step} is on the screen`);
    if (pictures) await page.screenshot({ path: `${pictures}/tour-${step}.png` });
    await page.keyboard.press("Enter");
  }
  await page.waitForSelector("#tour", { state: "hidden" });
  await page.reload();
  await page.waitForSelector("#next li:not([hidden])");
  assert.ok(await page.locator("#tour").isHidden(), "only once");
  await page.goto("about:blank");
  await page.goto(`${link}&run=enwik8-transformer-1m`);
  await page.waitForFunction(() => document.querySelector("#notice").textContent.includes("has no phases"));
  await page.waitForSelector("#next li:not([hidden])");
  await page.click("#dismiss");
  await page.click("#show-tour");
  await page.keyboard.press("Escape");
  assert.ok(await page.locator("#tour").isHidden(), "it can be skipped");

  // Until somebody types, every model shows a text of its own.
  const wikipedia = await page.inputValue("#text");
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForSelector("#next li:not([hidden])");
  await page.selectOption("#inside-run", "tales-kuramoto");
  await page.waitForFunction((before) => document.querySelector("#text").value !== before, wikipedia);
  assert.equal(await page.locator("#marks .unknown").count(), 0);
  await page.selectOption("#inside-run", "enwik8-kuramoto-1m");
  await page.waitForFunction((before) => document.querySelector("#text").value === before, wikipedia);

  // From a key to the paint of what it changed, with 226 to 256 bytes. Everything in view is up to date then: the page is
  // drawn as one.
  await page.fill("#text", "Anarchism is a political philosophy that is sceptical of authority. ".repeat(4).slice(0, 226));
  await page.waitForTimeout(1500);
  await page.focus("#text");
  await page.keyboard.press("Control+End");
  await page.evaluate(() => {
    window.times = [];
    let start;
    document.querySelector("#text").addEventListener("keydown", (event) => { start = event.timeStamp; });
    new MutationObserver(() => {
      const from = start;
      // A task after the frame's own callbacks comes after its paint.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => window.times.push(performance.now() - from);
        port2.postMessage(0);
      });
    }).observe(document.querySelector("#next-title"), { childList: true, characterData: true, subtree: true });
  });
  for (const letter of "the people of the state and is ") {
    await page.keyboard.press(letter === " " ? "Space" : letter);
    await page.waitForTimeout(250);
  }
  const times = await page.evaluate(() => window.times);
  assert.ok(times.length >= 25, `${times.length} keys were answered`);
  const sorted = [...times].sort((a, b) => a - b);
  console.log(`key to paint: median ${median(times).toFixed(1)} ms, ${sorted[0].toFixed(1)} to ${sorted.at(-1).toFixed(1)} ms over ${times.length} keys`);
  // Machines that test are busy; what is aimed at is 50 ms.
  assert.ok(median(times) < 150, "a key is answered at once");

  // Frames of the animation, and the time that drawing one takes.
  for (const scene of ["circle", "torus", "bytes"]) {
    await page.selectOption("#scene", scene);
    await page.click("#play");
    const [apart, drawing] = await page.evaluate(() => new Promise((resolve) => {
      const [stamps, costs] = [[], []];
      const frame = (now) => {
        stamps.push(now);
        // Callbacks of a frame run in the order they were asked for: the page asked before, so it has drawn by now.
        costs.push(performance.now() - now);
        if (stamps.length < 121) requestAnimationFrame(frame);
        else resolve([stamps.slice(1).map((t, i) => t - stamps[i]), costs]);
      };
      requestAnimationFrame(frame);
    }));
    await page.click("#play");
    console.log(`${scene}: ${(1000 / median(apart)).toFixed(0)} frames a second (median), ${apart.filter((gap) => gap > 25).length} of 120 frames late; ${median(drawing).toFixed(1)} ms into a frame when drawn`);
    assert.ok(median(apart) < 34, "it moves smoothly");
  }
  assert.deepEqual(page.errors, [], "nothing on the console");
} finally {
  await browser.close();
  server.kill("SIGINT");
}
