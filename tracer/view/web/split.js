// The three panes, and what is between them, which can be moved.

const NARROWEST = 180; // pixels of a pane

function splitPanes(left, middle, right) {
  const panes = element("main", "panes", null, left, middle, right);
  left.append(splitter(panes, "--left", (x) => x - panes.getBoundingClientRect().left));
  right.append(splitter(panes, "--right", (x) => panes.getBoundingClientRect().right - x));
  return panes;
}

function splitter(panes, name, widthAt) {
  const made = element("div", "splitter");
  made.addEventListener("pointerdown", (event) => {
    made.setPointerCapture(event.pointerId);
    made.classList.add("moving");
    event.preventDefault();
  });
  made.addEventListener("pointermove", (event) => {
    if (!made.classList.contains("moving")) return;
    const most = panes.clientWidth - 2 * NARROWEST;
    panes.style.setProperty(name, `${Math.min(most, Math.max(NARROWEST, widthAt(event.clientX)))}px`);
  });
  made.addEventListener("pointerup", () => made.classList.remove("moving"));
  made.addEventListener("dblclick", () => panes.style.removeProperty(name));
  return made;
}
