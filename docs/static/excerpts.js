// Under each search result: the passage that has most of the words looked for, and its section.
"use strict";
(() => {
  const ROOM = 260; // characters of an excerpt
  const BEFORE = 80; // of them before the first word found
  const WORD = /[\p{L}\p{N}_]+/gu;

  const query = new URLSearchParams(location.search).get("q") || "";
  const results = document.getElementById("search-results");
  if (!results) return;

  // Words are compared as Sphinx does it, by their stems: "gaps" finds "gap".
  const stemmer = new Stemmer();
  const ignored = new Set(stopwords);
  const words = query.toLowerCase().match(WORD) || [];
  const stems = [...new Set(words.filter(w => !ignored.has(w)).map(w => stemmer.stemWord(w)))];

  function hits(text) {
    const found = [];
    for (const match of text.matchAll(WORD)) {
      const word = match[0].toLowerCase();
      const stem = stems.find(each => word.includes(each) || stemmer.stemWord(word) === each);
      if (stem) found.push({ stem, from: match.index, to: match.index + match[0].length });
    }
    return found;
  }

  // A page is a list of [anchor, title, prose, code]. Code is shown if it has more of the words.
  function best(sections) {
    let chosen = null;
    for (const kind of [2, 3])
      for (const section of sections)
        for (const text of section[kind]) {
          const found = hits(text);
          const count = new Set(found.map(hit => hit.stem)).size;
          if (!chosen || count > chosen.count) chosen = { section, text, found, count };
        }
    return chosen;
  }

  function excerpt({ text, found }) {
    const first = found.length ? found[0].from : 0;
    let from = first > ROOM / 2 ? text.indexOf(" ", first - BEFORE) + 1 : 0;
    let to = text.length <= from + ROOM ? text.length : text.lastIndexOf(" ", from + ROOM);
    if (from > first) from = first;
    if (to <= from) to = from + ROOM;
    const line = document.createElement("p");
    line.className = "context";
    line.append(from ? "… " : "");
    let at = from;
    for (const hit of found.filter(each => each.from >= from && each.to <= to)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(hit.from, hit.to);
      line.append(text.slice(at, hit.from), mark);
      at = hit.to;
    }
    line.append(text.slice(at, to), to < text.length ? " …" : "");
    return line;
  }

  function describe(result) {
    const link = result.querySelector("a");
    const [page, anchor] = (link ? link.getAttribute("href") : "").split("#");
    const name = page.replace(/\.html$/, "");
    const all = (Object.hasOwn(SITE_TEXT, name) && SITE_TEXT[name]) || [];
    const chosen = best(anchor ? all.filter(section => section[0] === anchor) : all);
    if (!chosen) return;
    if (!anchor && chosen.section !== all[0]) {
      const place = document.createElement("a");
      place.href = `${page}#${chosen.section[0]}`;
      place.textContent = chosen.section[1];
      const line = document.createElement("p");
      line.className = "place";
      line.append(place);
      result.append(line);
    }
    result.append(excerpt(chosen));
  }

  new MutationObserver(changes => {
    for (const change of changes)
      for (const node of change.addedNodes) if (node.nodeName === "LI") describe(node);
  }).observe(results, { childList: true, subtree: true });
})();
