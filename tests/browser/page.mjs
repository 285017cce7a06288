// The explorer in a real browser: a trained run, a run that trains meanwhile, texts, interventions, links, errors.
// Usage: node page.mjs PROGRAM FOLDER [SCREENSHOTS]

import assert from "node:assert";
import { spawn } from "node:child_process";
import { readFile, rename, stat } from "node:fs/promises";
import { explore, launch, open, unreadable } from "./browser.mjs";

const [program, folder, pictures] = process.argv.slice(2);
const tiny = ["--set", "data.bytes=60000", "--batch", "2", "--context", "64", "--width", "16", "--layers", "3", "--validate-every", "20", "--validation-windows", "4", "--warmup", "5"];
const train = (out, steps, seed) => spawn(program, ["train", ...tiny, "--seed", `${seed}`, "--steps", `${steps}`, "--threads", "1", "--out", `${folder}/${out}`], { stdio: "ignore" });
const done = (child) => new Promise((resolve) => child.on("exit", resolve));
// The older one is the first by name: the page must not open on it.
assert.equal(await done(train("a-first", 20, 1)), 0);
// Times of runs are in seconds.
await new Promise((resolve) => setTimeout(resolve, 1100));
assert.equal(await done(train("trained", 60, 0)), 0);

const { server, link } = await explore(program, [folder]);
const browser = await launch();
let trainer;
try {
  const page = await open(browser, { acceptDownloads: true, permissions: ["clipboard-read", "clipboard-write"] }, { expected: /401|404|422/ });
  const shot = (name) => pictures && page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  const text = (selector) => page.textContent(selector);
  const until = (test, argument) => page.waitForFunction(test, argument);
  const saved = async (selector, name) => {
    const file = page.waitForEvent("download");
    await page.click(selector);
    assert.match((await file).suggestedFilename(), name);
    return (await file).path();
  };

  console.log("opening: the newest run, a text the model wrote, what comes next");
  await page.goto(link);
  await page.waitForSelector("#next li:not([hidden])");
  assert.ok(!page.url().includes("token"), "the token leaves the address");
  assert.equal(await page.inputValue("#inside-run"), "trained");
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  assert.ok(paint < 1000, `first paint after ${paint} ms`);

  console.log("typing: the chosen byte follows the caret");
  const sentence = 'Anna was a merry baker. "What colour is your boat?"';
  const byte = async () => Number(await page.inputValue("#byte"));
  const title = (token) => until((token) => document.querySelector("#next-title").textContent.startsWith(`After byte ${token},`), token);
  await page.fill("#text", sentence);
  await title(50);
  await page.focus("#text");
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" It is", { delay: 15 });
  await title(56);
  assert.equal(await byte(), 56, "the byte before the caret");
  for (let i = 0; i < 6; i++) await page.keyboard.press("ArrowLeft");
  await title(50);
  await page.keyboard.type(".");
  await title(51);
  assert.equal(await page.inputValue("#text"), `${sentence}. It is`);
  await page.focus("#byte");
  await page.keyboard.press("ArrowUp");
  await title(52);
  assert.equal(await page.evaluate(() => document.querySelector("#text").selectionEnd), 53, "the caret follows the byte");
  assert.equal(await page.locator("#marks .chosen").count(), 1);
  const before = await page.inputValue("#text");
  await page.click("#next button >> nth=0");
  await title(53);
  assert.equal((await page.inputValue("#text")).length, before.length + 1, "a click types what comes next");

  console.log("controls stay in view; panels that are not in view are not asked for");
  const asked = [];
  page.on("request", (request) => request.url().endsWith("api/inspect") && asked.push(...JSON.parse(request.postData()).parts));
  await page.evaluate(() => scrollTo(0, 1200));
  for (const selector of ["#text", "#inside-run", "#layer", "#byte", "#next"]) {
    const { y } = await page.locator(selector).boundingBox();
    assert.ok(y >= 0 && y < 300, `${selector} is at ${y}`);
  }
  await page.evaluate(() => scrollTo(0, 0));
  await page.waitForTimeout(300);
  asked.length = 0;
  await page.fill("#text", sentence);
  await title(50);
  assert.ok(asked.includes("bits") && asked.includes("likely") && !asked.includes("omega"), `${asked}`);

  console.log("layers: the oscillators move, and can be saved");
  const painted = (selector) => page.evaluate((selector) => { const c = document.querySelector(selector); return c.toDataURL(); }, selector);
  const first = await painted("canvas.scene");
  await page.click("#play");
  await page.waitForTimeout(500);
  const [some, later] = [await painted("canvas.scene"), (await page.waitForTimeout(120), await painted("canvas.scene"))];
  assert.ok(some !== first && later !== some, "it moves between layers");
  await page.fill("#layer", "2");
  await page.waitForTimeout(100);
  assert.match(await text("#scene-place"), /entering layer 2/, "it goes on from another layer");
  await page.click("#play");
  const still = await painted("canvas.scene");
  await page.waitForTimeout(120);
  assert.equal(await painted("canvas.scene"), still, "it pauses");
  for (const scene of ["torus", "bytes", "circle"]) {
    await page.selectOption("#scene", scene);
    assert.notEqual(await painted("canvas.scene"), still);
    const drawing = await readFile(await saved("#save-svg", new RegExp(`byte-50-${scene}\\.svg`)), "utf8");
    assert.ok(drawing.includes("<circle") && !/var\(|undefined|NaN/.test(drawing), "a drawing has its own colours");
  }
  assert.equal((await readFile(await saved("#save-png", /\.png$/))).subarray(1, 4).toString(), "PNG");
  const video = await saved("#save-video", /\.(webm|mp4)$/);
  assert.ok((await stat(video)).size > 10000, "a video has frames");
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.click("#play");
  await page.waitForTimeout(300);
  const rest = await painted("canvas.scene");
  await page.waitForTimeout(200);
  assert.equal(await painted("canvas.scene"), rest, "who wants less motion sees steps");
  await page.click("#play");
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await page.fill("#layer", "1");

  console.log("heat maps: axes, values, a mark");
  await page.locator("#panel-phases canvas").first().scrollIntoViewIfNeeded();
  await page.locator("#panel-phases canvas").first().hover();
  await until(() => /byte \d+ “.*”, oscillator \d+: -?\d/.test(document.querySelector("#panel-phases .reading").textContent));
  assert.equal(await page.locator("#panel-phases .mark:visible").count(), 1);
  assert.equal(await text("#panel-coupling .ticks.down span:last-child"), "50");
  await page.locator("#panel-coupling canvas").first().focus();
  await page.keyboard.press("ArrowUp");
  await until(() => document.querySelector("#panel-coupling .reading").textContent.includes("byte 49"));
  await page.keyboard.press("Enter");
  await title(49);
  await page.waitForSelector("#panel-pulls tbody tr");
  await until(() => document.querySelectorAll("#panel-coalitions li").length === 4);
  assert.deepEqual(await page.$$eval("#panel-coalitions .heat:first-of-type .ticks.down span:not([hidden])", (nodes) => nodes.slice(0, 4).map((node) => node.textContent)), ["0", "1", "2", "3"], "of few cells each has its number once");
  for (const symbol of ["θ", "A", "z", "ω", "R"]) assert.ok(await page.locator(`.math var:text-is("${symbol}")`).count() > 0, `${symbol} is set in italics`);

  console.log("intervene, a link that holds all of it, reset");
  await page.evaluate(() => scrollTo(0, 0));
  const intact = await text("#bits");
  await page.fill("#intervene-tau", "0");
  await until(() => document.querySelector("#bits").textContent.includes("with intervention"));
  await page.fill("#intervene-held", "0-7");
  await page.fill("#intervene-flat", "1");
  await page.fill("#intervene-turn", "1");
  await until(() => document.querySelectorAll("#panel-pulls caption:not([hidden])").length === 2);
  assert.match(await text("#intervene-place"), /At layer 1, byte 49/);
  await until(() => location.hash.includes("turn=1") && location.hash.includes("held=0-7"));
  const state = () => page.evaluate(() => ["#inside-run", "#text", "#byte", "#layer", "#intervene-tau", "#intervene-held", "#intervene-flat", "#intervene-turn"].map((id) => document.querySelector(id).value).concat(document.querySelector("#bits").textContent));
  const now = await state();
  await shot("inside");
  await page.reload();
  await until(() => document.querySelector("#bits").textContent.includes("with intervention"));
  assert.deepEqual(await state(), now, "a reload keeps everything");
  await page.click("#copy");
  const sent = await page.evaluate(() => navigator.clipboard.readText());
  const other = await open(browser);
  await other.goto(sent);
  await other.waitForFunction(() => document.querySelector("#bits").textContent.includes("with intervention"));
  assert.equal(await other.textContent("#bits"), now.at(-1), "a link shows a colleague the same");
  assert.ok(!other.url().includes("token"));
  assert.deepEqual(other.errors, []);
  // Another link in the same tab.
  await other.goto(sent.replace(/&byte=\d+/, "&byte=3"));
  await other.waitForFunction(() => document.querySelector("#byte")?.value === "3");
  await other.close();
  await page.click("#dismiss");
  await page.click("#intervene-reset");
  await until((before) => document.querySelector("#bits").textContent === before, intact);
  // After the last layer there is no coupling of its own: the last layer's is meant, also in a link.
  await page.fill("#layer", "3");
  await page.fill("#intervene-flat", "1");
  await until(() => document.querySelector("#bits").textContent.includes("with intervention") && location.hash.includes("at=3"));
  const flat = await text("#bits");
  await page.reload();
  await until((before) => document.querySelector("#bits").textContent === before, flat);
  await page.click("#intervene-reset");
  await until((before) => document.querySelector("#bits").textContent === before, intact);
  // A place that is none is the nearest.
  await page.fill("#byte", "1.5");
  await title(1);
  for (const [odd, byte] of [["byte=-3&layer=0.5&tau=1e300", 50], ["byte=2.7&layer=-1", 2]]) {
    const address = new URL(page.url());
    const held = new URLSearchParams(address.hash.slice(1));
    for (const [name, value] of new URLSearchParams(odd)) held.set(name, value);
    address.hash = held;
    await page.goto(`${address}`);
    await page.waitForSelector("#bits");
    await title(byte);
    assert.ok(await page.locator("#notice").isHidden(), odd);
  }
  if (await page.isEnabled("#intervene-reset")) await page.click("#intervene-reset");
  await page.fill("#layer", "1");
  await page.fill("#byte", "49");
  await title(49);

  console.log("continue, checkpoints");
  await page.click("#continue");
  await until(() => document.querySelector("#written").textContent.length >= 100);
  await until(() => document.querySelector("#continue").textContent === "Continue");
  await page.focus("#checkpoint");
  const last = await text("#bits");
  await page.keyboard.press("ArrowLeft");
  await until((before) => document.querySelector("#bits").textContent !== before, last);

  console.log("unknown bytes, long and empty texts: the rest works");
  await page.fill("#text", "Anna € was");
  await until(() => document.querySelector("#bits").textContent.includes("€ left out"));
  assert.equal(await page.locator("#marks .unknown").textContent(), "€");
  await title(8);
  assert.ok(await page.locator("#notice").isHidden(), "that is no error");
  await page.fill("#text", "a".repeat(100));
  await until(() => document.querySelector("#bits").textContent.includes("before the context"));
  await title(35);
  await page.fill("#text", "");
  await until(() => document.querySelector("#bits").textContent.includes("Type something"));
  assert.match(await page.getAttribute("#text", "placeholder"), /Type a text/);
  assert.ok(await page.locator("#notice").isHidden());
  const invitation = page.locator("#panel-oscillators > .empty");
  assert.ok(await invitation.isVisible(), "an empty text invites to type");
  let answer;
  const held = new Promise((resolve) => page.route("**/api/inspect*", (route) => {
    answer = () => route.continue();
    resolve();
  }, { times: 1 }));
  await page.fill("#text", "Anna");
  await held;
  assert.ok(await invitation.isHidden(), "a text whose answer is on its way does not");
  await answer();
  await title(3);

  console.log("runs: listed, sorted, filtered, drawn, and a new one watched as it trains");
  await page.click("#tab-runs");
  await page.waitForSelector("#charts svg path[stroke]");
  const order = () => page.$$eval("#run-list [data-run]", (boxes) => boxes.map((box) => box.dataset.run));
  assert.deepEqual(await order(), ["trained", "a-first"], "newest first");
  await page.click('th button:text-is("steps")');
  await page.click('th button:text-is("steps")');
  assert.deepEqual(await order(), ["a-first", "trained"]);
  assert.equal(await page.locator('th[aria-sort="ascending"]').textContent(), "steps");
  assert.ok(await page.locator('th:has-text("seed")').count() === 1 && await page.locator('th:has-text("corpus")').count() === 0, "columns where runs differ");
  assert.match(await text("#same"), /corpus tales/);
  await page.fill("#filter", "trained");
  assert.deepEqual(await order(), ["trained"]);
  await page.fill("#filter", "");
  trainer = train("live", 100000, 0);
  await page.click('[data-run="live"]');
  const steps = async () => Number((await page.locator("tr", { has: page.locator('[data-run="live"]') }).locator("td").nth(2).textContent()).replaceAll(",", ""));
  const start = await steps();
  await page.waitForTimeout(2000);
  assert.ok(await steps() > start, "steps go on within two seconds");
  await page.fill("#smoothing", "80");
  await page.check("#log-axis");
  await saved('#charts button:text("CSV")', /bits\.csv/);
  const drawn = await readFile(await saved('#charts button:text("SVG")', /bits\.svg/), "utf8");
  assert.ok(!/currentColor|var\(/.test(drawn), "a saved drawing has its own colours");
  const reading = () => page.evaluate(() => document.querySelector("#charts [aria-live]").textContent);
  await page.hover("#charts svg");
  assert.match(await reading(), /^step \d.*: .*\d/);
  await page.evaluate(() => { window.chart = document.querySelector("#charts svg"); window.chart.focus(); });
  await page.keyboard.press("Home");
  const [at, drawing] = [await reading(), await page.evaluate(() => window.chart.innerHTML)];
  await until((before) => window.chart.innerHTML !== before, drawing);
  assert.ok(await page.evaluate(() => document.activeElement === window.chart && window.chart.isConnected), "focus stays while a run trains");
  assert.match(at, /^step 1: /);
  assert.match(await reading(), /^step 1: /, "what is read stays while a run trains");
  await shot("runs");
  trainer.kill("SIGKILL");
  await page.click('[data-open="a-first"]');
  await until(() => document.querySelector("#inside-run").value === "a-first");

  console.log("every width, light and dark: it fits, has no holes, and can be read");
  for (const colorScheme of ["light", "dark"]) for (const width of [400, 800, 1280, 1920]) for (const tab of ["runs", "inside"]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await page.click(`#tab-${tab}`);
    await page.waitForTimeout(150);
    const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(wide <= width, `${tab}: the page is ${wide} wide of ${width}`);
    assert.deepEqual(await page.evaluate(unreadable), [], `${tab} at ${width}, ${colorScheme}`);
    assert.deepEqual(await page.evaluate(holes, tab), [], `${tab} at ${width}`);
    await shot(`${tab}-${width}-${colorScheme}`);
  }

  console.log("a run that vanishes is said once; a wrong token says only that");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.click("#tab-inside");
  await rename(`${folder}/a-first`, `${folder}/.gone`);
  await until(() => document.querySelector("#notice").textContent.includes("a-first is not there"));
  await until(() => document.querySelector("#inside-run").value !== "a-first");
  await page.click("#dismiss");
  await page.waitForTimeout(1500);
  assert.ok(await page.locator("#notice").isHidden(), "once");
  assert.deepEqual(page.errors, [], "nothing on the console");
  const stranger = await open(browser, {}, { expected: /401/ });
  await stranger.goto(link.replace(/token=.*/, "token=wrong"));
  await stranger.waitForSelector("#sign-in:visible");
  assert.ok(await stranger.locator("main").isHidden() && await stranger.locator("#notice").isHidden());
  await stranger.fill("#token", link);
  await stranger.click("#sign-in button");
  await stranger.waitForSelector("#next li:not([hidden])");
  assert.deepEqual(stranger.errors, []);
  server.kill("SIGINT");
  await until(() => document.querySelector("#notice").textContent.includes("onnection"));
  console.log(`ok: first paint after ${Math.round(paint)} ms, no errors on the console`);
} finally {
  trainer?.kill("SIGKILL");
  await browser.close();
  server.kill("SIGINT");
}

// Places of the grid that no panel fills: rows whose panels do not reach from edge to edge, or are not of one height.
function holes(tab) {
  const board = document.querySelector(tab === "runs" ? "#charts" : "#board");
  const edge = board.getBoundingClientRect();
  const rows = new Map();
  const cells = [...board.children].flatMap((node) => (getComputedStyle(node).display === "contents" ? [...node.children] : [node]));
  for (const node of cells) {
    const box = node.getBoundingClientRect();
    rows.set(Math.round(box.top), [...(rows.get(Math.round(box.top)) ?? []), box]);
  }
  return [...rows.values()].flatMap((row) => {
    const reaches = Math.abs(Math.min(...row.map((box) => box.left)) - edge.left) < 2 && Math.abs(Math.max(...row.map((box) => box.right)) - edge.right) < 2;
    const level = Math.max(...row.map((box) => box.bottom)) - Math.min(...row.map((box) => box.bottom)) < 2;
    return reaches && level ? [] : [row.map((box) => `${Math.round(box.left)} to ${Math.round(box.right)}, ${Math.round(box.bottom)}`).join("; ")];
  });
}
