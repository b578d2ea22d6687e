// One question: a sentence, slots of its words, choices for each slot.

import { $, alarm, draw, make, percent, say } from "./page.js";
import { Refused, call, insist, makeId } from "./wire.js";

const KEYS = "1234567890";
const KINDS = { tag: "tag", head: "head", relation: "relation to its head" };

export class Question {
  constructor(onSaved) {
    this.payload = null;
    this.chosen = new Map();
    this.slot = 0;
    this.version = 0;
    this.busy = false;
    this.typed = Promise.resolve();
    this.viewing = Promise.resolve();
    this.onSaved = onSaved;
    this.watched = 0;
    this.since = null;
    document.addEventListener("visibilitychange", () => this.watch());
    $("filter").addEventListener("input", () => this.showChoices());
    $("filter").addEventListener("keydown", (event) => this.filtered(event));
  }

  // Only the time in which the page could be seen is work: a laptop may sleep.
  watch() {
    if (this.since !== null) this.watched += performance.now() - this.since;
    this.since = document.visibilityState === "visible" ? performance.now() : null;
  }

  seconds() {
    this.watch();
    return this.watched / 1000;
  }

  // Until it is there: what was saved is saved, and a server that was ended may come back.
  async next() {
    this.show(await insist("question", {}, (text) => alarm(text)));
    alarm(null);
  }

  async open(sentence, first = null, last = null) {
    try {
      this.show(await call("opened", { sentence, first, last }));
    } catch (error) {
      alarm(error.message);
    }
  }

  get slots() { return this.payload?.slots ?? []; }
  get current() { return this.slots[this.slot]; }

  value(slot) {
    return this.chosen.get(`${slot.word} ${slot.kind}`) ?? slot.proposed;
  }

  values(all) {
    return this.slots
      .filter((slot) => all || this.chosen.has(`${slot.word} ${slot.kind}`))
      .map((slot) => [slot.word, slot.kind, this.value(slot)]);
  }

  show(payload) {
    this.payload = payload;
    // For tests, which cannot tell otherwise that a question is a new one.
    $("view-question").dataset.shown = String(1 + Number($("view-question").dataset.shown ?? 0));
    this.chosen = new Map();
    this.slot = 0;
    this.watched = 0;
    this.since = document.visibilityState === "visible" ? performance.now() : null;
    $("filter").value = "";
    const done = Boolean(payload.done);
    for (const id of ["accept", "skip", "open"]) $(id).disabled = done;
    document.querySelector(".answer").hidden = done;
    if (done) {
      $("question-title").textContent = "Everything is labelled";
      $("question-about").textContent = "Train a model on the file, or look at the answers again.";
      $("sentence").replaceChildren();
      return;
    }
    $("question-title").textContent =
      `Sentence ${payload.sentence + 1} of ${payload.n_sentences}`;
    $("question-about").textContent = this.about();
    this.render();
    this.focus();
  }

  about() {
    const { why, entropy, seconds } = this.payload;
    if (why === "opened") return "Opened by you.";
    if (why === "undone") return "You took this back: say it again.";
    if (why === "first") return "The model knows nothing yet: say what these common words are.";
    if (why === "disagreement") {
      return Object.entries(this.payload.said)
        .map(([word, said]) => `${this.payload.words[word]}: ` +
          Object.entries(said).map(([who, label]) => `${who} says ${label}`).join(", "))
        .join("; ");
    }
    const bits = entropy / Math.LN2;
    return `These words tell most: ${bits.toFixed(1)} bits, about ${seconds.toFixed(0)} s of work.`;
  }

  render() {
    this.showSentence();
    this.showChoices();
    draw($("drawing"), this.payload.drawing);
  }

  labelOf(word) {
    const slots = this.slots.filter((slot) => slot.word === word);
    if (!slots.length) return this.payload.known[word];
    const texts = slots.map((slot) => {
      const value = this.value(slot);
      return slot.options.find(([each]) => each === value)?.[1] ?? value;
    });
    return texts.length === 2 ? `${texts[1]} of ${texts[0]}` : texts[0];
  }

