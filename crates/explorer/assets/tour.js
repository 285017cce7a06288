// A first visit's tour: five steps, each beside what it speaks of.

import { button, element } from "./dom.js";
import { prose } from "./math.js";

const key = "kuramoto-tour";
const steps = [
  ["#field", "Type here", "The model reads along. The bar under a character says how surprising it was. The byte before the caret is the chosen one: all panels speak of it."],
  ["#next", "What comes next", "The bytes that the model expects after the chosen one. Click one to type it."],
  ["#panel-oscillators", "A byte is a bank of oscillators", "Each dot is one oscillator at its phase $θ$. Play shows how they move through the layers; the layer slider above moves all panels."],
  ["#panel-pulls", "Pulls add up", "The bytes before it pull the chosen byte. These are the exact terms of its step, not an approximation."],
  ["#panel-intervene", "Intervene", "Scale, flatten, hold or rotate: every panel then shows both models, and Continue writes with the changed one. Copy link keeps all of it."],
];
const title = element("h2", { id: "tour-title" });
const words = element("p");
const place = element("span", { class: "count" });
const back = button("tour-back", "Back", () => go(at - 1));
const next = button("tour-next", "Next", () => go(at + 1));
const skip = button("tour-skip", "Skip", () => end());
const card = element("div", { id: "tour", role: "dialog", "aria-labelledby": "tour-title", hidden: true },
  title, words, element("div", { class: "controls" }, place, back, next, skip));
document.body.append(card);
let at = 0;
let before;
// What it speaks of grows when the first answer comes.
const growth = new ResizeObserver(() => put());

// Only to who has not seen it.
export function offer() {
  if (!localStorage.getItem(key)) start();
}

export function start() {
  before = document.activeElement;
  card.hidden = false;
  addEventListener("keydown", escape);
  addEventListener("scroll", put, { passive: true });
  addEventListener("resize", put);
  growth.observe(document.body);
  go(0);
}

function escape(event) {
  if (event.key === "Escape") end();
}

const target = () => document.querySelector(steps[at][0]);

function go(to) {
  target().classList.remove("toured");
  if (to >= steps.length) return end();
  at = Math.max(to, 0);
  const [, name, says] = steps[at];
  title.textContent = name;
  words.replaceChildren(...prose(says));
  place.textContent = `${at + 1} of ${steps.length}`;
  back.hidden = at === 0;
  next.textContent = at === steps.length - 1 ? "Done" : "Next";
  skip.hidden = at === steps.length - 1;
  target().classList.add("toured");
  target().scrollIntoView({ block: "nearest", behavior: "instant" });
  put();
  next.focus({ preventScroll: true });
}

// Beside what it speaks of, or below, or above, or over its lower end, within the window.
function put() {
  const box = target().getBoundingClientRect();
  const [wide, high] = [card.offsetWidth, card.offsetHeight];
  const within = (x, most) => `${Math.max(Math.min(x, most), 4)}px`;
  const beside = box.right + wide + 12 < innerWidth ? box.right + 8 : box.left - wide - 12 > 0 ? box.left - wide - 8 : undefined;
  const below = box.bottom + high + 12 < innerHeight ? box.bottom + 8 : box.top - high - 8 > 0 ? box.top - high - 8 : box.bottom - high - 8;
  card.style.top = within(beside === undefined ? below : box.top, innerHeight - high - 12);
  card.style.left = within(beside ?? box.left + 12, innerWidth - wide - 12);
}

function end() {
  localStorage.setItem(key, "done");
  card.hidden = true;
  target().classList.remove("toured");
  removeEventListener("keydown", escape);
  removeEventListener("scroll", put);
  removeEventListener("resize", put);
  growth.disconnect();
  before?.focus?.({ preventScroll: true });
}
