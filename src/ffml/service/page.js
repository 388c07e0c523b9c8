// Brings the parts of the page, and brings them again when the run has changed.
(() => {
  const { parts, changes, closed } = document.body.dataset;
  const [view, door, problem, state, said] = ["view", "door", "problem", "state", "said"].map(
    (id) => document.getElementById(id),
  );
  const drawn = new Map(); // id of a part -> its HTML as it came
  let shown = null, stream = null, later = 0, turn = 0;

  const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

  // The token goes in a header, never in an address: addresses are kept in logs and histories.
  async function ask(path, options = {}) {
    const token = sessionStorage.getItem("ffml-token");
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const reply = await fetch(path, { ...options, headers, cache: "no-store" });
    if (reply.ok) return reply;
    const body = await reply.json().catch(() => ({}));
    const error = new Error(body.error || `The service answered ${reply.status}.`);
    error.status = reply.status;
    throw error;
  }

  const isClosed = (error) => error.status === 401 || error.status === 403;

  function refuse(error) {
    problem.textContent = error.message;
    problem.hidden = false;
    if (!isClosed(error)) return;
    turn += 1;
    view.replaceChildren();
    drawn.clear();
    knock();
  }

  function knock() {
    state.textContent = "Closed";
    door.hidden = false;
    door.elements.token.focus();
  }

  async function show(picked = false) {
    const reply = await ask(parts + location.search);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    shown = reply.headers.get("X-FFML-State");
    problem.hidden = true;
    swap([...page.body.children], picked);
  }

  // Only what has changed is put in its place, and nothing under the reader's eyes.
  function swap(fresh, picked = false) {
    clearTimeout(later);
    if (fresh.length !== view.children.length) { drawn.clear(); view.replaceChildren(); }
    let kept = false;
    for (const part of fresh) {
      const text = part.outerHTML, old = document.getElementById(part.id);
      if (drawn.get(part.id) === text) continue;
      if (old && !picked && isRead(old)) { kept = true; continue; }
      drawn.set(part.id, text);
      if (old) exchange(old, part);
      else view.append(part);
    }
    if (kept) later = setTimeout(() => swap(fresh), 2000);
    const words = view.querySelector("[data-said]")?.dataset.said;
    if (words && said.textContent !== words) {
      said.textContent = words;
      document.title = `${words} – ffml`;
    }
  }

  const isRead = (part) => part.querySelector(".hit.on") || part.contains(document.activeElement?.closest("select"));
  const opened = (part) => [...part.querySelectorAll("details")];
  const focusable = (part) => [...part.querySelectorAll("a[href], button, select, summary, [tabindex]")];

  function exchange(old, part) {
    const at = focusable(old).indexOf(document.activeElement);
    opened(old).forEach((one, i) => { if (one.open && opened(part)[i]) opened(part)[i].open = true; });
    old.replaceWith(part);
    if (at >= 0) focusable(part)[at]?.focus({ preventScroll: true });
  }

  async function watch() {
    const mine = ++turn;
    for (let wait = 1; mine === turn; wait = Math.min(2 * wait, 30)) {
      try {
        stream = new AbortController();
        const reply = await ask(changes, { signal: stream.signal });
        const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let text = ""; ;) {
          const { value, done } = await reader.read();
          if (done) break;
          const events = (text + value).split("\n\n");
          text = events.pop();
          const last = events.filter((event) => event.startsWith("data: ")).pop();
          if (last && JSON.parse(last.slice(6)) !== shown) await show();
          state.textContent = "Live";
          wait = 0.5;
        }
      } catch (error) {
        if (mine === turn && isClosed(error)) return refuse(error);
        if (error.status === 503) await show().catch(() => {}); // no stream is free: look now and then
      }
      if (mine !== turn) return;
      state.textContent = "Not connected; trying again";
      await pause(wait);
    }
  }

  async function start() {
    door.hidden = problem.hidden = true;
    if (closed !== undefined && !sessionStorage.getItem("ffml-token")) return knock();
    try {
      await show();
    } catch (error) {
      if (error.status === 400 && location.search) { history.replaceState(null, "", location.pathname); return start(); }
      refuse(error);
      if (isClosed(error)) return;
    }
    watch();
  }

  // Up to the newest task means up to whichever is the newest later.
  function period({ start, end }) {
    const asked = new URLSearchParams();
    if (start.selectedIndex > 0) asked.set("start", start.value);
    if (end.selectedIndex < end.length - 1) asked.set("end", end.value);
    return asked.size ? `?${asked}` : "";
  }

  function pick(search) {
    history.replaceState(null, "", location.pathname + search);
    show(true).catch(refuse);
  }

  door.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("ffml-token", door.elements.token.value.trim());
    door.reset();
    start();
  });
  view.addEventListener("change", (event) => {
    if (event.target.form?.id === "period") pick(period(event.target.form.elements));
  });
  view.addEventListener("reset", (event) => { event.preventDefault(); pick(""); });
  document.addEventListener("visibilitychange", () => {
    turn += 1;
    stream?.abort();
    if (!document.hidden && door.hidden) start();
  });
  start();
})();
