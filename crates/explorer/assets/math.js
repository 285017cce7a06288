// Formulas: letters in italics, subscripts, as the field writes them.

const scripted = /([\p{L}|]+?)(?:\^(\p{L}))?_(\{[^}]*\}|[\p{L}\p{N}]+)|(\p{L})\^(\p{L})/gu;

// "θ_tj" or "g^q_tj" as nodes.
export function formula(text) {
  const node = document.createElement("span");
  node.className = "math";
  const italic = (letters, into) => {
    // Names of functions and signs stay upright.
    for (const part of letters.split(/(\b(?:sin|cos|log|tanh|exp|rms)\b|[^\p{L}]+)/u).filter(Boolean)) {
      const upright = /^(sin|cos|log|tanh|exp|rms)$/.test(part) || !/\p{L}/u.test(part);
      into.append(upright ? part : Object.assign(document.createElement("var"), { textContent: part }));
    }
  };
  let at = 0;
  const script = (kind, letters) => {
    if (!letters) return;
    const raised = document.createElement(kind);
    italic(letters.replace(/[{}]/g, ""), raised);
    node.append(raised);
  };
  for (const match of text.matchAll(scripted)) {
    const [whole, base, above, below, single, alone] = match;
    italic(text.slice(at, match.index), node);
    italic(base ?? single, node);
    script("sup", above ?? alone);
    script("sub", below);
    at = match.index + whole.length;
  }
  italic(text.slice(at), node);
  return node;
}

// A sentence with formulas between dollar signs, as nodes.
export const prose = (text) => text.split("$").map((part, i) => (i % 2 ? formula(part) : part)).filter(Boolean);

// The same inside a drawing, where there is no <sub>: nodes for a <text>.
export function drawn(text) {
  const span = (content, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", "tspan");
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = content;
    return node;
  };
  return text.split("$").flatMap((part, i) => {
    if (i % 2 === 0) return part ? [part] : [];
    const [, base, sub] = part.match(/^([^_]*)(?:_(.*))?$/u);
    const nodes = [span(base, { "font-style": "italic" })];
    // The baseline comes back with what follows.
    if (sub) nodes.push(span(sub, { "font-style": "italic", dy: 3, "font-size": 9 }), span("\u200b", { dy: -3 }));
    return nodes;
  });
}

// The same as plain text, for labels that are read out.
export const plain = (text) => text.replaceAll("$", "");
