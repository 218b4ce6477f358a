// Whom the page asks: a service by HTTP. A notebook has another one, with the same methods.

export class Failure extends Error {
  // kind: "gone" (nobody answers), "key" (a key is needed, or wrong), "busy", "refused" (what was sent is wrong),
  // "failed" (the model, or the service). `seconds`: when to come back, of those who are busy.
  constructor(kind, message, seconds = null) {
    super(message);
    this.kind = kind;
    this.seconds = seconds;
  }
}

const KEY = "nicecf-key";
const KINDS = { 401: "key", 403: "key", 429: "busy", 503: "busy", 500: "failed", 502: "failed", 504: "failed" };

// A body that breaks off, or is something else than it should be, is as good as none.
async function read(answer, how) {
  try {
    return await answer[how]();
  } catch {
    throw new Failure("gone", "");
  }
}

export class HttpClient {
  constructor(root = "") {
    this.root = root;
    this.key = sessionStorage.getItem(KEY);
  }

  useKey(key) {
    this.key = key.trim();
    sessionStorage.setItem(KEY, this.key);
  }

  async models() {
    return (await this.json("GET", "/v1/models")).models;
  }

  about(model) {
    return this.json("GET", `/v1/models/${model}`);
  }

  schema(model, language) {
    return this.json("GET", `/v1/models/${model}/schema?language=${language}`);
  }

  async examples(model) {
    const rows = (await this.json("GET", `/v1/models/${model}/example`)).instances;
    return rows.map((row, at) => ({ label: String(at + 1), row }));
  }

  words(language) {
    return this.json("GET", `/page/words.${language}.json`);
  }

  // `signal` ends what is no longer wanted.
  ask(model, verb, body, signal = null) {
    return this.json("POST", `/v1/models/${model}:${verb}`, JSON.stringify(body), "application/json", signal);
  }

  async report(model, body) {
    return read(await this.send("POST", `/v1/models/${model}:report`, JSON.stringify(body), "application/json"), "text");
  }

  read(model, file) {
    return this.json("POST", `/v1/models/${model}:read`, file, "text/csv");
  }

  async json(method, path, body = null, kind = "application/json", signal = null) {
    return read(await this.send(method, path, body, kind, signal), "json");
  }

  async send(method, path, body, kind, signal = null) {
    const headers = { Accept: "application/json" };
    if (body !== null) headers["Content-Type"] = kind;
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    let answer;
    try {
      answer = await fetch(this.root + path, { method, headers, body, signal });
    } catch {
      throw new Failure("gone", "");
    }
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    const seconds = Number.parseInt(answer.headers.get("Retry-After"), 10);
    throw new Failure(KINDS[answer.status] ?? "refused", said.error ?? String(answer.status), Number.isNaN(seconds) ? null : seconds);
  }
}
