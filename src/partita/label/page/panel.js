// The panel: what was learnt so far.

import { $, alarm, draw, make, percent } from "./page.js";

const ROWS = [
  ["words asked for", (p) => `${p.asked} of ${p.n_words}`],
  ["minutes", (p) => p.minutes.toFixed(1)],
  ["right on held-out sentences", (p) => p.held_out === null ? null : percent(p.held_out)],
  ["your answers, as foreseen by the model", (p) => p.left_out === null ? null : percent(p.left_out)],
  ["guesses that you kept", (p) => p.guessed === null ? null : percent(p.guessed)],
  ["words right, expected", (p) => percent(p.expected)],
  ["uncertainty left", (p) => `${p.bits_per_word.toFixed(2)} bits a word`],
  ["from front to back (estimated)", (p) => p.asked ? `${Math.round(p.front_to_back)} words` : null],
  ["calibration error", (p) => p.calibration_error === undefined ? null : percent(p.calibration_error)],
  ["disagreements left", (p) => p.disputes ? `${p.disputed} of ${p.disputes}` : null],
  ["model", (p) => p.learning ? "learning …" : `round ${p.round}, ${p.learning_seconds.toFixed(1)} s`],
];

let shown = "";

export function showPanel(progress) {
  const rows = ROWS.map(([name, text]) => [name, text(progress)]).filter(([, text]) => text !== null);
  $("figures").replaceChildren(...rows.flatMap(([name, text]) =>
    [make("dt", {}, name), make("dd", {}, text)]));
  const drawings = `${progress.curve ?? ""}${progress.calibration ?? ""}`;
  if (drawings !== shown) {
    draw($("curve"), progress.curve);
    draw($("calibration"), progress.calibration);
    shown = drawings;
  }
  $("where").textContent = `Every answer is in ${progress.output}.journal before the page says so, and in ${progress.output} after each round.`;
  if (progress.trouble) alarm(`The model could not learn: ${progress.trouble}`);
}
