// Starts `kubewright ui` and a browser, and watches what no page of ours may do.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { deflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";

export const program = process.argv[2];
// How much slower than an idle machine with a release build a limit may be: builds for tests are not optimized.
export const slack = Number(process.env.KUBEWRIGHT_BROWSER_SLACK ?? 8);
export const isLong = process.env.KUBEWRIGHT_BROWSER === "long";

// A server must not outlive the tests.
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(1));

/// Runs `kubewright ui` until `stop` is called. `address` ends in a slash.
export const startServer = async (...args) => {
  const child = spawn(program, ["ui", "--no-open", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill());
  const address = await new Promise((found, failed) => {
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
      const line = /http:\/\/127\.0\.0\.1:\d+\//.exec(text);
      if (line) found(line[0]);
    });
    child.on("exit", (code) => failed(new Error(`kubewright ui ended with ${code}`)));
  });
  return { address, stop: () => child.kill() };
};

export const startBrowser = () => chromium.launch({ executablePath: process.env.CHROMIUM || undefined, args: ["--no-sandbox", "--disable-gpu"] });

/// Opens a page that records errors, violations of its content security policy, and requests to other origins.
export const openPage = async (browser, address, { fragment = "", width = 1400, height = 850, scheme = "light", motion = "reduce" } = {}) => {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: motion, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(`error: ${error}`));
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") page.wrong.push(`console: ${message.text()}`); });
  page.on("dialog", (dialog) => { page.wrong.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) page.wrong.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  await page.goto(`${address}${fragment === "" ? "" : `#${fragment}`}`);
  return page;
};

/// Fails if something happened that may not happen, and closes the page.
export const closePage = async (page) => {
  const violations = await page.evaluate(() => window.violations);
  assert.deepEqual([...page.wrong, ...violations.map((one) => `violation: ${one}`)], []);
  assert.equal((await page.context().cookies()).length, 0);
  await page.context().close();
};

/// Waits until the outcome of the current texts is shown and the editors are there, and returns the summary of the outcome.
export const judged = async (page, before = 0) => {
  await page.waitForFunction((count) => {
    const column = document.querySelector(".column.outcome");
    return column && Number(column.dataset.judged) > count && column.dataset.pending === "false" && !document.querySelector(".editor-text");
  }, before, { timeout: 60_000 });
  return page.$eval(".outcome .summary", (summary) => summary.textContent);
};

export const countOfAnswers = (page) => page.$eval(".column.outcome", (column) => Number(column.dataset.judged));

/// Waits until the summary of the outcome matches.
export const until = (page, words) =>
  page.waitForFunction(([source]) => new RegExp(source).test(document.querySelector(".outcome .summary").textContent), [words.source], { timeout: 30_000 });

/// The fragment that the page makes for these texts.
export const fragmentOf = (files, request = {}) => `1.${deflateRawSync(JSON.stringify({ files, request })).toString("base64url")}`;

export const rules = (text) => ({ name: "rules.yaml", role: "rules", text });
export const objects = (text) => ({ name: "objects.yaml", role: "objects", text });
