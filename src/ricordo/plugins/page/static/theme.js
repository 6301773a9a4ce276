// Sets light or dark before the first paint, so that the page does not flash.
(function () {
  "use strict";
  try {
    var chosen = localStorage.getItem("ricordo-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch (problem) {
    // A browser that keeps nothing follows the system.
  }
})();
