// Requests to our server, and nobody else's. An answer has an id of its own, so that it can be
// sent again and again until the server says that it is on the disk, and is recorded once.

const PAUSE = 1500;
const TROUBLE = "The server does not answer; trying again. If it was ended, start it again and open the address that it prints: all that was saved is there.";

export const tab = (() => {
  const kept = sessionStorage.getItem("tab") ?? makeId();
  sessionStorage.setItem("tab", kept);
  return kept;
})();

export function makeId() {
  const numbers = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(numbers, (number) => number.toString(16).padStart(2, "0")).join("");
}

export class Refused extends Error {}

export async function call(name, body = {}) {
  const response = await fetch(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ tab, ...body }),
    cache: "no-store",
  });
  if (response.ok) return response.json();
  const text = await response.text();
  let problem = text;
  try { problem = JSON.parse(text).problem ?? text; } catch { /* it was no JSON */ }
  throw new Refused(problem);
}

// Until it is saved, however often the server has to be asked; what the server refuses is thrown.
export async function insist(name, body, onTrouble) {
  const whole = { id: makeId(), ...body };
  for (;;) {
    try {
      return await call(name, whole);
    } catch (error) {
      if (error instanceof Refused) throw error;
      onTrouble(TROUBLE);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}
