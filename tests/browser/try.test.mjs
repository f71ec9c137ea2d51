// Rules, objects and outcome: what a person sees after opening a link or typing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { closePage, fragmentOf, judged, objects, openPage, rules, until } from "./driver.mjs";

export const policy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  validationFailureAction: Enforce
  rules:
    - name: label
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: the label team is missing
        pattern:
          metadata:
            labels:
              team: "?*"
`;
export const pod = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    app: web
spec:
  containers: [{name: web, image: "nginx:1.27"}]
`;
const labelled = pod.replace("app: web", "team: shop");
const misspelt = policy.replace("pattern:", "patern:");

/// The marked lines of the two editors, and what stands beside them.
const marksOf = (page, style) => page.$$eval(`.cm-line.${style}`, (lines) => lines.map((line) => line.textContent.trim()));

export const tryCases = {
  async "explains the start texts without a click, and marks both places"({ browser, address }) {
    const page = await openPage(browser, address);
    assert.match(await judged(page), /1 fail/);
    assert.match(await page.textContent(".row.open .reason"), /pin the version/);
    const marks = await marksOf(page, "line-cause");
    assert.equal(marks.length, 2, marks.join());
    assert.match(marks.join("\n"), /found "nginx:latest"/);
    assert.match(marks.join("\n"), /wanted/);
    await closePage(page);
  },
  async "judges what one types"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(pod)]) });
    assert.match(await judged(page), /1 fail/);
    const line = page.locator(".column.object .cm-line", { hasText: "app: web" });
    await line.click();
    await page.keyboard.press("End");
    await page.keyboard.type("\nteam: shop");
    await until(page, /1 pass/);
    for (let at = 0; at < 10; at += 1) await page.keyboard.press("Backspace");
    await until(page, /1 fail/);
    await closePage(page);
  },
  async "marks both places of the trace line that is pointed at or focused"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(pod)]) });
    await judged(page);
    await page.locator(".node", { hasText: "kinds" }).last().hover();
    const pointed = await marksOf(page, "line-pointed");
    assert.ok(pointed.some((line) => line.includes("kinds")) && pointed.some((line) => line.includes("kind: Pod")), pointed.join());
    await page.locator(".node").first().focus();
    await page.keyboard.press("End");
    await page.waitForSelector(".cm-line.line-pointed:has-text('team')");
    await closePage(page);
  },
  async "marks the trace lines of the rule line that has the cursor"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(pod)]) });
    await judged(page);
    await page.locator(".column.rule .cm-line", { hasText: "team: \"?*\"" }).click();
    assert.match((await page.$$eval(".node.used", (nodes) => nodes.map((node) => node.textContent))).join(), /labels.*team|team/);
    await closePage(page);
  },
  async "shows a mistake in its line, and the page about it"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(misspelt), objects(pod)]) });
    await judged(page);
    await page.waitForSelector(".column.rule .cm-lint-marker");
    await page.locator(".problems button", { hasText: "explain" }).first().click();
    await page.waitForSelector("dialog .markdown h3");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await closePage(page);
  },
  async "greys the lines that no object reached"({ browser, address }) {
    const two = policy.replace("        pattern:\n          metadata:\n            labels:\n              team: \"?*\"\n", `        anyPattern:
          - metadata:
              name: "w*"
          - metadata:
              name: "never"
`);
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(two), objects(pod)]) });
    assert.match(await judged(page), /1 pass/);
    await page.waitForSelector(".cm-line.line-unreached");
    assert.deepEqual(await marksOf(page, "line-unreached"), ["- metadata:", "name: \"never\""]);
    await closePage(page);
  },
  async "greys the rules that no object is in scope of, until one is"({ browser, address }) {
    const service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    const other = policy.replace("{name: team}", "{name: other}").replace("kinds: [Pod]", "kinds: [Service]").replace("name: label", "name: services");
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(`${policy}---\n${other}`), objects(pod)]) });
    assert.match(await judged(page), /1 fail/);
    await page.waitForSelector(".cm-line.line-unreached");
    const grey = await marksOf(page, "line-unreached");
    const rule = other.slice(other.indexOf("    - name: services")).trimEnd().split("\n").map((line) => line.trim());
    assert.deepEqual(grey, rule);
    await page.click(".column.object .cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText(`---\n${service}`);
    await until(page, /2 fail/);
    await page.waitForSelector(".cm-line.line-unreached", { state: "detached" });
    await closePage(page);
  },
  async "shares by a link that nothing is lost in"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(labelled)], { operation: "UPDATE" }) });
    assert.match(await judged(page), /1 pass/);
    await page.click("header button:text-is('share')");
    const link = await page.inputValue("dialog .link-text");
    assert.ok(link.startsWith(`${address}#1.`), link.slice(0, 80));
    await closePage(page);
    const again = await openPage(browser, address, { fragment: link.split("#")[1] });
    assert.match(await judged(again), /1 pass/);
    assert.equal(await again.inputValue(".request select"), "UPDATE");
    const text = await again.$$eval(".column.object .cm-line", (lines) => lines.map((line) => line.textContent).join("\n"));
    assert.equal(text, labelled);
    await closePage(again);
  },
  async "refuses damaged and enormous links"({ browser, address }) {
    const huge = fragmentOf([objects("a".repeat(2_000_000))]);
    for (const [fragment, words] of [["1.%%%", /damaged/], ["1.AAAA", /damaged/], ["9.abc", /version/], [huge, /1024 KiB/]]) {
      const page = await openPage(browser, address, { fragment });
      await page.waitForSelector(".failure");
      assert.match(await page.textContent(".failure"), words);
      await closePage(page);
    }
  },
  async "says when a link is long, and offers a file"({ browser, address }) {
    const noise = (count) => Array.from({ length: count }, (_, at) => `# ${Math.sin(at + 1)} ${Math.cos(at + 1)}`).join("\n");
    for (const [count, words] of [[600, /Chats may cut it/], [5_000, /too long for a link/]]) {
      const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(`${pod}${noise(count)}\n`)]) });
      await judged(page);
      await page.click("header button:text-is('share')");
      await page.waitForSelector("dialog .caution");
      assert.match(await page.textContent("dialog .caution"), words);
      const file = page.waitForEvent("download");
      await page.click("dialog >> text=download shared.json");
      const shared = JSON.parse(readFileSync(await (await file).path(), "utf8"));
      assert.equal(shared.files.length, 2);
      await closePage(page);
    }
  },
  async "keeps the texts over a reload, and nothing else"({ browser, address }) {
    const page = await openPage(browser, address);
    await judged(page);
    await page.locator(".column.object .cm-line", { hasText: "name: web" }).first().click();
    await page.keyboard.press("End");
    await page.keyboard.type("-two");
    await page.waitForSelector(".outcomes:has-text('shop/web-two')");
    await page.reload();
    await judged(page);
    assert.match(await page.textContent(".outcomes"), /shop\/web-two/);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    await closePage(page);
  },
  async "says where there is no rule, by the name of the text, and that nothing was judged"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules("hello\n"), objects(pod)]) });
    assert.match(await judged(page), /not judged: 1 mistake in the texts/);
    const problems = await page.textContent(".problems");
    assert.match(problems, /no rules found in `rules\.yaml`/);
    assert.match(problems, /such as a ClusterPolicy/);
    assert.ok(await page.isDisabled(".actions button:text-is('as a test')"));
    await page.click(".problems button:text-is('rules.yaml:1')");
    await page.waitForSelector(".column.rule .cm-line.line-pointed");
    await closePage(page);
  },
  async "says what the page does not judge, and that the outcome is of the texts before"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(pod)]) });
    await judged(page);
    await page.click(".column.object .cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText(`# ${"x".repeat(2_100_000)}`);
    await page.waitForSelector(".outcome .failure", { timeout: 30_000 });
    assert.match(await page.textContent(".outcome .scroll"), /more than 2 MiB.*texts as they were before/);
    page.wrong = page.wrong.filter((line) => !/ 413 /.test(line));
    await closePage(page);
  },
  async "shows an expression that fails with what it wants, and the object where a condition has no place in it"({ browser, address }) {
    const admission = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: "object.spec.replicas <= 5"}]
