// The views of a cluster, on answers as the server gives them. The answers of a real control plane are tested in cluster.test.mjs.
import assert from "node:assert/strict";
import { closePage, judged, openPage } from "./driver.mjs";
import { hostileTexts } from "./hostile.test.mjs";
import { pod, policy } from "./try.test.mjs";

const counts = (fail, pass) => ({ pass, fail, warn: 0, error: 0, skip: 0 });
const row = (at, result = "fail") => ({
  id: `row-${at}`, source: "kubewright", policy: "team", rule: "label", result, severity: "high", category: "", message: "the label team is missing", timestamp: "1763380000",
  object: { apiVersion: "v1", kind: "Pod", namespace: at % 2 ? "shop" : "web", name: `pod-${at}`, uid: `u${at}` }, owner: at % 2 ? "payments" : "web", dialect: "kyverno", report: `PolicyReport/shop/r${at}`, properties: {},
});

/// A page whose server is in a cluster: the routes of the cluster answer as told here, and the others really.
export const openCluster = async ({ browser, address }, { rows = Array.from({ length: 6 }, (_, at) => row(at)), why, scheme = "light" } = {}) => {
  const page = await openPage(browser, address, { scheme });
  await judged(page);
  const asked = [];
  const answer = (path, value) => page.route(`**/api/v1/${path}`, (route) => {
    asked.push(decodeURIComponent(new URL(route.request().url()).search));
    void route.fulfill({ json: typeof value === "function" ? value(route) : value });
  });
  const about = { version: "0", mode: "cluster", features: { try: true, graph: true, reports: true, impact: true }, project: null, cluster: { context: "test", server: "" }, limits: {} };
  const start = JSON.stringify({ about, title: "", files: [], request: {}, answer: null });
  await page.route(address, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/(<script type="application\/json" id="start">)[^<]*/, (_, begin) => begin + start);
    await route.fulfill({ response, body });
  });
  await answer("reports?*", {
    summary: { namespaces: [{ namespace: "shop", ...counts(3, 9) }, { namespace: "web", ...counts(3, 4) }], total: counts(6, 13) },
    rows, total: rows.length, version: "1", facets: { policy: [["team", 6]], severity: [["high", 6]], kind: [["Pod", 6]], result: [["fail", 6]], source: [["kubewright", 6]], owner: [["payments", 3], ["web", 3]] },
  });
  await answer("blocked", { rows: [{ time: "2026-11-17T10:00:00Z", count: 2, object: { kind: "Pod", namespace: "shop", name: "no" }, policy: "team", rule: "kyverno/team/label", message: "the label team is missing" }] });
  await page.route("**/api/v1/scan", (route) => route.fulfill({ contentType: "text/event-stream", body: "event: progress\ndata: {\"phase\":\"judging\",\"judged\":40,\"total\":100,\"objectsPerSecond\":12,\"pending\":3,\"lastPass\":null,\"isLeader\":true}\n\n" }));
  await answer("why?*", why ?? {});
  await answer("impact", { impacts: [{ kind: "Pod", namespace: "shop", name: "web", place: "", owner: "Deployment/web", change: "refused", rules: [{ rule: "kyverno/team/label", message: "the label team is missing" }] }], summary: { objects: 12, refused: 1, warned: 0, patched: 0, released: 0 } });
  await page.reload();
  await page.waitForSelector(".reports");
  page.asked = asked;
  return page;
};

/// What `/why` answers: that of `/try` about one object, with its texts.
export const whyAnswer = async (address) => {
  const files = [{ name: "rules.yaml", role: "rules", text: policy }, { name: "objects.yaml", role: "objects", text: pod }];
  const answer = await fetch(`${address}api/v1/try`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ files }) });
  return { ...await answer.json(), files, differs: [{ rule: "label", report: "pass", now: "fail" }] };
};

export const reportCases = {
  async "shows namespaces and results first, and filters by a click"(given) {
    const page = await openCluster(given);
    await page.waitForSelector(".report-top .grid");
    await page.click("[aria-label='3 fail in shop']");
    await page.waitForFunction(() => document.querySelector("[aria-label='3 fail in shop']").getAttribute("aria-pressed") === "true");
    await page.selectOption(".filters label:has-text('owner') select", "payments");
    await page.waitForTimeout(400);
    assert.ok(page.asked.some((query) => query.includes("namespace=shop") && query.includes("result=fail") && query.includes("owner=payments")), page.asked.join(" "));
    assert.match(await page.getAttribute("a.button:text-is('CSV')", "href"), /reports\.csv\?.*owner=payments/);
    await closePage(page);
  },
  async "opens a row with the reason as of now, and says that it differs from the report"(given) {
    const page = await openCluster(given, { why: await whyAnswer(given.address) });
    await page.click(".rows-table button >> nth=0");
    await page.waitForSelector("dialog .code-line.line-cause");
    const text = await page.textContent("dialog");
    assert.match(text, /the report says pass, now it is fail/);
    assert.match(text, /the label team is missing/);
    assert.equal(await page.$$eval("dialog .code-line.line-cause", (lines) => lines.length), 2);
    await closePage(page);
  },
  async "shows the scan, refused admissions, and the impact of a rule"(given) {
    const page = await openCluster(given);
    await page.waitForSelector("progress");
    assert.match(await page.textContent(".scan-line"), /40 of 100/);
    await page.click("summary:has-text('refused admission')");
    assert.match(await page.textContent(".reports"), /Pod shop\/no/);
    await page.click("nav >> text=Impact");
    await page.click("text=what would change in the cluster");
    await page.waitForSelector(".impact .row.s-fail");
    assert.match(await page.textContent(".impact"), /12 objects: 1 newly refused/);
    await closePage(page);
  },
  async "runs nothing of hostile texts in reports"(given) {
    const rows = hostileTexts.map((text, at) => ({ ...row(at), policy: text, rule: text, message: text, owner: text, severity: text, object: { apiVersion: "v1", kind: text, namespace: text, name: text, uid: text } }));
    const page = await openCluster(given, { rows });
    await page.waitForFunction((count) => document.querySelectorAll(".rows-table tbody tr").length === count, rows.length);
    assert.equal(await page.evaluate(() => window.owned), undefined);
    assert.equal(await page.$$eval("#page script, #page img:not(.cm-widgetBuffer), #page iframe", (found) => found.length), 0);
    await closePage(page);
  },
};
