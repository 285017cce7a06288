// Reports in a real browser: every figure is shown whole, and the page is no wider than the window.
// Usage: node report.mjs SCREENSHOTS REPORT.. (SCREENSHOTS may be empty)

import assert from "node:assert";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.mjs";

const [pictures, ...reports] = process.argv.slice(2);

// Figures whose content, mapped to the screen, is not inside what is shown of them.
function cropped() {
  const found = [];
  for (const drawing of document.querySelectorAll("figure svg")) {
    const box = drawing.getBBox();
    const toScreen = drawing.getScreenCTM();
    const corner = (x, y) => new DOMPoint(x, y).matrixTransform(toScreen);
    const [from, to] = [corner(box.x, box.y), corner(box.x + box.width, box.y + box.height)];
    const shown = drawing.getBoundingClientRect();
    const left = Math.max(shown.left, 0), right = Math.min(shown.right, document.documentElement.clientWidth);
    const inside = from.x >= left - 1 && to.x <= right + 1 && from.y >= shown.top - 1 && to.y <= shown.bottom + 1;
    if (!inside || box.width < 100) found.push(`${drawing.closest("figure").querySelector("figcaption").textContent.slice(0, 40)}: ${from.x.toFixed()} to ${to.x.toFixed()} of ${left.toFixed()} to ${right.toFixed()}, ${from.y.toFixed()} to ${to.y.toFixed()} of ${shown.top.toFixed()} to ${shown.bottom.toFixed()}`);
  }
  return found;
}

const browser = await launch();
try {
  const page = await browser.newPage();
  for (const report of reports) {
    await page.goto(pathToFileURL(path.resolve(report)).href);
    const figures = await page.locator("figure svg").count();
    assert.ok(figures > 0, `${report} has no figures`);
    for (const width of [400, 1280, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await page.evaluate(cropped), [], `${report} at ${width}`);
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
      assert.ok(wide <= width, `${report}: the page is ${wide} wide of ${width}`);
      const name = `report-${path.basename(path.dirname(path.resolve(report)))}-${width}`;
      if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
    }
    console.log(`ok: ${report}: ${figures} figures shown whole at 400, 1280 and 1600 pixels`);
  }
} finally {
  await browser.close();
}
