// The page without a server, in Chromium and in Firefox: it is fast, equal to the program, alone, and safe.
// Usage: node site.mjs SITE NATIVE [SCREENSHOTS] (NATIVE: the example of that name in crates/web)

import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { readFile, readdir, stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";
import { arrays, difference } from "./arrays.mjs";
import { article } from "./article.mjs";
import { serve } from "./static.mjs";

const [site, native, pictures] = process.argv.slice(2);
const folder = path.resolve(site);
const browsers = {
  chrome: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"] },
  firefox: { executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr" },
};
// As the pages have it, and as a header where it can say more. Books have inline styles.
const policy = (pathname) => `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'${pathname.startsWith("/book/") ? " 'unsafe-inline'" : ""}; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`;

// How big it is, whatever the file system makes of it.
async function bytes(folder) {
  let sum = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) if (entry.isFile()) sum += (await stat(path.join(entry.parentPath ?? entry.path, entry.name))).size;
  return sum;
}
const size = await bytes(folder);
assert.ok(size <= 15e6, `the site has ${size} bytes`);
console.log(`size: ${(size / 1e6).toFixed(1)} MB`);

// What the program answers, with the same files.
const run = "enwik8-kuramoto-1m";
const { best: checkpoint } = JSON.parse(await readFile(path.join(folder, "data", run, "about.json"), "utf8"));
const parts = ["bits", "likely", "phase", "coupling", "order", "omega", "logits"];
// What a text shares with the last one is not computed again: this one shares nothing with the page's own.
const question = { run, checkpoint, text: "Oh, capital of France is Paris. ".repeat(8), parts, interventions: [{ at: "layer.1.attention", action: { flatten: 0.5 } }] };
const reference = path.join(os.tmpdir(), `kuramoto-native-${process.pid}`);
const speed = JSON.parse(execFileSync(native, [folder, run, checkpoint, JSON.stringify({ ...question, interventions: [] }), reference], { encoding: "utf8" }));
execFileSync(native, [folder, run, checkpoint, JSON.stringify(question), reference]);
const expected = arrays(await readFile(reference));
console.log(`program, one thread: ${speed.milliseconds.toFixed(0)} ms for 256 bytes, ${speed.bytes_per_second.toFixed(0)} bytes/s generated`);

// Controls and pictures without a name for a screen reader.
function unnamed() {
  const name = (node) => (node.getAttribute("aria-label") ?? "") + (node.getAttribute("aria-labelledby") ?? "") + (node.title ?? "") + [...(node.labels ?? [])].map((label) => label.textContent).join("") + (node.matches("button, a, summary") ? node.textContent : "");
  return [...document.querySelectorAll("button, a, input, select, textarea, summary, canvas, [role=img], [tabindex]")]
    .filter((node) => node.getClientRects().length && !node.closest("[aria-hidden=true]") && !name(node).trim()).map((node) => node.outerHTML.slice(0, 100));
}

for (const [name, options] of Object.entries(browsers)) {
  console.log(name);
  let damage = false;
  const server = await serve(folder, policy, async (pathname) => {
    if (!damage || !pathname.endsWith(".safetensors")) return undefined;
    const bytes = await readFile(path.join(folder, pathname));
    bytes[bytes.length - 1] ^= 1;
    return bytes;
  });
  const browser = await puppeteer.launch({ browser: name, headless: true, ...options });
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    const [errors, foreign] = [[], []];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("request", (request) => /^https?:/.test(request.url()) && !request.url().startsWith(server.address) && foreign.push(request.url()));

    const answer = () => page.waitForSelector("#next li:not([hidden])", { visible: true });
    await page.goto(server.address, { waitUntil: "load" });
    await answer();
    const [paint, answered] = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0]?.startTime, performance.now()]);
    console.log(`  first paint after ${paint?.toFixed(0)} ms, the model's first answer after ${answered.toFixed(0)} ms`);
    assert.ok(paint < 1000, "first paint within a second");
    assert.ok(answered < 3000, "the first answer within three seconds");

    for (const width of [1920, 800, 400, 1280]) {
      await page.setViewport({ width, height: 900 });
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
      assert.ok(wide <= width, `the page is ${wide} wide of ${width}`);
      if (pictures) await page.screenshot({ path: `${pictures}/site-${name}-${width}.png` });
    }

    const found = await page.evaluate(async (question) => {
      const api = await import("./api.js");
      const message = await api.inspect(question);
      return Object.fromEntries(Object.entries(message).filter(([, value]) => ArrayBuffer.isView(value)).map(([name, value]) => [name, [...value]]));
    }, question);
    assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort());
    const differences = Object.entries(expected).map(([name, wanted]) => [name, difference(found[name], wanted)]);
    const [, logits] = differences.find(([name]) => name === "touched.logits");
    console.log(`  logits differ from the program's by ${logits.toExponential(1)} at most, relatively; all arrays by ${Math.max(...differences.map(([, x]) => x)).toExponential(1)}`);
    for (const [name, most] of differences) assert.ok(most <= 1e-5, `${name} differs by ${most}`);

    // The best of some, as of the program: others may use the machine meanwhile.
    const timed = await page.evaluate(async (question) => {
      const api = await import("./api.js");
      const milliseconds = [];
      for (let i = 0; i < 60; i++) {
        // Another first byte, because what a text shares with the last one is not computed again.
        const text = String.fromCharCode(65 + (i % 26)) + question.text.slice(1);
        const before = performance.now();
        await api.inspect({ ...question, text });
        milliseconds.push(performance.now() - before);
      }
      const speeds = [];
      for (const seed of [1, 2, 3]) {
        let count = 0;
        const before = performance.now();
        await api.write({ question: { ...question, text: "The " }, bytes: 200, sampling: { temperature: 1, top_p: 1, seed } }, () => count++);
        speeds.push((1000 * count) / (performance.now() - before));
      }
      return { milliseconds: Math.min(...milliseconds), bytesPerSecond: Math.max(...speeds) };
    }, { ...question, interventions: [] });
    const shares = [speed.milliseconds / timed.milliseconds, timed.bytesPerSecond / speed.bytes_per_second];
    console.log(`  ${timed.milliseconds.toFixed(0)} ms for 256 bytes (${(100 * shares[0]).toFixed(0)}% of the program's speed), ${timed.bytesPerSecond.toFixed(0)} bytes/s generated (${(100 * shares[1]).toFixed(0)}%)`);
    assert.ok(Math.min(...shares) >= 0.25, "at least a quarter of the program's speed on one thread");

    const rest = await page.evaluate(async (question) => {
      const api = await import("./api.js");
      const refused = (promise) => promise.then(() => "", (error) => error.message);
      const pulls = await api.pulls({ question, token: 9, locking: 0.9 });
      const stop = new AbortController();
      let count = 0;
      const stopped = await refused(api.write({ question, bytes: 2000, sampling: { temperature: 1, top_p: 1, seed: 1 } }, () => ++count === 5 && stop.abort(), stop.signal));
      return {
        layers: pulls.layers.length, count, stopped,
        long: await refused(api.inspect({ ...question, text: "x".repeat(9999) })),
        nonsense: await refused(api.inspect({ ...question, nonsense: 1 })),
        missing: await refused(api.inspect({ ...question, run: "../no such run" })),
        after: (await api.inspect({ ...question, checkpoint: "best" })).n,
      };
    }, question);
    assert.ok(rest.layers > 1 && rest.count === 5 && rest.stopped && rest.after === 256, JSON.stringify(rest));
    assert.match(rest.long, /the text has 9999 bytes, 256 can be shown/);
    assert.match(rest.nonsense, /unknown field `nonsense`/);
    assert.match(rest.missing, /cannot be fetched: the server answered 404/);

    console.log("  the keyboard alone; names for screen readers; nothing from elsewhere");
    await page.reload({ waitUntil: "load" });
    await answer();
    const reached = [];
    for (let i = 0; i < 60 && reached.at(-1) !== "text"; i++) {
      await page.keyboard.press("Tab");
      reached.push(await page.evaluate(() => document.activeElement?.id));
    }
    assert.equal(reached.at(-1), "text", `Tab reaches ${reached}`);
    await page.keyboard.press("End");
    const before = await page.$eval("#bits", (node) => node.textContent);
    await page.keyboard.type(" and so");
    await page.waitForFunction((before) => document.querySelector("#bits").textContent !== before, {}, before);
    assert.deepEqual(await page.evaluate(unnamed), []);
    errors.splice(0, errors.length, ...errors.filter((text) => !/404/.test(text)));
    assert.deepEqual([errors, foreign], [[], []]);
    const ran = await page.evaluate(async () => {
      document.body.append(Object.assign(document.createElement("script"), { textContent: "window.inline = true" }));
      try { setTimeout("window.evaluated = true"); } catch { /* refused at once */ }
      await new Promise((resolve) => setTimeout(resolve, 100));
      return [window.inline, window.evaluated].filter(Boolean).length;
    });
    assert.equal(ran, 0, "the policy refuses inline scripts and text as code");

    // What the policy refused was said on the console.
    errors.length = 0;
    await article(page, server.address, name, { unnamed, pictures });
    assert.deepEqual([errors, foreign], [[], []], "in the article");

    console.log("  damaged weights are refused; the book is there");
    await page.goto(`${server.address}#text=Paris`, { waitUntil: "load" });
    damage = true;
    await page.reload({ waitUntil: "load" });
    await page.waitForFunction(() => /damaged/.test(document.querySelector("#notice").textContent));
    damage = false;
    errors.length = 0;
    await page.goto(`${server.address}book/index.html`);
    assert.match(await page.title(), /kuramoto/);
    await page.waitForSelector("#mdbook-sidebar .chapter a", { visible: true });
    assert.deepEqual([errors, foreign], [[], []]);
  } finally {
    await browser.close();
    server.stop();
  }
}
console.log("ok: the page without a server");
