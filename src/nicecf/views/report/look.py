"""How the page looks, and the few lines of script that search it; without them every row is there all the same."""

STYLE = """
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0 0; }
.tiles div { background: var(--head); border-radius: 8px; padding: .6rem 1rem; min-width: 7.5rem; flex: 0 1 auto; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .85rem; }
.facts th { white-space: nowrap; }
.bars { width: 100%; }
.bars td:has(.bar) { width: 18%; }
.bars td:first-child { min-width: 9rem; }
.bars td:nth-child(4):not(.n, :has(.bar)) { min-width: 10rem; }
.reasons td:nth-child(2) { min-width: 9rem; }
.reasons td:last-child { min-width: 15rem; }
.search input, .search button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line);
  border-radius: 6px; padding: .3rem .6rem; }
.search input { width: 18rem; max-width: 100%; }
.row { border-bottom: 1px solid var(--line); padding: .45rem 0; }
.row > summary { list-style-position: outside; margin-left: 1.1rem; }
.row[open] > summary { margin-bottom: .5rem; }
.others { font-size: .9rem; color: var(--soft); }
footer { margin-top: 3rem; padding-top: .75rem; border-top: 1px solid var(--line); font-size: .85rem; }
footer table { font-size: .8rem; }
@media (max-width: 40rem) { body { padding: 1rem .9rem 3rem; } .tiles div { min-width: 0; flex: 1 1 40%; }
  th, td { padding-right: .6rem; } .bars td:first-child { min-width: 8.5rem; }
  .reasons td:nth-child(2) { min-width: 6rem; } .reasons td:last-child { min-width: 11rem; } }
@media print { .search { display: none; } .row { break-inside: avoid; } }
"""

SCRIPT = """
const search = document.querySelector(".search");
if (search) {
  const rows = [...document.querySelectorAll(".row")];
  const [box, button, status] = search.children;
  const open = (all) => rows.forEach((row) => { row.open = all && !row.hidden; });
  search.hidden = false;
  box.addEventListener("input", () => {
    const asked = box.value.trim().toLowerCase();
    rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(asked); });
    const left = rows.filter((row) => !row.hidden).length;
    status.textContent = asked ? `${left} of ${rows.length}` : "";
  });
  button.addEventListener("click", () => {
    const all = button.textContent === "Open all";
    open(all);
    button.textContent = all ? "Close all" : "Open all";
  });
}
"""
