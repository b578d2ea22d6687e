// One question: a sentence, slots of its words, choices for each slot.

import { $, alarm, draw, make, percent, say } from "./page.js";
import { call, insist, makeId } from "./wire.js";

const KEYS = "1234567890";
const KINDS = { tag: "tag", head: "head", relation: "relation to its head" };

export class Question {
  constructor(onSaved) {
    this.payload = null;
    this.chosen = new Map();
    this.slot = 0;
    this.version = 0;
    this.busy = false;
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

  async next() {
    this.show(await call("question"));
  }

  async open(sentence, first = null, last = null) {
    this.show(await call("opened", { sentence, first, last }));
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

  shownOptions() {
    const wanted = $("filter").value.toLowerCase();
    const options = this.current?.options ?? [];
    return wanted ? options.filter(([, text]) => text.toLowerCase().includes(wanted)) : options;
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
      make("kbd", {}, index < KEYS.length ? KEYS[index] : " "),
      make("span", { class: "name" }, text),
      make("meter", { min: 0, max: 1, value: p, "aria-hidden": "true" }),
      make("span", { class: "p" }, percent(p)))));
    $("choices").querySelector('[aria-checked="true"]')?.scrollIntoView({ block: "nearest" });
  }

  focus() {
    document.querySelector("#sentence .current")?.focus({ preventScroll: true });
  }

  go(index) {
    if (index < 0 || index >= this.slots.length) return;
    this.slot = index;
    $("filter").value = "";
    this.showSentence();
    this.showChoices();
    this.focus();
  }

  pick(number) {
    const option = this.shownOptions()[number];
    if (option) this.choose(option[0], true);
  }

  move(step) {
    const options = this.shownOptions();
    const at = options.findIndex(([value]) => value === this.value(this.current));
    const option = options[Math.min(Math.max(at + step, 0), options.length - 1)];
    if (option) this.choose(option[0]);
  }

  async choose(value, goOn = false) {
    const slot = this.current;
    this.chosen.set(`${slot.word} ${slot.kind}`, value);
    if (slot.kind === "head") this.chosen.delete(`${slot.word} relation`);
    const before = slot;
    if (goOn && this.slot + 1 < this.slots.length) this.slot += 1;
    $("filter").value = "";
    this.showSentence();
    this.showChoices();
    this.focus();
    await this.refresh(before);
  }

  // Probabilities move: what is left, given what was chosen.
  async refresh(slot) {
    const { sentence, first, last } = this.payload;
    const version = (this.version += 1);
    try {
      const view = await call("view", { sentence, first, last, values: this.values(false) });
      if (version !== this.version) return;
      alarm(null);
      Object.assign(this.payload, view);
      this.render();
      this.focus();
    } catch (error) {
      if (version !== this.version) return;
      alarm(error.message);
      // What cannot be together is not kept.
      this.chosen.delete(`${slot.word} ${slot.kind}`);
      this.slot = this.slots.indexOf(slot);
      this.render();
    }
  }

  filtered(event) {
    if (event.key === "Enter") this.pick(0);
    else if (event.key !== "Escape") return;
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
    say("Saving …");
    try {
      const result = await insist(name, { id: makeId(), ...body }, alarm);
      alarm(null);
      say(done(result));
      this.version += 1;
      if (name === "undo" && result.undone !== null) await this.next();
      else await this.onSaved();
    } catch (error) {
      alarm(error.message);
      say("Not saved");
    } finally {
      this.busy = false;
    }
  }

  accept() {
    if (this.payload?.done) return;
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
