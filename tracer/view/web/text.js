// Text and elements. What is the user's enters the page through `element` alone, as text.

function element(tag, classes = "", text = null, ...children) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text !== null) made.textContent = text;
  made.append(...children);
  return made;
}

function button(classes, text, title, act) {
  const made = element("button", classes, text);
  made.type = "button";
  if (title) made.title = title;
  made.addEventListener("click", act);
  return made;
}

// 12345 -> "12.3k"; units of 1000, three digits.
function compact(number, unit = "") {
  const scales = ["", "k", "M", "G", "T", "P", "E"];
  let scale = 0;
  while (number >= 999.5 && scale < scales.length - 1) {
    number /= 1000;
    scale += 1;
  }
  const digits = scale === 0 ? String(Math.round(number)) : String(Number(number.toPrecision(3)));
  const joined = scales[scale] + unit;
  return joined.length > 1 || unit ? `${digits} ${joined}` : digits + joined;
}

function seconds(time) {
  if (time >= 1) return `${time.toPrecision(3)} s`;
  if (time >= 1e-3) return `${(time * 1e3).toPrecision(3)} ms`;
  return `${(time * 1e6).toPrecision(3)} us`;
}

function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
}