  showSentence() {
    const { words, first, last, spans } = this.payload;
    const spanOf = new Map();
    const types = [...new Set(spans.map(([type]) => type))].sort();
    for (const [type, from, to] of spans)
      for (let word = from; word <= to; word += 1) spanOf.set(word, { type, from, to });
    const items = words.map((text, word) => {
      const asked = word >= first && word <= last;
      const span = spanOf.get(word);
      const classes = ["word"];
      if (asked) classes.push("asked");
      if (asked && this.current?.word === word) classes.push("current");
      if (span) {
        classes.push("span", `kind-${types.indexOf(span.type) % 6}`);
        if (word === span.from) classes.push("from");
        if (word === span.to) classes.push("to");
      }
      const label = this.payload.spans.length || this.isSpans()
        ? (span ? (word === span.from ? span.type : " ") : asked ? "outside" : this.payload.known[word] === null ? "" : "·")
        : this.labelOf(word);
      const body = [
        make("span", { class: "form" }, text),
        make("span", { class: "label" }, label ?? ""),
      ];
      const number = make("span", { class: "number", "aria-hidden": "true" }, String(word + 1));
      const isTree = this.slots.some((slot) => slot.kind === "head");
      if (asked || isTree) {
        return make("button", {
          class: classes.join(" "),
          "aria-current": asked && this.current?.word === word ? "true" : null,
          "aria-label": `${text}, ${asked ? "asked for, " : ""}${this.labelOf(word) ?? "not known"}`,
          tabindex: asked && this.current?.word === word ? "0" : "-1",
          onclick: () => this.clicked(word, asked),
        }, ...(isTree ? [number] : []), ...body);
      }
      return make("span", { class: classes.join(" ") }, ...body);
    });
    $("sentence").replaceChildren(...items);
  }

  isSpans() {
    return this.slots.some((slot) => slot.options.some(([, text]) => text === "outside"));
  }

  clicked(word, asked) {
    const isHead = this.current?.kind === "head" && this.current.word !== word;
    // In a tree, a word that is clicked is the head of the current one; asked words take their turn.
    if (isHead && !asked) this.choose(String(word + 1));
    else if (asked) this.go(this.slots.findIndex((slot) => slot.word === word));
  }

  // What was typed comes first if it is a choice as it stands, then what begins with it.
  shownOptions(typed = $("filter").value) {
    const wanted = typed.trim().toLowerCase();
    const options = this.current?.options ?? [];
    if (!wanted) return options;
    const rank = ([value, text]) => {
      const name = text.toLowerCase();
      if (name === wanted || value.toLowerCase() === wanted) return 0;
      return name.startsWith(wanted) ? 1 : 2;
    };
    return options
      .filter(([, text]) => text.toLowerCase().includes(wanted))
      .sort((one, other) => rank(one) - rank(other));
  }

  showChoices() {
    const slot = this.current;
    if (!slot) return $("choices").replaceChildren();
    const word = this.payload.words[slot.word];
    $("choices-title").textContent = `${KINDS[slot.kind]} of “${word}”`;
    $("filter").hidden = slot.options.length <= 10;
    const value = this.value(slot);
    $("choices").replaceChildren(...this.shownOptions().map(([each, text, p], index) =>
      make("button", {
        role: "radio",
        class: "choice",
        "aria-checked": String(each === value),
        tabindex: each === value ? "0" : "-1",
        "data-value": each,
        onclick: () => this.choose(each, true),
      },
      index < KEYS.length ? make("kbd", {}, KEYS[index]) : make("span"),
      make("span", { class: "name" }, text),
      make("meter", { min: 0, max: 1, value: p, "aria-hidden": "true" }),
      make("span", { class: "p" }, percent(p)))));
    this.scrollToChoice();
  }

  // Within the list alone: the page stays where it is.
  scrollToChoice() {
    const list = $("choices");
    const choice = list.querySelector('[aria-checked="true"]');
    if (!choice) return;
    const above = choice.offsetTop - list.scrollTop;
    const below = above + choice.offsetHeight - list.clientHeight;
    if (above < 0) list.scrollTop += above;
    else if (below > 0) list.scrollTop += below;
  }

  focus() {
    document.querySelector("#sentence .current")?.focus({ preventScroll: true });
  }

  // Whether the focus is on the words or the choices, which are about to be drawn anew.
  hasFocus() {
    const active = document.activeElement;
    return active === document.body || active.closest("#sentence, #choices") !== null;
  }

