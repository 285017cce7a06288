// The page without a server on a graphics card (here a program that pretends to be one, in Chromium): it leaves what the
// program itself computes.
// Usage: node webgpu.mjs SITE NATIVE (NATIVE: the example of that name in crates/web)

import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import puppeteer from "puppeteer-core";
import { serve } from "./static.mjs";
import { arrays, difference } from "./arrays.mjs";

const [site, native] = process.argv.slice(2);
const folder = path.resolve(site);
const run = "enwik8-kuramoto-1m";
const { best: checkpoint } = JSON.parse(await readFile(path.join(folder, "data", run, "about.json"), "utf8"));
const parts = ["bits", "likely", "phase", "coupling", "order", "omega", "logits"];
const texts = ["The capital of France is Paris. ".repeat(8), "Phases"];

// The page has a policy of its own.
const server = await serve(folder, () => "frame-ancestors 'self'");
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true,
  args: ["--no-sandbox", "--enable-unsafe-webgpu", "--enable-features=Vulkan", "--use-webgpu-adapter=swiftshader", "--use-vulkan=swiftshader", "--disable-background-networking", "--no-first-run"],
});
try {
  const page = await browser.newPage();
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${server.address}?card=any`, { waitUntil: "load" });
  for (const text of texts) {
    const question = { run, checkpoint, text, parts, interventions: [] };
    const reference = path.join(os.tmpdir(), `kuramoto-native-${process.pid}`);
    execFileSync(native, [folder, run, checkpoint, JSON.stringify(question), reference]);
    const expected = arrays(await readFile(reference));
    const { elsewhere, milliseconds, found } = await page.evaluate(async (question) => {
      const api = await import("./api.js");
      const before = performance.now();
      const message = await api.inspect(question);
      const found = Object.fromEntries(Object.entries(message).filter(([, value]) => ArrayBuffer.isView(value)).map(([name, value]) => [name, [...value]]));
      return { elsewhere: message.elsewhere, milliseconds: performance.now() - before, found };
    }, question);
    assert.ok(elsewhere, "the card read the text");
    const differences = Object.entries(expected).filter(([name]) => name !== "likely").map(([name, wanted]) => [name, difference(found[name], wanted)]);
    console.log(`${text.length} bytes on a card in ${milliseconds.toFixed(0)} ms: ${differences.map(([name, most]) => `${name} ${most.toExponential(1)}`).join(", ")}`);
    for (const [name, most] of differences) assert.ok(most <= (name === "logits" ? 1e-5 : 1e-4), `${name} differs by ${most}`);
  }
  assert.deepEqual(errors, []);
} finally {
  await browser.close();
  server.stop();
}
