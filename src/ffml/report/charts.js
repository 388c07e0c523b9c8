// Shows the numbers of a place: by the pointer, or by the arrow keys on a chart that has the focus.
// It listens on the document, so that charts which come later need nothing more.
(() => {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const places = (plot) => [...plot.querySelectorAll(".hit")];
  const hide = (kept) => {
    for (const tip of document.querySelectorAll(".chart > .tip")) if (tip !== kept) tip.remove();
    for (const place of document.querySelectorAll(".hit.on")) place.classList.remove("on");
  };
  const show = (place) => {
    const figure = place.closest(".chart");
    let tip = figure.querySelector(":scope > .tip");
    hide(tip);
    if (!tip) {
      tip = document.createElement("div");
      tip.className = "tip";
      tip.setAttribute("role", "status");
      figure.append(tip);
    }
    tip.textContent = place.dataset.tip;
    place.classList.add("on");
    const box = place.getBoundingClientRect(), around = figure.getBoundingClientRect();
    const left = box.left + box.width / 2 - around.left - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(4, Math.min(left, around.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(0, box.top - around.top - tip.offsetHeight - 4)}px`;
  };
  document.addEventListener("pointerover", (event) => {
    if (event.target.matches(".plot .hit")) show(event.target);
    else if (!event.target.closest(".plot")) hide();
  });
  document.documentElement.addEventListener("pointerleave", () => hide());
  document.addEventListener("focusout", (event) => { if (event.target.matches(".plot")) hide(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const step = steps[event.key], all = step && event.target.matches(".plot") ? places(event.target) : [];
    if (!all.length) return;
    event.preventDefault();
    const at = all.findIndex((place) => place.classList.contains("on"));
    show(all[Math.max(0, Math.min(at + step, all.length - 1))]);
  });
})();
