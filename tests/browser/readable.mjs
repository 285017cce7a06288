// Text that is too small (10 pixels) or too faint (WCAG AA: 4.5 to 1), as the page has it now. Runs in the page.
export function unreadable() {
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
    // The marks lie under the text, which has its own colour; what is disabled need not be read.
    if (!text || !node.getClientRects().length || node.closest("#marks, :disabled")) continue;
    const style = getComputedStyle(node);
    const drawing = node.ownerSVGElement;
    const size = parseFloat(style.fontSize) * (drawing ? drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width : 1);
    const [a, b] = [light(drawing ? style.fill : style.color), light(behind(node))].sort((x, y) => y - x);
    const least = node.closest("sub, sup, tspan, math") ? 8 : 10;
    if (size < least || (a + 0.05) / (b + 0.05) < 4.5) found.push(`${text.slice(0, 30)}: ${size.toFixed(1)} pixels, ${((a + 0.05) / (b + 0.05)).toFixed(2)} to 1`);
  }
  return found;
}
