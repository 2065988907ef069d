// What the keyboard does.

const KEYS = [
  ["/", "search"],
  ["\u2190 \u2192", "the pass before, the next pass"],
  ["j k", "the next equation, the one before"],
  ["Enter", "unfold or fold what is chosen"],
  ["e c", "unfold all, fold all"],
  ["+ - 0", "zoom in, out, to fit"],
  ["t", "light or dark"],
  ["Esc", "choose nothing"],
  ["?", "this list"],
];

function listenToKeys(app) {
  const actions = {
    "/": () => app.search.input.focus(),
    ArrowLeft: () => app.showState(app.at - 1),
    ArrowRight: () => app.showState(app.at + 1),
    j: () => app.step(1),
    k: () => app.step(-1),
    Enter: () => app.toggleChosen(),
    e: () => app.graph.unfoldAll(),
    c: () => app.graph.foldAll(),
    "+": () => app.graph.zoom(1.2),
    "=": () => app.graph.zoom(1.2),
    "-": () => app.graph.zoom(1 / 1.2),
    0: () => app.graph.fit(),
    t: () => app.turnTheme(),
    Escape: () => (app.help.open ? app.help.close() : app.choose({})),
    "?": () => (app.help.open ? app.help.close() : app.help.showModal()),
  };
  document.addEventListener("keydown", (event) => {
    const typing = ["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName) && event.target.type !== "range";
    const pressing = event.target.tagName === "BUTTON" || event.target.tagName === "SUMMARY";
    if (typing || event.ctrlKey || event.metaKey || event.altKey || (pressing && event.key === "Enter")) return;
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function helpDialog() {
  const made = element("dialog", "help");
  const rows = KEYS.flatMap(([key, what]) => [element("dt", "", key), element("dd", "", what)]);
  made.append(element("h2", "", "Keys"), element("dl", "facts", null, ...rows));
  made.append(element("p", "quiet", "A click on a box chooses it, a double click folds a loop or branch; ctrl and the wheel zoom."));
  made.addEventListener("click", (event) => event.target === made && made.close());
  return made;
}
