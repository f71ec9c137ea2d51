// How long a person waits: until the page can be used, and from a key to the outcome.
import assert from "node:assert/strict";
import { closePage, fragmentOf, isLong, judged, objects, openPage, rules, slack } from "./driver.mjs";

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

export const speedCases = {
  async "is usable at once"({ browser, address }) {
    const times = [];
    for (let at = 0; at < 5; at += 1) {
      const page = await openPage(browser, address);
      await judged(page);
      // The first outcome is drawn when the summary is there; what counts is the time since the navigation began.
      times.push(await page.evaluate(() => performance.getEntriesByName("outcome-shown")[0].startTime));
      await closePage(page);
    }
    console.log(`   first outcome after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
    assert.ok(percentile(times, 0.5) <= MAX_LOAD_MILLIS * slack, `${percentile(times, 0.5)} ms`);
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
