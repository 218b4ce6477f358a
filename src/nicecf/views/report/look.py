"""How the page looks, and the few lines of script that search it; without them every row is there all the same."""

STYLE = """
.lead { font-size: 1.25rem; line-height: 1.45; margin: .8rem 0 1rem; }
.example { border-left: 3px solid var(--bar); padding-left: .9rem; margin: 0 0 1rem; break-inside: avoid; }
.example h3 { margin: 0 0 .2rem; }
ul { margin: .4rem 0 .8rem; padding-left: 1.2rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0 .6rem; }
.tiles div { background: var(--head); border-radius: 8px; padding: .6rem 1rem; min-width: 7.5rem; flex: 0 1 auto; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .85rem; }
.facts th { white-space: nowrap; }
.facts td { overflow-wrap: anywhere; }
.bars { width: 100%; }
th.n { white-space: normal; }
.share { display: flex; align-items: center; gap: .6rem; min-width: 8rem; }
.share span { flex: 0 0 3.2rem; text-align: right; white-space: nowrap; }
.share .bar { flex: 1 1 4rem; margin: 0; }
.reasons td:nth-child(2) { min-width: 15rem; }
.filter { border: 0; padding: 0; margin: 0 0 .6rem; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; }
.filter legend { float: left; padding: 0; margin-right: 1.2rem; color: var(--soft); }
.filter label { cursor: pointer; white-space: nowrap; }
section:has(.filter [value="changed"]:checked) .row:not(.changed),
section:has(.filter [value="same"]:checked) .row:not(.same),
section:has(.filter [value="none"]:checked) .row:not(.none) { display: none; }
.search input, .search button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--soft);
  border-radius: 6px; padding: .3rem .6rem; }
.search input { width: 18rem; max-width: 100%; }
.row { border-bottom: 1px solid var(--line); padding: .45rem 0; }
.row > summary { list-style-position: outside; margin-left: 1.1rem; }
.row[open] > summary { margin-bottom: .5rem; }
.others { font-size: .9rem; color: var(--soft); }
.picture { display: block; max-width: 46rem; width: 100%; min-width: 36rem; height: auto; margin: .2rem 0 .4rem; }
@media (max-width: 40rem) { body { padding: 1rem .9rem 3rem; } .tiles div { min-width: 0; flex: 1 1 40%; }
  th, td { padding-right: .6rem; }
  .share { min-width: 0; } .share .bar { display: none; } .reasons td:nth-child(2) { min-width: 11rem; }
  .facts th { white-space: normal; } }
@page { margin: 1.5cm; }
@media print { .search, .filter { display: none; } .row, .picture, .share { break-inside: avoid; }
  .picture { min-width: 0; max-width: 14cm; } }
"""

SCRIPT = """
const search = document.querySelector(".search");
if (search) {
  const rows = [...document.querySelectorAll(".row")];
  const [box, button, status] = search.children;
  search.hidden = false;
  const seen = () => rows.filter((row) => row.getClientRects().length);
  const count = () => {
    const left = seen().length;
    const said = status.dataset.matches.replace("{left}", left).replace("{all}", rows.length);
    status.textContent = left < rows.length ? said : "";
  };
  box.addEventListener("input", () => {
    const asked = box.value.trim().toLowerCase();
    rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(asked); });
    count();
  });
  document.querySelectorAll(".filter input").forEach((one) => one.addEventListener("change", count));
  let all = false;
  button.addEventListener("click", () => {
    all = !all;
    seen().forEach((row) => { row.open = all; });
    [button.textContent, button.dataset.other] = [button.dataset.other, button.textContent];
  });
}
"""