`;
    const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 9}\n";
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(admission), objects(deployment)]) });
    await judged(page);
    assert.match(await page.textContent(".row.open .cause"), /is 9.*object\.spec\.replicas <= 5/);
    const denied = policy.replace(/pattern:[\s\S]*/, "deny: {conditions: {all: [{key: a, operator: Equals, value: a}]}}\n");
    await page.goto(`${address}#${fragmentOf([rules(denied), objects(`${pod.replace("name: web", "name: other")}---\n${pod}`)])}`);
    await page.waitForSelector(".row.open .cause >> text=denied");
    await page.waitForSelector(".column.object .cm-line.line-cause");
    await closePage(page);
  },
  async "closes the examples by Escape, also from the search"({ browser, address }) {
    const page = await openPage(browser, address);
    await judged(page);
    await page.click("header button:text-is('examples')");
    await page.fill("dialog input", "latest");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await closePage(page);
  },
  async "opens a test, the rule in CEL with its proof, and a change that mends the object"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: fragmentOf([rules(policy), objects(pod)]) });
    await judged(page);
    const panel = async (button, wanted) => {
      await page.click(`.actions >> text="${button}"`);
      await page.waitForSelector("dialog .text-block, dialog .failure");
      assert.match(await page.textContent("dialog .content"), wanted);
    };
    await panel("as a test", /kubewright-test\.yaml[\s\S]*fail/);
    await page.keyboard.press("Escape");
    await panel("convert to CEL", /Proof: the old and the new rules agree[\s\S]*ValidatingPolicy/);
    assert.doesNotMatch(await page.textContent("dialog .content"), /unproven/);
    await page.keyboard.press("Escape");
    await panel("JSON", /"summary"/);
    await page.keyboard.press("Escape");
    await closePage(page);
  },
};
