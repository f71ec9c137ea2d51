// Expressions, projects and coverage.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { closePage, judged, openPage, startServer } from "./driver.mjs";
import { pod, policy } from "./try.test.mjs";

const repository = join(dirname(fileURLToPath(import.meta.url)), "../..");

/// A project with the Kyverno examples of these names, as a copy that may be written.
export const projectOf = (...names) => {
  const folder = mkdtempSync(join(tmpdir(), "kubewright-project-"));
  for (const name of names) cpSync(join(repository, "examples/kyverno", name), join(folder, name), { recursive: true });
  writeFileSync(join(folder, "kubewright.yaml"), `rules: [${names.map((name) => `${name}/policy.yaml`).join(", ")}]\nresources: [${names.map((name) => `${name}/resources.yaml`).join(", ")}]\n`);
  return folder;
};

export const viewCases = {
  async "evaluates an expression in four languages"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: "expressions" });
    const wanted = { CEL: "log-shipper", JMESPath: "nginx:1.27", JSONPath: "nginx:1.27", "Go template": "web: 2 containers" };
    for (const [language, words] of Object.entries(wanted)) {
      await page.getByLabel(language, { exact: true }).check();
      await page.waitForFunction((text) => document.querySelector(".result")?.textContent.includes(text), words);
    }
    await closePage(page);
  },
  async "evaluates every example of JSONPath on the first input"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: "expressions" });
    await page.getByLabel("JSONPath", { exact: true }).check();
    await page.waitForSelector(".functions dt >> text='$.name'");
    const examples = page.locator(".functions .example");
    assert.equal(await examples.count(), await page.locator(".functions dt").count());
    for (let at = 0; at < await examples.count(); at += 1) {
      const text = await examples.nth(at).locator("code").first().textContent();
      const answered = page.waitForResponse((response) => response.url().endsWith("/eval") && response.request().postDataJSON().expression === text);
      await examples.nth(at).click();
      const { result, error } = await (await answered).json();
      assert.equal(error, null);
      assert.match(result, /[a-z]/, text);
    }
    await closePage(page);
  },
  async "shows where an expression is wrong"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: "expressions" });
    await page.click(".expression .cm-content");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("object.spec.containers.all(c, )");
    await page.waitForSelector(".eval-error");
    assert.match(await page.textContent(".eval-error"), /\^/);
    await closePage(page);
  },
  async "opens a shared file"({ browser }) {
    const folder = mkdtempSync(join(tmpdir(), "kubewright-shared-"));
    writeFileSync(join(folder, "shared.json"), JSON.stringify({ title: "two pods", files: [{ name: "rules.yaml", role: "rules", text: policy }, { name: "objects.yaml", role: "objects", text: `${pod}---\n${pod}` }] }));
    const server = await startServer(join(folder, "shared.json"));
    const page = await openPage(browser, server.address);
    assert.match(await judged(page), /2 fail/);
    await closePage(page);
    server.stop();
    rmSync(folder, { recursive: true });
  },
  async "opens a project, runs its tests and shows what they miss"({ browser }) {
    const folder = projectOf("probes", "known-teams");
    const before = readFileSync(join(folder, "probes/policy.yaml"), "utf8");
    const server = await startServer(folder);
    const page = await openPage(browser, server.address);
    assert.match(await judged(page), /fail|pass/);
    await page.click("nav >> text=Coverage");
    await page.click("text=run the tests");
    await page.waitForSelector(".coverage .count.s-pass", { timeout: 60_000 });
    assert.match(await page.textContent(".coverage"), /[1-9]\d* passed.*[1-9]\d* of [1-9]\d* rules/);
    await closePage(page);
    server.stop();
    assert.equal(readFileSync(join(folder, "probes/policy.yaml"), "utf8"), before);
    rmSync(folder, { recursive: true });
  },
  async "shows the first rule that no case exercised without scrolling"({ browser }) {
    const folder = projectOf("probes");
    const file = join(folder, "probes/kyverno-test.yaml");
    const [head, ...cases] = readFileSync(file, "utf8").split(/\n(?=\s*- policy:)/);
    writeFileSync(file, [head, ...cases.filter((one) => /rule: readiness-probe-is-set/.test(one))].join("\n"));
    const server = await startServer(folder);
    const page = await openPage(browser, server.address);
    await judged(page);
    await page.click("nav >> text=Coverage");
    await page.click("text=run the tests");
    const missed = page.locator(".code-line.line-missed").first();
    await missed.waitFor({ timeout: 60_000 });
    assert.match(await missed.textContent(), /probes-differ.*not exercised/);
    const [line, box] = [await missed.boundingBox(), await page.locator(".code-lines").boundingBox()];
    assert.ok(line.y >= box.y && line.y + line.height <= box.y + box.height, JSON.stringify([line, box]));
    await closePage(page);
    server.stop();
    rmSync(folder, { recursive: true });
  },
  async "says that a project has no tests, and not that every rule was exercised"({ browser }) {
    const folder = projectOf("probes");
    rmSync(join(folder, "probes/kyverno-test.yaml"));
    const server = await startServer(folder);
    const page = await openPage(browser, server.address);
    await judged(page);
    await page.click("nav >> text=Coverage");
    await page.click("text=run the tests");
    await page.waitForSelector(".coverage .empty >> text=No test of this project", { timeout: 60_000 });
    const text = await page.textContent(".coverage");
    assert.doesNotMatch(text, /Every rule/);
    assert.match(text, /no files found: looked for files named/);
    await closePage(page);
    server.stop();
    rmSync(folder, { recursive: true });
  },
  async "shows functions with an example first, and all languages in a narrow window"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: "expressions", width: 900 });
    await page.waitForSelector(".functions dt");
    assert.ok(await page.isVisible(".functions > div:first-child .example"));
    const [tabs, last] = await Promise.all([".expressions .tabs >> nth=0", "label.choice >> nth=3"].map((selector) => page.locator(selector).boundingBox()));
    assert.ok(last.x + last.width <= tabs.x + tabs.width, "the last language is cut off");
    await closePage(page);
  },
  async "saves an edited file of a project when asked, and not one that changed meanwhile"({ browser }) {
    const folder = projectOf("probes");
    const file = join(folder, "probes/policy.yaml");
    const server = await startServer(folder, "--save");
    const page = await openPage(browser, server.address);
    await judged(page);
    const write = async () => {
      await page.click(".column.rule .cm-line >> nth=0");
      await page.keyboard.press("Home");
      await page.keyboard.type("# note\n");
      await page.click("header button:has-text('save 1')");
      await page.click("dialog button:has-text('write 1 file')");
    };
    await write();
    await page.waitForSelector("header button:text-is('saved')");
    assert.match(readFileSync(file, "utf8"), /# note\n/);
    writeFileSync(file, "# changed by another program\n");
    await write();
    await page.waitForSelector("dialog .failure");
    assert.equal(readFileSync(file, "utf8"), "# changed by another program\n");
    page.wrong = page.wrong.filter((line) => !/ 409 /.test(line));
    await closePage(page);
    server.stop();
    rmSync(folder, { recursive: true });
  },
  async "keeps unsaved edits of a project over a reload, and drops them when asked"({ browser }) {
    const folder = projectOf("probes");
    const file = join(folder, "probes/policy.yaml");
    const before = readFileSync(file, "utf8");
    const server = await startServer(folder, "--save");
    const page = await openPage(browser, server.address);
    await judged(page);
    const firstLine = () => page.textContent(".column.rule .cm-line >> nth=0");
    const edit = async (text) => {
      await page.click(".column.rule .cm-line >> nth=0");
      await page.keyboard.press("Control+Home");
      await page.keyboard.type(text);
    };
    assert.equal(await page.locator(".notice").count(), 0);
    await edit("# kept ");
    await page.reload();
    await page.waitForSelector(".notice");
    assert.match(await page.textContent(".notice"), /kept over the reload: probes\/policy\.yaml/);
    await judged(page);
    assert.match(await firstLine(), /^# kept /);
    await page.click(".notice button:text-is('drop the edits')");
    await page.waitForFunction((text) => document.querySelector(".column.rule .cm-line")?.textContent === text, before.split("\n")[0]);
    assert.equal(await page.locator(".notice").count(), 0);
    await page.reload();
    await judged(page);
    assert.equal(await page.locator(".notice").count(), 0);
    assert.equal(await page.textContent("header button:text-is('saved')"), "saved");

    // A file that changed on disk since it was edited is not overwritten by an edit that was kept.
    await edit("# kept ");
    await page.waitForSelector("header button:text-is('save 1')");
    writeFileSync(file, "# changed by another program\n");
    await page.reload();
    await judged(page);
    await page.click("header button:has-text('save 1')");
    await page.click("dialog button:has-text('write 1 file')");
    await page.waitForSelector("dialog .failure");
    assert.equal(readFileSync(file, "utf8"), "# changed by another program\n");
    page.wrong = page.wrong.filter((line) => !/ 409 /.test(line));
    await closePage(page);
    server.stop();
    rmSync(folder, { recursive: true });
  },
};
