// Small pieces: elements made of text (never of markup), drawings, percentages.

export const $ = (id) => document.getElementById(id);

export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// The server's drawings are SVG in which all words are escaped; it is parsed as XML, which runs
// nothing, and the policy of the page would let nothing run.
export function draw(place, text) {
  place.replaceChildren();
  if (!text) return;
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return;
  const svg = document.importNode(parsed, true);
  // As wide as there is room, and never wider than it was made.
  svg.setAttribute("data-width", svg.getAttribute("width"));
  place.append(svg);
  const title = svg.querySelector("title");
  if (place.classList.contains("small") && title) {
    place.prepend(make("figcaption", {}, title.textContent));
  }
}

export function percent(p) {
  if (p === null || p === undefined) return "–";
  if (p > 0 && p < 0.005) return "< 1 %";
  if (p < 1 && p > 0.995) return "> 99 %";
  return `${Math.round(100 * p)} %`;
}

export function say(text) {
  $("status").textContent = text;
}

export function alarm(text) {
  $("alarm").textContent = text ?? "";
  $("alarm").hidden = !text;
}
