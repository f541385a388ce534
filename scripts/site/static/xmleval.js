/* What the theme and Sphinx leave without a name or a role for screen readers. */
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary > .toctree-toggle")) {
    const page = toggle.closest("li").querySelector("a");
    toggle.parentElement.setAttribute("aria-label", `Pages of ${page.textContent.trim()}`);
  }
  for (const list of document.querySelectorAll("dt.sig > dl")) {
    for (const element of [list, ...list.children]) {
      element.setAttribute("role", "presentation");
    }
  }
});
