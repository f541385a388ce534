"use strict";
// Tables sort by a click on the head of a column; long ones have a field that filters their rows.
const LONG = 12;
const number = (text) => {
  const found = text.replace("undefined", "").match(/^[<+\-]?\d[\d.]*(e[+\-]?\d+)?/);
  return found ? parseFloat(found[0].replace("<", "")) : NaN;
};
const compare = (a, b) => {
  const [x, y] = [number(a), number(b)];
  if (!isNaN(x) && !isNaN(y)) return x - y;
  if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1;
  return a.localeCompare(b);
};
document.querySelectorAll("table.sortable").forEach((table) => {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  if (rows.length < 2) return;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const sign = falling ? -1 : 1;
      const text = (row) => row.cells[column].textContent.trim();
      rows.sort((a, b) => sign * compare(text(a), text(b)));
      body.append(...rows);
    });
  });
  if (rows.length >= LONG) {
    const label = document.createElement("label");
    label.className = "filter";
    label.append("Filter rows");
    const field = document.createElement("input");
    field.type = "search";
    label.append(field);
    table.parentElement.before(label);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    });
  }
});
