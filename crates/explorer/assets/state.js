// What all panels read, and the words for it.

export const untouched = { tau: 1, flat: 0, held: "", turn: 0, layer: 0, token: 0 };
// Lowest and highest setting.
export const ranges = { tau: [0, 2], flat: [0, 1], turn: [-3.14, 3.14] };

export const state = {
  // True once the back end has said what runs there are.
  listed: false,
  run: "",
  // The chosen checkpoint's step; the newest if it is not there.
  step: undefined,
  text: "",
  // How the text is read: see bytes.js.
  reading: { characters: [], sent: "", bytes: new Uint8Array() },
  // The chosen byte, and the one to choose once the model has read that far.
  token: 0,
  aim: Infinity,
  // Layers of the run's model, once they are known.
  layers: Infinity,
  // May be one past the layers: the last state.
  layer: 0,
  intervene: { ...untouched },
  // What the back end answered: arrays by name, with sizes; null without an answer.
  found: null,
};

// Couplings belong to layers; after the last there are those of the last.
export const coupled = (layers, at) => Math.min(at, layers - 1);

export const layerName = (at, layers) => (at < layers ? `entering layer ${at}` : "after the last layer");

// "0-9, 40" as numbers.
function numbers(text) {
  return text.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map((number) => parseInt(number, 10));
    return Number.isNaN(first) || Number.isNaN(last) ? [] : Array.from({ length: Math.min(Math.max(last - first + 1, 0), 4096) }, (_, i) => first + i);
  });
}

// The settings of the panel Intervene as the back end knows them.
export function interventions({ intervene: { tau, flat, held, turn, layer, token }, layers }) {
  const made = [];
  const phase = `layer.${Math.min(layer, layers)}.phase`;
  const oscillators = numbers(held).slice(0, 4096);
  if (flat > 0) made.push({ at: `layer.${coupled(layers, layer)}.attention`, action: { flatten: flat } });
  if (oscillators.length) made.push({ at: phase, action: { clamp: [0] }, oscillators });
  if (turn !== 0) made.push({ at: phase, action: { rotate: turn }, tokens: [token] });
  return { interventions: made, changes: tau === 1 ? [] : [{ "scale-tau": tau }] };
}

export const asQuestion = () => ({
  run: state.run,
  text: state.reading.sent,
  checkpoint: state.step === undefined ? "best" : `step-${state.step}`,
  ...interventions(state),
});
