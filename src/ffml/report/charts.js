// Shows the numbers of a place: by the pointer, or by the arrow keys on a chart that has the focus.
for (const plot of document.querySelectorAll("svg.plot")) {
  const places = [...plot.querySelectorAll(".hit")], figure = plot.closest(".chart");
  let at = -1, tip = null;
  const show = (place) => {
    if (places[at]) places[at].classList.remove("on");
    at = place;
    if (!places[at]) { tip?.remove(); tip = null; return; }
    if (!tip) {
      tip = document.createElement("div");
      tip.className = "tip";
      tip.setAttribute("role", "status");
      figure.append(tip);
    }
    places[at].classList.add("on");
    tip.textContent = places[at].dataset.tip;
    const box = places[at].getBoundingClientRect(), around = figure.getBoundingClientRect();
    const left = box.left + box.width / 2 - around.left - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(4, Math.min(left, around.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(0, box.top - around.top - tip.offsetHeight - 4)}px`;
  };
  places.forEach((place, i) => place.addEventListener("pointerenter", () => show(i)));
  plot.addEventListener("pointerleave", () => show(-1));
  plot.addEventListener("blur", () => show(-1));
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") show(-1);
    if (!step || !places.length) return;
    event.preventDefault();
    show(Math.max(0, Math.min(at + step, places.length - 1)));
  });
}
