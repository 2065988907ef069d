// The slider through the passes, and what each of them changed.

class PassBar {
  constructor(app) {
    this.app = app;
    this.slider = element("input");
    Object.assign(this.slider, { type: "range", min: 0, step: 1 });
    this.slider.setAttribute("aria-label", "Pass");
    this.slider.addEventListener("input", () => app.showState(Number(this.slider.value)));
    this.stops = element("div", "stops");
    this.told = element("div", "pass-told");
    this.zooms = element("div", "zooms");
    this.bar = element("div", "pass-bar");
    this.bar.append(element("div", "track", null, this.slider, this.stops), element("div", "pass-foot", null, this.told, this.zooms));
  }

  load(program) {
    this.states = program.states;
    this.slider.max = String(this.states.length - 1);
    this.bar.firstChild.hidden = this.states.length < 2;
    this.stops.replaceChildren(...this.states.map((state, n) => this.stop(state, n)));
    this.bar.style.setProperty("--count", String(this.states.length));
  }

  stop(state, n) {
    const made = button(`stop${state.changed ? "" : " idle"}`, null, passTitle(state), () => this.app.showState(n));
    made.append(element("span", "stop-name", state.pass));
    made.append(element("span", "stop-count", state.changed ? String(state.count) : "\u2013"));
    return made;
  }

  show(n) {
    this.slider.value = String(n);
    [...this.stops.children].forEach((stop, k) => stop.setAttribute("aria-current", String(k === n)));
    const state = this.states[n];
    this.told.replaceChildren(element("b", "", state.pass), element("span", "", plural(state.count, "equation")));
    for (const [name, sign] of [["added", "+"], ["altered", "~"], ["removed", "\u2212"]]) {
      const count = (state[name] || []).length;
      if (count) this.told.append(element("span", `count-${name}`, `${sign}${count} ${name === "altered" ? "changed" : name}`));
    }
    if (!state.changed) this.told.append(element("span", "quiet", "changed nothing"));
    if (state.func === undefined) this.told.append(element("span", "quiet", "left out for its size; the state before is shown"));
  }
}

function passTitle(state) {
  const parts = [`${state.pass}: ${plural(state.count, "equation")}`];
  if (!state.changed) parts.push("changed nothing");
  if (state.added) parts.push(`${state.added.length} added, ${state.altered.length} changed, ${state.removed.length} removed`);
  return parts.join("\n");
}

// The list of what a pass changed, for the drawer.
function changeList(app, state) {
  const made = element("div", "changes");
  if (!state.changed || !state.added) {
    made.append(element("p", "quiet", state.func === undefined ? "This state was left out for its size." : "This state changed nothing."));
    return made;
  }
  for (const [name, title] of [["removed", "Removed"], ["added", "Added"], ["altered", "Read other values"]]) {
    const ids = state[name];
    if (!ids.length) continue;
    made.append(element("h3", `count-${name}`, `${title} (${ids.length})`));
    ids.slice(0, LISTED).forEach((id) => made.append(name === "removed" ? goneRow(app, id) : app.equationRow(id)));
    if (ids.length > LISTED) made.append(element("p", "quiet", `and ${ids.length - LISTED} more`));
  }
  return made;
}

function goneRow(app, id) {
  const eqn = EQUATIONS[id];
  const made = button("row gone", null, "", () => eqn.place && app.choose({ line: eqn.lineKey }));
  made.append(element("span", "row-op", eqn.op), element("span", "row-type", typesText(eqn)), element("span", "row-place", shortPlace(eqn.place)));
  return made;
}
