// Lists of answers: all of them with a search, and those to look at again.

import { $, make, percent } from "./page.js";
import { call } from "./wire.js";

export async function showAnswers(list, count, query, onOpen) {
  const found = await call("answers", query);
  const shown = found.answers.length;
  $(count).textContent = found.n_answers === shown
    ? `${shown} word${shown === 1 ? "" : "s"}`
    : `${shown} of ${found.n_answers} words; search for the others`;
  $(list).replaceChildren(...found.answers.map((row) => make("li", {},
    make("button", { class: "row", onclick: () => onOpen(row) },
      make("span", { class: "context" }, row.before ? `${row.before} ` : "",
        make("strong", {}, row.form), row.behind ? ` ${row.behind}` : ""),
      make("span", { class: "said" }, row.label),
      make("span", { class: "p" }, row.probability === null ? "" : percent(row.probability)),
      row.model !== null && row.model !== row.label
        ? make("span", { class: "other" }, `model: ${row.model}`) : null,
      row.changed ? make("span", { class: "other" }, "changed") : null))));
}
