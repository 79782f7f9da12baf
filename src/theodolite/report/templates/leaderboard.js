"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("thead th")], body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const first = button.dataset.first || "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const now = was === first ? other : first;
      for (const one of heads) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1;
      const key = row => row.cells[column].dataset.order || "";
      const compared = (a, b) => {
        const x = key(a), y = key(b);
        if (x === "" || y === "") return (x === "") - (y === "");
        const apart = Number(x) - Number(y);
        return sign * (Number.isNaN(apart) ? x.localeCompare(y) : apart);
      };
      [...body.rows].sort(compared).forEach(row => body.append(row));
    });
  });
}
