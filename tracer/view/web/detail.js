// What is told of the equation, the line or the parameter that is chosen.

const LISTED = 60; // rows of a list

function equationDetail(app, id) {
  const eqn = EQUATIONS[id];
  const state = app.state;
  const home = state.homes.get(id);
  const made = element("div", "detail");
  if (!home) return made;
  made.append(element("pre", "equation-text", equationText(home.func, eqn)));
  made.append(facts([
    ["line", `${placeText(eqn.place)}${eqn.mark ? `, ${eqn.mark} of it` : ""}`],
    ["in", eqn.place && eqn.place[5] >= 0 ? TEXTS[eqn.place[5]] : null],
    ["runs", home.times === 1 && home.sure ? null : `${home.sure ? "" : "at least "}${plural(home.times, "time")}`],
    ["work", eqn.regions.length ? null : costText(eqn.flops, "flop", home, eqn)],
    ["reads", eqn.regions.length ? null : costText(eqn.read, "B", home, eqn)],
    ["writes", eqn.regions.length ? null : costText(eqn.written, "B", home, eqn)],
    ["kept", keptText(app, eqn)],
  ]));
  const text = lineText(eqn.place);
  if (text) made.append(element("pre", "source-text", text));
  const { operand, reader, adjoint } = app.relatives();
  list(app, made, "Reads", operand, home.func, eqn);
  list(app, made, "Read by", reader);
  list(app, made, eqn.mark === "" ? "Its adjoint" : "Derived from", adjoint);
  return made;
}

function facts(pairs) {
  const made = element("dl", "facts");
  for (const [name, value] of pairs) if (value) made.append(element("dt", "", name), element("dd", "", value));
  return made;
}

function costText(amount, unit, home, eqn) {
  if (!amount) return null;
  const once = compact(amount, unit);
  const all = home.times > 1 ? `, ${compact(amount * home.times, unit)} in all` : "";
  return `${eqn.known ? "" : "at least "}${once}${all}`;
}

function keptText(app, eqn) {
  const sizes = app.program.kept.filter(([value]) => eqn.results.includes(value)).map(([, , size]) => size);
  return sizes.length ? `${compact(sizes.reduce((a, b) => a + b, 0), "B")} for the way back` : null;
}

function lineText(place) {
  if (!place) return null;
  const line = DATA.files[place[0]].lines.find(([number]) => number === place[1]);
  return line ? line[1].trim() : null;
}

function list(app, into, title, ids, func, eqn) {
  const rows = ids.slice(0, LISTED).map((id) => app.equationRow(id));
  if (func) {
    for (const value of new Set(eqn.operands.filter((v) => v >= 0 && func.maker.get(v) < 0))) {
      const row = element("div", "row");
      row.append(element("span", "row-op", operandText(func, value)), element("span", "row-type", typeOf(value)), element("span", "row-place", "parameter"));
      rows.push(row);
    }
  }
  if (!rows.length) return;
  into.append(element("h3", "", title), ...rows);
  if (ids.length > LISTED) into.append(element("p", "quiet", `and ${ids.length - LISTED} more`));
}

function lineDetail(app, key) {
  const made = element("div", "detail");
  const ids = app.state.byLine.get(key) || [];
  const [file, number] = key.split(":").map(Number);
  const place = [file, number];
  const text = lineText(place);
  made.append(element("h3", "first-heading", `${DATA.files[file].name}, line ${number}`));
  if (text) made.append(element("pre", "source-text", text));
  const total = app.source.totals.get(key);
  if (!total) {
    made.append(element("p", "quiet", "No equation of this state is of this line."));
    return made;
  }
  const least = total.sure ? "" : "at least ";
  made.append(facts([
    ["equations", String(total.count)],
    ["work", total.flops ? `${least}${compact(total.flops, "flop")}` : null],
    ["traffic", `${least}${compact(total.bytes, "B")}`],
    ["kept", total.kept ? `${compact(total.kept, "B")} for the way back` : null],
    ["time", total.time ? seconds(total.time) : null],
  ]));
  for (const [mark, title] of [["", "Equations"], ["vjp", "Of its adjoint"], ["jvp", "Of its tangent"]]) {
    list(app, made, title, ids.filter((id) => EQUATIONS[id].mark === mark));
  }
  return made;
}

function parameterDetail(app, { value, func }) {
  const made = element("div", "detail");
  made.append(element("pre", "equation-text", `${operandText(func, value)} : ${typeOf(value)}`));
  const token = func.maker.get(value);
  const ids = func.uses.filter(([t, reader]) => t === token && reader < func.eqns.length).map(([, reader]) => func.eqns[reader]);
  list(app, made, "Read by", [...new Set(ids)]);
  return made;
}
