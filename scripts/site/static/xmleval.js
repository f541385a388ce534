/* What the theme and Sphinx leave without a name, or in the wrong element, for screen readers. */
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary > .toctree-toggle")) {
    const page = toggle.closest("li").querySelector("a");
    toggle.parentElement.setAttribute("aria-label", `Pages of ${page.textContent.trim()}`);
  }
  for (const list of document.querySelectorAll("dt.sig > dl")) {
    const parameters = document.createElement("div");
    for (const entry of [...list.children]) {
      const line = document.createElement("div");
      line.className = "parameter-line";
      line.append(...entry.childNodes);
      parameters.append(line);
    }
    list.replaceWith(parameters);
  }
});
