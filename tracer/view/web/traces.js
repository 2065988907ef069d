// Traces and guards as a tree, and where the time went.

function traceTree(app) {
  const made = element("div", "tree");
  made.append(...DATA.traces.map((node) => treeNode(app, node, 0)));
  return made;
}

function treeNode(app, node, depth) {
  const label = element("span", `tree-label kind-${node.k}`);
  label.append(element("span", "tree-text", node.t), element("span", "tree-note", node.n || ""));
  if (node.p !== undefined) label.append(button("link", "show", "Show the program of this trace", () => app.showProgram(node.p)));
  if (node.l) label.append(element("span", "row-place", `line ${node.l}`));
  if (!node.c || !node.c.length) return element("div", "tree-leaf", null, label);
  const made = element("details", "tree-node");
  made.open = depth < 2 || node.k === "guards";
  const summary = element("summary");
  summary.append(label);
  made.append(summary, ...node.c.map((child) => treeNode(app, child, depth + 1)));
  return made;
}

function timeline() {
  const made = element("div", "timeline");
  const longest = Math.max(...DATA.timeline.map((t) => t.c.reduce((sum, [, s]) => sum + s, 0)), 1e-12);
  for (const track of DATA.timeline) {
    const total = track.c.reduce((sum, [, s]) => sum + s, 0);
    made.append(element("h3", "", `${track.t}: ${seconds(total)}`));
    const bar = element("div", "time-bar");
    const alone = track.c.length === 1;
    bar.style.width = `${Math.max(2, alone ? (100 * total) / longest : 100)}%`;
    track.c.forEach(([name, time], n) => {
      const piece = element("div", `time-piece hue-${n % 5}`);
      piece.style.flexGrow = String(Math.max(time / total, 0.004));
      piece.title = `${name}: ${seconds(time)}`;
      bar.append(piece);
    });
    made.append(bar);
    const key = element("div", "time-key");
    track.c.forEach(([name, time], n) => {
      const entry = element("span", "time-entry");
      entry.append(element("i", `hue-${n % 5}`), element("span", "", name), element("b", "", seconds(time)));
      key.append(entry);
    });
    made.append(key);
  }
  if (!DATA.timeline.length) made.append(element("p", "quiet", "Nothing was run."));
  return made;
}
