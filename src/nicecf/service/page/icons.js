// Drawn here: no font and no picture is loaded. What they mean is said beside them.

import { svg } from "./dom.js";

const PATHS = {
  locked: ["M7 11V8a5 5 0 0 1 10 0v3", "M5 11h14v9H5z"],
  open: ["M7 11V8a5 5 0 0 1 9.6-2", "M5 11h14v9H5z"],
  shape: ["M4 7h9", "M17 7h3", "M15 5v4", "M4 17h3", "M11 17h9", "M9 15v4"],
  close: ["M6 6l12 12", "M18 6L6 18"],
  arrow: ["M5 12h13", "M13 7l5 5-5 5"],
};

export function icon(name) {
  const paths = PATHS[name].map((d) => svg("path", { d }));
  return svg("svg", { viewBox: "0 0 24 24", class: "ncf-icon", "aria-hidden": "true", focusable: "false" }, paths);
}
