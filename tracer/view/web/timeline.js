// Where the time went: the phases until a program ran, and the steps of one call.

const MOST_STEPS = 1500; // that are drawn, the longest ones
const LONGEST_STEPS = 14; // that are listed

function timeline(app) {
  const made = element("div", "timeline");
  for (const track of DATA.timeline) {
    const total = track.c.reduce((sum, [, s]) => sum + s, 0);
    made.append(element("h3", "", `${track.t}: ${seconds(total)}`));
    if (track.c.length > 1) made.append(phaseBar(track.c, total), phaseKey(track.c));
    else if (track.c.length) made.append(element("p", "quiet", track.c[0][0]));
    if (track.steps) made.append(...stepParts(app, track));
    if (track.why) made.append(element("p", "quiet", `No steps: ${track.why}.`));
  }
  if (!DATA.timeline.length) made.append(element("p", "quiet", "Nothing was run."));
  return made;
}

function phaseBar(phases, total) {
  const bar = element("div", "time-bar");
  phases.forEach(([name, time], n) => {
    const piece = element("div", `time-piece hue-${n % 5}`);
    piece.style.flexGrow = String(Math.max(time / total, 0.004));
    piece.title = `${name}: ${seconds(time)}`;
    bar.append(piece);
  });
  return bar;
}

function phaseKey(phases) {
  const key = element("div", "time-key");
  phases.forEach(([name, time], n) => {
    const entry = element("span", "time-entry");
    entry.append(element("i", `hue-${n % 5}`), element("span", "", name), element("b", "", seconds(time)));
    key.append(entry);
  });
  return key;
}

// Steps as pieces of lanes: one that begins while another runs is on the next lane.
function stepParts(app, track) {
  const longest = [...track.steps].sort((a, b) => b[4] - a[4]);
  const drawn = longest.slice(0, MOST_STEPS).sort((a, b) => a[3] - b[3]);
  const end = Math.max(...track.steps.map(([, , , start, time]) => start + time), 1e-12);
  const lanes = [];
  const strip = element("div", "steps");
  for (const step of drawn) {
    const [, , , start, time, , mark] = step;
    let lane = lanes.findIndex((until) => until <= start + 1e-12);
    if (lane < 0) lane = lanes.push(0) - 1;
    lanes[lane] = start + time;
    const piece = button(`step ${mark === "vjp" ? "is-adjoint" : "is-forward"}`, null, stepTitle(step), () => choosePlace(app, track, step));
    piece.style.left = `${(100 * start) / end}%`;
    piece.style.width = `${(100 * time) / end}%`;
    piece.style.top = `${Math.min(lane, 7) * 15}px`;
    strip.append(piece);
  }
  strip.style.height = `${Math.min(lanes.length, 8) * 15 + 2}px`;
  const rows = longest.slice(0, LONGEST_STEPS).map((step) => stepRow(app, track, step));
  const rest = track.steps.length - rows.length;
  const note = element("p", "quiet", `${plural(track.steps.length, "step")} of ${track.engine}, told one by one${rest > 0 ? `; the longest ${rows.length}:` : ":"}`);
  return [strip, note, ...rows];
}

function stepTitle([name, place, scope, , time, times]) {
  return `${name}\n${place || "of no line"}${scope ? ` (${scope})` : ""}\n${seconds(time)}${times > 1 ? ` in ${times} runs` : ""}`;
}

function stepRow(app, track, step) {
  const made = button("row", null, stepTitle(step), () => choosePlace(app, track, step));
  made.append(element("span", "row-op", step[0]), element("span", "row-amount", seconds(step[4])));
  const line = DATA.files.length === 1 ? step[1].replace(/^.*:/, "line ") : step[1];
  made.append(element("span", "row-place", `${step[6] ? `${step[6]} ` : ""}${line}`));
  return made;
}

function choosePlace(app, track, step) {
  const [name, line] = step[1].split(/:(?=\d+$)/);
  const file = DATA.files.findIndex((f) => f.name === name);
  if (file < 0) return;
  if (track.program >= 0 && DATA.programs[track.program] !== app.program) app.showProgram(track.program);
  app.choose({ line: lineKey(file, Number(line)) });
}
