// How long a person waits: until the page can be used, and from a key to the outcome.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { closePage, fragmentOf, isLong, judged, objects, openPage, rules, slack } from "./driver.mjs";

const LOAD_COUNT = isLong ? 21 : 7;
const PAUSE_MILLIS = 150;
const MAX_LOAD_MILLIS = 150;
const MAX_KEY_MILLIS = 100;

// 1,000 lines of rules and 200 objects; fewer for a build without optimization, which takes seconds for 14,400 outcomes.
const OBJECT_COUNT = isLong ? 200 : 20;
const KEY_COUNT = isLong ? 20 : 6;
const KEY_SLACK = isLong ? slack : 8 * slack;
const manyRules = Array.from({ length: 72 }, (_, at) => `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: policy-${at}}
spec:
  rules:
    - name: label
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: label-${at} is missing
        pattern:
          metadata:
            labels:
              app: "?*"
---
`).join("");
const manyObjects = Array.from({ length: OBJECT_COUNT }, (_, at) => `apiVersion: v1
kind: Pod
metadata: {name: pod-${at}, labels: {app: a}}
spec: {containers: [{name: a, image: "a:1"}]}
---
`).join("");

const percentile = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];

/// A page that does nothing but say when it was drawn: what the browser and the machine take for any page.
const startBarePage = async () => {
  const texts = { "/": ["text/html", "<!doctype html><title>bare</title><script type=module src=/a.js></script>"], "/a.js": ["text/javascript", 'requestAnimationFrame(() => setTimeout(() => performance.mark("shown")));'] };
  const server = createServer((request, response) => {
    const [type, text] = texts[request.url] ?? ["text/plain", ""];
    response.writeHead(200, { "content-type": type }).end(text);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
};

/// When something was first drawn, in milliseconds since the navigation began.
const markOf = async (page, name) => {
  await page.waitForFunction((mark) => performance.getEntriesByName(mark).length > 0, name);
  return page.evaluate((mark) => performance.getEntriesByName(mark)[0].startTime, name);
};

const shownAfter = async (browser, address, mark) => {
  const page = await openPage(browser, address);
  const time = await markOf(page, mark);
  await page.context().close();
  return time;
};

export const speedCases = {
  async "is usable at once"({ browser, address }) {
    const bare = await startBarePage();
    const times = { floor: [], outcome: [], editors: [] };
    for (let at = 0; at < LOAD_COUNT; at += 1) {
      times.floor.push(await shownAfter(browser, bare.address, "shown"));
      const page = await openPage(browser, address);
      await judged(page);
      times.outcome.push(await markOf(page, "outcome-shown"));
      times.editors.push(await markOf(page, "editor-shown"));
      await closePage(page);
    }
    bare.stop();
    const middle = (list) => percentile(list, 0.5);
    const text = Object.entries(times).map(([name, list]) => `${name} ${middle(list).toFixed(0)} (${list.map((time) => time.toFixed(0)).join(", ")})`).join("; ");
    console.log(`   ms after the navigation, median of ${LOAD_COUNT}; the floor is a page with one line of script: ${text}`);
    console.log(`   the first outcome takes ${(middle(times.outcome) / middle(times.floor)).toFixed(2)} times as long as the floor`);
    assert.ok(middle(times.outcome) <= MAX_LOAD_MILLIS * slack, `${middle(times.outcome)} ms`);
  },
  async [`shows the outcome soon after a key with 1,000 lines of rules and ${OBJECT_COUNT} objects`]({ browser, address }) {
    assert.ok(manyRules.split("\n").length > 1_000);
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(manyRules), objects(manyObjects)]) });
    await judged(page);
    await page.click(".column.object .cm-line >> nth=2");
    await page.keyboard.press("End");
    const times = [];
    for (let at = 0; at < KEY_COUNT; at += 1) {
      const before = await page.$eval(".column.outcome", (column) => Number(column.dataset.judged));
      await page.evaluate(() => { window.pressed = 0; document.addEventListener("keydown", () => { window.pressed = performance.now(); }, { once: true, capture: true }); });
      await page.keyboard.press(at % 2 ? "Backspace" : "Space");
      await judged(page, before);
      times.push(await page.evaluate(() => performance.getEntriesByName("outcome-shown").at(-1).startTime - window.pressed));
    }
    const beyond = percentile(times, 0.95) - PAUSE_MILLIS;
    console.log(`   key to outcome beyond the pause: median ${(percentile(times, 0.5) - PAUSE_MILLIS).toFixed(0)} ms, p95 ${beyond.toFixed(0)} ms`);
    assert.ok(beyond <= MAX_KEY_MILLIS * KEY_SLACK, `${beyond} ms`);
    await closePage(page);
  },
};
