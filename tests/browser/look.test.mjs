// How the page looks and how it is reached: screenshots, axe, the keyboard alone, 200 % zoom, reduced motion.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { closePage, fragmentOf, judged, objects, openPage, rules, startServer } from "./driver.mjs";
import { openCluster, whyAnswer } from "./reports.test.mjs";
import { pod, policy } from "./try.test.mjs";
import { projectOf } from "./views.test.mjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../target/browser");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/// What axe finds on the page as it is now, at the levels that WCAG 2.2 AA asks for.
export const problemsOf = async (page) => {
  // The policy of the page lets no other script in, so axe comes through the debugger.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary}`).slice(0, 3).join(" | ")}`);
};

const isScrolledSideways = (page) => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1);

// Each view, and what is there when it is ready.
const views = { try: ["", ".row.open"], expressions: ["expressions", ".functions dt"], graph: ["graph", ".layer svg"] };

/// Presses Tab until an element matches, and fails after `most` times.
const tabTo = async (page, selector, most = 60) => {
  for (let at = 0; at < most; at += 1) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${selector}`);
};

export const lookCases = {
  async "fits 400, 900 and 1400 pixels in light and dark, and axe finds nothing serious"({ browser, address }) {
    mkdirSync(folder, { recursive: true });
    for (const [name, [fragment, ready]] of Object.entries(views)) {
      for (const width of [400, 900, 1400]) {
        for (const scheme of ["light", "dark"]) {
          const page = await openPage(browser, address, { fragment, width, scheme });
          await page.waitForSelector(ready);
          await page.screenshot({ path: join(folder, `${name}-${width}-${scheme}.png`), fullPage: width < 900 });
          assert.equal(await isScrolledSideways(page), false, `${name} at ${width}`);
          assert.deepEqual(await problemsOf(page), [], `${name} at ${width} in ${scheme}`);
          await closePage(page);
        }
      }
    }
  },
  async "axe finds nothing serious in Reports, a row and Impact, in light and dark"(given) {
    for (const scheme of ["light", "dark"]) {
      const page = await openCluster(given, { scheme, why: await whyAnswer(given.address) });
      await page.waitForSelector(".report-top .grid");
      await page.click("summary:has-text('refused admission')");
      await page.screenshot({ path: join(folder, `reports-1400-${scheme}.png`) });
      assert.deepEqual(await problemsOf(page), [], `Reports in ${scheme}`);
      await page.click(".rows-table button >> nth=0");
      await page.waitForSelector("dialog .code-line.line-cause");
      await page.waitForTimeout(150);
      await page.screenshot({ path: join(folder, `reports-row-1400-${scheme}.png`) });
      assert.deepEqual(await problemsOf(page), [], `a row in ${scheme}`);
      await page.keyboard.press("Escape");
      await page.click("nav >> text=Impact");
      await page.click("text=what would change in the cluster");
      await page.waitForSelector(".impact .row.s-fail");
      await page.waitForSelector(".impact .cm-content");
      await page.screenshot({ path: join(folder, `impact-1400-${scheme}.png`) });
      assert.deepEqual(await problemsOf(page), [], `Impact in ${scheme}`);
      await closePage(page);
    }
  },
  async "axe finds nothing serious in Coverage and in a project with kept edits, in light and dark"({ browser }) {
    const project = projectOf("probes", "known-teams");
    const server = await startServer(project);
    for (const scheme of ["light", "dark"]) {
      const page = await openPage(browser, server.address, { scheme });
      await judged(page);
      await page.click(".column.rule .cm-content");
      await page.keyboard.type("# an edit");
      await page.reload();
      await page.waitForSelector(".notice");
      await judged(page);
      assert.deepEqual(await problemsOf(page), [], `a project in ${scheme}`);
      await page.click("nav >> text=Coverage");
      await page.click("text=run the tests");
      await page.waitForSelector(".coverage .count.s-pass", { timeout: 60_000 });
      await page.screenshot({ path: join(folder, `coverage-1400-${scheme}.png`) });
      assert.deepEqual(await problemsOf(page), [], `Coverage in ${scheme}`);
      await closePage(page);
    }
    server.stop();
    rmSync(project, { recursive: true });
  },
  async "axe finds nothing serious in panels"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy.replace("pattern:", "patern:")), objects(pod)]) });
    await judged(page);
    for (const open of ["header button:text-is('examples')", "header button:text-is('share')", ".actions button:text-is('JSON')", ".problems button:has-text('explain')"]) {
      await page.locator(open).first().click();
      await page.waitForSelector("dialog .content > *");
      await page.waitForTimeout(150);
      assert.deepEqual(await problemsOf(page), [], open);
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog", { state: "detached" });
    }
    await closePage(page);
  },
  async "is usable at 200 % zoom"({ browser, address }) {
    // A window of 1280 pixels at 200 % has room for 640.
    const page = await openPage(browser, address, { width: 640, height: 450 });
    await judged(page);
    assert.equal(await isScrolledSideways(page), false);
    assert.ok(await page.isVisible(".row.open .reason"));
    await closePage(page);
  },
  async "is reached by the keyboard alone, and no editor keeps it"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(pod)]) });
    await judged(page);
    await tabTo(page, ".top .brand");
    await tabTo(page, ".top button");
    await tabTo(page, ".column.rule [role=tab]");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.$eval(".column.rule [role=tab][aria-selected=true]", (tab) => tab.textContent), "exceptions");
    await page.keyboard.press("ArrowLeft");
    await tabTo(page, ".column.rule .cm-content");
    await page.keyboard.press("Tab");
    assert.ok(!(await page.evaluate(() => document.activeElement.matches(".column.rule .cm-content"))));
    await tabTo(page, ".column.object .cm-content");
    await tabTo(page, ".actions button");
    await tabTo(page, ".row .head");
    await tabTo(page, "[role=treeitem]");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.waitForSelector(".cm-line.line-pointed");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, "none");
    for (let at = 0; at < 4; at += 1) await page.keyboard.press("ArrowLeft");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-level")), "1");
    await closePage(page);
  },
  async "opens and closes panels by keys, and gives the focus back"({ browser, address }) {
    const page = await openPage(browser, address);
    await judged(page);
    await page.focus("header button:text-is('share')");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog .link-text");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "share");
    await closePage(page);
  },
  async "changes between light and dark, and keeps the choice in this tab"({ browser, address }) {
    const page = await openPage(browser, address, { scheme: "dark" });
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const night = await paper();
    await page.click("button[title='light or dark']");
    const day = await paper();
    assert.notEqual(day, night);
    await page.reload();
    assert.equal(await paper(), day);
    await closePage(page);
  },
};
