// One line for what went wrong, until it is right again or dismissed.

import { NotConnected, NotSignedIn, signIn } from "./api.js";
import { button, element } from "./dom.js";

const line = document.getElementById("notice");
const words = element("span");
line.append(words, button("dismiss", "Dismiss", () => say("")));
let about = "";

// `topic`: an empty text ends only what was said about the same.
export function say(text, topic = "") {
  if (!text && topic && topic !== about) return;
  about = text ? topic : "";
  if (words.textContent !== text) words.textContent = text;
  line.hidden = !text;
}

// Says what an error says. Without the token nothing else is worth saying, nor showing.
export function fail(error, topic) {
  if (error instanceof NotSignedIn) signedOut();
  else say(error.message, error instanceof NotConnected ? "connection" : topic);
}

export const isSignedOut = () => !document.getElementById("sign-in").hidden;

function signedOut() {
  const card = document.getElementById("sign-in");
  if (!card.hidden) return;
  say("");
  card.hidden = false;
  document.querySelector("main").hidden = document.querySelector("nav").hidden = true;
  const field = element("input", { type: "text", id: "token", autocomplete: "off", "aria-label": "Link or token" });
  const form = element("form", { onsubmit: (event) => {
    event.preventDefault();
    // The whole link, or what comes after its #.
    signIn(field.value.trim().replace(/^.*token=/, "").replace(/&.*$/, ""));
    location.reload();
  } }, field, element("button", { type: "submit" }, "Open"));
  card.replaceChildren(element("h2", {}, "This page needs the server's token"),
    element("p", {}, "It is missing or wrong. Open the link that ", element("code", {}, "kuramoto explore"), " printed, or paste it here:"), form);
  field.focus();
}
