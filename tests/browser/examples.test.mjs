// Every example opens, and the page says what the command line says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { closePage, isLong, judged, openPage, program } from "./driver.mjs";

const flags = { objects: "-r", exceptions: "-e", world: "--world", old: "--old", parameters: "--values", user: "--userinfo" };

/// What `kubewright COMMAND -o json` prints about the files of an example.
const commandLine = (command, example) => new Promise((done) => {
  const folder = mkdtempSync(join(tmpdir(), "kubewright-example-"));
  const args = [command];
  for (const file of example.files) {
    mkdirSync(dirname(join(folder, file.name)), { recursive: true });
    writeFileSync(join(folder, file.name), file.text);
    if (file.role === "rules") args.push(file.name); else args.push(flags[file.role], file.name);
  }
  if (example.request?.operation) args.push("--operation", example.request.operation);
  execFile(program, [...args, "-o", "json"], { cwd: folder, maxBuffer: 1 << 26 }, (_, output) => {
    rmSync(folder, { recursive: true });
    done(output === "" ? null : JSON.parse(output));
  });
});

// Skips are left out: the page traces, and then counts rules whose conditions were looked at and not met.
const words = { fail: "fail", error: "error", warn: "warning", patched: "changed", pass: "pass" };

/// The counts that the summary of the page shows, as the command line names them.
const countsOf = (summary) => Object.fromEntries(Object.entries(words).map(([name, word]) => [name, Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0)]));

/// What the page and the command line say about an example, if they differ.
const difference = async (example, summary) => {
  if (example.id.startsWith("pattern/")) {
    const [shown, found] = [Number(/(\d+) finding/.exec(summary)?.[1] ?? 0), (await commandLine("detect", example)).findings.length];
    return shown === found ? null : `${example.id}: ${shown} findings on the page, ${found} on the command line`;
  }
  if (example.id.startsWith("trait/")) return /rendering/.test(summary) ? null : `${example.id}: ${summary}`;
  const { summary: wanted } = await commandLine("apply", example);
  const shown = countsOf(summary);
  const told = Object.fromEntries(Object.keys(shown).map((name) => [name, name === "pass" ? wanted.pass - wanted.patched : wanted[name] ?? 0]));
  return JSON.stringify(shown) === JSON.stringify(told) ? null : `${example.id}: ${JSON.stringify(shown)} on the page, ${JSON.stringify(told)} on the command line`;
};

export const exampleCases = {
  async "opens examples with the verdict of the command line"({ browser, address }) {
    const { examples } = await (await fetch(`${address}api/v1/examples`)).json();
    assert.ok(examples.length > 200, `${examples.length} examples`);
    const page = await openPage(browser, address);
    await judged(page);
    const wrong = [];
    const chosen = examples.filter((_, at) => isLong || at % 12 === 0);
    for (const { id } of chosen) {
      const before = await page.$eval(".column.outcome", (column) => Number(column.dataset.judged));
      await page.evaluate((next) => { location.hash = `e/${next}`; }, id);
      const summary = await judged(page, before);
      const example = await (await fetch(`${address}api/v1/examples/${id}`)).json();
      if (await page.$(".failure")) wrong.push(`${id}: ${await page.textContent(".failure")}`);
      const differs = await difference(example, summary);
      if (differs) wrong.push(differs);
      if (page.wrong.length > 0) wrong.push(`${id}: ${page.wrong.splice(0).join()}`);
    }
    console.log(`   ${chosen.length} of ${examples.length} examples`);
    assert.equal(wrong.join("\n"), "");
    await closePage(page);
  },
  async "finds an example by a word and opens its link"({ browser, address }) {
    const page = await openPage(browser, address);
    await judged(page);
    await page.click("header button:text-is('examples')");
    await page.waitForSelector("dialog .examples a");
    const all = await page.$$eval("dialog .examples a", (found) => found.length);
    await page.keyboard.type("latest");
    await page.waitForFunction((count) => document.querySelectorAll("dialog .examples a").length < count, all);
    const link = await page.getAttribute("dialog .examples a", "href");
    await page.click("dialog .examples a");
    await page.waitForFunction((wanted) => location.hash === wanted, link);
    await page.waitForSelector("header .title:not(:empty)");
    await closePage(page);
  },
};
