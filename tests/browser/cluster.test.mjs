// The views of a cluster in a real browser: node cluster.test.mjs CASE ADDRESS
//
// The test `page_browser` of the crate `kubewright` starts the cluster, the programs and each case, and changes objects between them.
import assert from "node:assert/strict";
import { closePage, openPage, startBrowser } from "./driver.mjs";
import { problemsOf } from "./look.test.mjs";

const rule = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: named-port}
spec:
  validationFailureAction: Enforce
  rules:
    - name: name
      match: {any: [{resources: {kinds: [Service], namespaces: [shop]}}]}
      validate:
        message: give the port a name
        pattern: {spec: {ports: [{name: "?*"}]}}
`;

const PATIENCE_MILLIS = 60_000;

/// Fails if axe finds something in either colour scheme.
const checkAccess = async (page, view) => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await problemsOf(page), [], `${view} in ${colorScheme}`);
  }
};

const openRow = async (page, name) => {
  await page.click(`.rows-table tbody tr:has-text("${name}") button`);
  await page.waitForSelector("dialog .code-line", { timeout: PATIENCE_MILLIS });
  return page.textContent("dialog");
};

const cases = {
  /// Two of three Services have no team. While the page is open, the caller adds another one.
  async reports(page) {
    await page.waitForSelector("[aria-label='2 fail in shop']", { timeout: PATIENCE_MILLIS });
    await page.waitForFunction(() => /watching/.test(document.querySelector(".scan-line")?.textContent ?? ""), null, { timeout: PATIENCE_MILLIS });
    await checkAccess(page, "Reports");
    const text = await openRow(page, "web-0");
    assert.match(text, /team is missing/);
    assert.doesNotMatch(text, /the report says/);
    const marked = await page.$$eval("dialog .code-line.line-cause", (lines) => lines.map((line) => line.textContent));
    assert.ok(marked.some((line) => line.includes("team")), marked.join("\n"));
    assert.ok(await page.locator("dialog [role=treeitem]").count() > 0);
    const parts = await page.$$eval("dialog details summary", (found) => found.map((one) => one.textContent));
    assert.ok(parts.some((part) => part.startsWith("rule")) && parts.some((part) => part.startsWith("object")), parts.join());
    await checkAccess(page, "a row");
    await page.keyboard.press("Escape");
    await page.click("[aria-label='2 fail in shop']");
    await page.waitForFunction(() => document.querySelectorAll(".rows-table tbody tr").length === 2, null, { timeout: PATIENCE_MILLIS });
    await page.click("[aria-label='2 fail in shop']");
    console.log("ready for another Service");
    await page.waitForSelector("[aria-label='3 fail in shop']", { timeout: PATIENCE_MILLIS });
    assert.match(await page.textContent(".trend"), /\+1 fail/);
  },
  /// The caller labelled the Service `web-0` after the last scan.
  async differs(page) {
    await page.waitForSelector(".rows-table tbody tr", { timeout: PATIENCE_MILLIS });
    assert.match(await openRow(page, "web-0"), /the report says fail, now it is pass/);
    assert.doesNotMatch(await page.textContent("dialog .code-lines, dialog"), /No rule is about this object/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    assert.doesNotMatch(await openRow(page, "web-1"), /the report says/);
  },
  /// The webhook refused a ConfigMap.
  async blocked(page) {
    const summary = page.locator("summary", { hasText: "refused admission" });
    await summary.click({ timeout: PATIENCE_MILLIS });
    const text = await page.textContent("[aria-label='refused admissions']");
    assert.match(text, /ConfigMap shop\/unwanted/);
    assert.match(text, /no such map/);
    await checkAccess(page, "refused admissions");
  },
  async impact(page) {
    await page.click("nav >> text=Impact");
    await page.click(".impact .cm-content");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(rule);
    await page.click("text=what would change in the cluster");
    await page.waitForSelector(".impact .row.s-fail", { timeout: PATIENCE_MILLIS });
    const text = await page.textContent("[aria-label=Impact]");
    assert.match(text, /[1-9]\d* newly refused/);
    assert.match(text, /Service web-1 refused/);
    assert.match(text, /give the port a name/);
    await checkAccess(page, "Impact");
  },
  async graph(page) {
    await page.click("nav >> text=Graph");
    await page.waitForSelector(".layer svg", { timeout: PATIENCE_MILLIS });
    await page.fill(".side input[type=search]", "service lost");
    await page.press(".side input[type=search]", "Enter");
    await page.waitForSelector(".card");
    assert.match(await page.textContent(".card header"), /Service default\/lost/);
    assert.ok(await page.locator(".findings li", { hasText: "orphan-service" }).count() > 0);
    await checkAccess(page, "Graph");
  },
};

const [, , name, address] = process.argv;
const browser = await startBrowser();
try {
  const page = await openPage(browser, address);
  await cases[name](page);
  await closePage(page);
  console.log(`ok ${name}`);
} catch (error) {
  console.log(`FAILED ${name}\n${error.stack ?? error}`);
  process.exitCode = 1;
}
await browser.close();
process.exit();
