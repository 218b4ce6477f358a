// The page as the service serves it.

import { HttpClient } from "./client.js";
import { Page } from "./page.js";

// Where the page is served: at the root of a service, or under the path that it is mounted at.
const root = new URL(".", location.href).pathname.replace(/\/$/, "");
new Page(document.getElementById("page"), new HttpClient(root)).start();
