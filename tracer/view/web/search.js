// Search: equations by op, name, attribute and type; lines by their text; parameters by name.

const FOUND = 40; // results that are listed

class Search {
  constructor(app) {
    this.app = app;
    this.input = element("input", "search");
    Object.assign(this.input, { type: "search", placeholder: "Search  /", spellcheck: false, autocomplete: "off" });
    this.input.setAttribute("aria-label", "Search names, ops and lines");
    this.results = element("div", "results");
    this.results.hidden = true;
    this.box = element("div", "search-box", null, this.input, this.results);
    this.input.addEventListener("input", () => this.find());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("focus", () => this.find());
    document.addEventListener("click", (event) => {
      if (!this.box.contains(event.target)) this.results.hidden = true;
    });
  }

  find() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.results.replaceChildren();
    this.at = -1;
    this.results.hidden = !words.length;
    if (!words.length) return;
    const matches = (text) => words.every((word) => text.toLowerCase().includes(word));
    const found = [...this.lines(matches), ...this.equations(matches)];
    found.slice(0, FOUND).forEach((row) => this.results.append(row));
    const rest = found.length - FOUND;
    if (rest > 0) this.results.append(element("p", "quiet", `and ${rest} more`));
    if (!found.length) this.results.append(element("p", "quiet", "Nothing found."));
  }

  lines(matches) {
    const rows = [];
    DATA.files.forEach((file, f) => file.lines.forEach(([number, text]) => {
      if (rows.length <= FOUND && matches(text)) {
        rows.push(this.row(text.trim(), `${file.name}:${number}`, () => this.app.choose({ line: lineKey(f, number) })));
      }
    }));
    return rows.slice(0, FOUND / 2);
  }

  equations(matches) {
    const rows = [];
    const { state } = this.app;
    for (const id of state.order) {
      const text = equationText(state.homes.get(id).func, EQUATIONS[id]);
      if (matches(text)) rows.push(this.row(text, placeText(EQUATIONS[id].place), () => this.app.choose({ eqn: id })));
      if (rows.length > FOUND) break;
    }
    return rows;
  }

  row(text, place, act) {
    const made = button("row result", null, text, act);
    made.append(element("span", "row-op", shortened(text, 90)), element("span", "row-place", place));
    return made;
  }

  key(event) {
    const rows = [...this.results.querySelectorAll(".result")];
    if (event.key === "Escape") {
      this.results.hidden = true;
      this.input.blur();
    } else if (event.key === "Enter" && rows.length) {
      this.go(rows, this.at + (event.shiftKey ? -1 : 1));
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      this.go(rows, this.at + (event.key === "ArrowDown" ? 1 : -1));
    }
  }

  go(rows, n) {
    if (!rows.length) return;
    this.at = (n + rows.length) % rows.length;
    rows.forEach((row, k) => row.classList.toggle("current", k === this.at));
    rows[this.at].click();
    rows[this.at].scrollIntoView({ block: "nearest" });
  }
}
