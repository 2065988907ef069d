// Traces and guards as a tree.

function traceTree(app) {
  const made = element("div", "tree");
  made.append(...DATA.traces.map((node) => treeNode(app, node, 0)));
  return made;
}

function treeNode(app, node, depth) {
  const label = element("span", `tree-label kind-${node.k}`);
  label.append(element("span", "tree-text", node.t), element("span", "tree-note", node.n || ""));
  if (node.p !== undefined) label.append(button("link", "show", "Show the program of this trace", () => app.showProgram(node.p)));
  if (!node.c || !node.c.length) return element("div", "tree-leaf", null, label);
  const made = element("details", "tree-node");
  made.open = depth < 2 || node.k === "guards";
  const summary = element("summary");
  summary.append(label);
  made.append(summary, ...node.c.map((child) => treeNode(app, child, depth + 1)));
  return made;
}
