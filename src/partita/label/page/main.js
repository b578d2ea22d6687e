// Views, keys, and the clock that asks what was learnt.

import { showAnswers } from "./answers.js";
import { $, alarm } from "./page.js";
import { showPanel } from "./panel.js";
import { Question } from "./question.js";
import { call } from "./wire.js";

const VIEWS = ["question", "answers", "review"];
const EVERY = 1500;

const question = new Question(async () => { await question.next(); refresh(); });
let view = "question";

function openRow(row) {
  show("question");
  return question.open(row.sentence, row.word, row.word);
}

function show(name) {
  view = name;
  for (const each of VIEWS) {
    $(`view-${each}`).hidden = each !== name;
    $(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    $(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  if (name === "answers") { list(); $("search").focus(); }
  if (name === "review") {
    showAnswers("review", "review-count", { doubtful: true }, openRow)
      .then(() => $("review").querySelector("button")?.focus());
  }
  if (name === "question") question.focus();
}

function list() {
  return showAnswers("answers", "answers-count", { search: $("search").value }, openRow);
}

async function refresh() {
  if (document.visibilityState !== "visible") return;
  try {
    showPanel(await call("progress"));
    if ($("alarm").dataset.gone) { delete $("alarm").dataset.gone; alarm(null); }
  } catch {
    $("alarm").dataset.gone = "true";
    alarm("The server does not answer. If it was ended, start it again and open the address that it prints: all that was saved is there.");
  }
}

const KEYS = {
  ArrowLeft: () => question.go(question.slot - 1),
  ArrowRight: () => question.go(question.slot + 1),
  ArrowUp: () => question.move(-1),
  ArrowDown: () => question.move(1),
  Enter: () => question.accept(),
  u: () => question.undo(),
  s: () => question.skip(),
  o: () => question.payload && !question.payload.done && question.open(question.payload.sentence),
  f: () => $("filter").hidden || $("filter").focus(),
};
const ANYWHERE = {
  "?": () => $("help").showModal(),
  "/": () => show("answers"),
  r: () => show("review"),
  Escape: () => back(),
};

function back() {
  show("question");
  if (question.payload?.why === "opened") question.next();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
  const inText = event.target instanceof HTMLInputElement;
  if (inText && event.key !== "Escape") return;
  // A button of the page that has the focus is pressed by Enter, as everywhere.
  const isButton = event.target.closest?.("header button, .actions button, .rows button");
  if (event.key === "Enter" && isButton) return;
  if (isButton?.getAttribute("role") === "tab" && event.key.startsWith("Arrow")) return;
  let action = ANYWHERE[event.key];
  if (!action && view === "question") {
    const digit = "1234567890".indexOf(event.key);
    action = event.key.length === 1 && digit >= 0 ? () => question.type(digit) : KEYS[event.key];
    if (question.payload?.done && event.key !== "u") action = undefined;
    // Until the next question is there, a key would answer what nobody has seen.
    if (action && question.busy) action = () => {};
  }
  if (!action) return;
  event.preventDefault();
  action();
});

for (const name of VIEWS) $(`tab-${name}`).addEventListener("click", () => name === "question" ? back() : show(name));
$("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  event.stopPropagation();
  const name = VIEWS[(VIEWS.indexOf(view) + step + VIEWS.length) % VIEWS.length];
  show(name);
  $(`tab-${name}`).focus();
});
for (const id of ["accept", "skip", "undo"]) $(id).addEventListener("click", () => question[id]());
$("open").addEventListener("click", KEYS.o);
$("search").addEventListener("input", list);
$("help-button").addEventListener("click", () => $("help").showModal());
$("help-close").addEventListener("click", () => $("help").close());
document.addEventListener("visibilitychange", refresh);

await question.next();
await refresh();
document.body.dataset.ready = "true";
setInterval(refresh, EVERY);
