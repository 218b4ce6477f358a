// The page as a widget of a notebook: the same, but the kernel is asked in place of a service.

import { Failure } from "./client.js";
import { Page } from "./page.js";

class KernelClient {
  constructor(model) {
    this.model = model;
    this.waiting = new Map();
    // Several views of one widget hear each other's answers.
    this.view = String(Math.random());
    this.count = 0;
    this.listener = (message) => this.answered(message);
    model.on("msg:custom", this.listener);
  }

  close() {
    this.model.off("msg:custom", this.listener);
  }

  answered({ number, answer, kind, error }) {
    const waiting = this.waiting.get(number);
    if (!waiting) return;
    this.waiting.delete(number);
    if (kind) waiting.reject(new Failure(kind, error));
    else waiting.resolve(answer);
  }

  call(verb, body = null) {
    this.count += 1;
    const number = `${this.view} ${this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.model.send({ number, verb, body });
    });
  }

  async models() {
    return ["explainer"];
  }

  about() {
    return this.call("about");
  }

  schema(model, language) {
    return this.call("schema", { language });
  }

  examples() {
    return this.call("examples");
  }

  words(language) {
    return this.call("words", { language });
  }

  ask(model, verb, body) {
    return this.call(verb, body);
  }
}

// Notebooks have themes of their own, which need not be that of the system.
function isDark(element) {
  for (let one = element; one; one = one.parentElement) {
    const color = getComputedStyle(one).backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [];
    if (color.length >= 3 && (color[3] ?? 1) > 0.5) return (0.3 * color[0] + 0.6 * color[1] + 0.1 * color[2]) / 255 < 0.5;
  }
  return false;
}

function render({ model, el }) {
  const element = document.createElement("div");
  el.append(element);
  element.dataset.theme = isDark(el) ? "dark" : "light";
  const onkept = (plans) => {
    model.set("kept", plans);
    model.save_changes();
  };
  const client = new KernelClient(model);
  // In a page that was exported from a notebook no kernel answers: then this is all that is shown. All values in it
  // were escaped where it was made.
  element.innerHTML = model.get("without_kernel");
  const start = () => {
    element.textContent = "";
    new Page(element, client, { isWidget: true, onkept }).start();
  };
  client.about().then(start, (error) => error instanceof Failure && start());
  return () => client.close();
}

export default { render };
