// The readout: which bytes the final phases agree with most.

import * as next from "../next.js";

export const { parts, draw } = next;

export const start = (given, figure) => figure.prepend(next.start(given));
