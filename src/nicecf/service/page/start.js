// The page as the service serves it.

import { HttpClient } from "./client.js";
import { Page } from "./page.js";

new Page(document.getElementById("page"), new HttpClient()).start();