  go(index) {
    if (index < 0 || index >= this.slots.length) return;
    this.slot = index;
    this.settle();
  }

  // After a choice: the words and choices anew. Whoever is typing into the filter is left alone.
  settle() {
    const isTyping = document.activeElement === $("filter");
    if (!isTyping) $("filter").value = "";
    this.showSentence();
    this.showChoices();
    if (!isTyping) this.focus();
  }

  pick(number, typed = "") {
    const option = this.shownOptions(typed)[number];
    return option ? this.choose(option[0], true) : null;
  }

  // Keys in quick succession wait for each other: each is about the choices that the one before
  // has led to.
  type(number, typed) {
    this.typed = this.typed.then(() => this.pick(number, typed));
  }

  move(step) {
    const options = this.shownOptions();
    const at = options.findIndex(([value]) => value === this.value(this.current));
    const option = options[Math.min(Math.max(at + step, 0), options.length - 1)];
    if (option) this.choose(option[0]);
  }

  // The next word is shown once its probabilities have moved: nobody reads choices that are about
  // to change places under the finger.
  async choose(value, goOn = false) {
    const { slot: index, current: slot } = this;
    this.chosen.set(`${slot.word} ${slot.kind}`, value);
    if (slot.kind === "head") this.chosen.delete(`${slot.word} relation`);
    this.settle();
    this.viewing = this.refresh(slot);
    if (await this.viewing && goOn && this.slot === index) this.go(index + 1);
  }

  // Probabilities move: what is left, given what was chosen. True if the choice stands.
  async refresh(slot) {
    const { sentence, first, last } = this.payload;
    const version = (this.version += 1);
    try {
      const view = await call("view", { sentence, first, last, values: this.values(false) });
      if (version !== this.version) return false;
      alarm(null);
      Object.assign(this.payload, view);
    } catch (error) {
      if (version !== this.version) return false;
      alarm(error.message);
      // What cannot be together is not kept; if nobody answered, it is kept as it is.
      if (error instanceof Refused) this.chosen.delete(`${slot.word} ${slot.kind}`);
    }
    // Whoever has gone on to type into a field, or elsewhere, is not called back.
    const isHere = this.hasFocus();
    this.render();
    if (isHere) this.focus();
    return this.chosen.has(`${slot.word} ${slot.kind}`);
  }

  filtered(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    if (event.key === "Enter") this.type(0, $("filter").value);
    event.preventDefault();
    event.stopPropagation();
    $("filter").value = "";
    this.showChoices();
    this.focus();
  }

  // Nothing is asked for anew before the server says that the answer is on the disk.
  async send(name, body, done) {
    if (this.busy || !this.payload) return;
    this.busy = true;
    this.version += 1;
    say("Saving …");
    try {
      const result = await insist(name, { id: makeId(), ...body }, alarm);
      alarm(null);
      say(done(result));
      await this.onSaved();
    } catch (error) {
      alarm(error.message);
      if (error instanceof Refused) say("Not saved");
    } finally {
      this.busy = false;
    }
  }

  // What is sent was chosen, or was shown when the key was pressed; if the model has then changed
  // its mind about a word, the person sees it first.
  async accept() {
    if (this.payload?.done || this.busy) return;
    const shown = new Map(this.slots.map((slot) => [`${slot.word} ${slot.kind}`, this.value(slot)]));
    await this.typed;
    await this.viewing;
    const isNew = (slot) => {
      const name = `${slot.word} ${slot.kind}`;
      return !this.chosen.has(name) && shown.get(name) !== this.value(slot);
    };
    if (this.slots.some(isNew)) return say("A word changed: look again");
    const body = { sentence: this.payload.sentence, values: this.values(true), seconds: this.seconds() };
    return this.send("answer", body, (result) => result.words === 0 ? "Nothing new" : "Saved");
  }

  skip() {
    if (this.payload?.done) return;
    const words = [...new Set(this.slots.map((slot) => slot.word))];
    return this.send("skip", { sentence: this.payload.sentence, words }, () => "Skipped");
  }

  undo() {
    return this.send("undo", {}, (result) => result.undone === null ? "Nothing to undo" : "Undone");
  }
}
