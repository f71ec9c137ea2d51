// Two hundred texts that try to run a script, in every place where the page shows a text.
import assert from "node:assert/strict";
import { closePage, fragmentOf, judged, objects, openPage, rules } from "./driver.mjs";

const payloads = [
  "<script>P</script>", "\"><script>P</script>", "'><script>P</script>", "</script><script>P</script>", "</textarea><script>P</script>", "</style><script>P</script>", "</title><script>P</script>",
  "<img src=x onerror=P>", "\"><img src=x onerror=P>", "<svg onload=P>", "<svg><script>P</script></svg>", "<svg><animate onbegin=P attributeName=x dur=1s>", "<svg><a xlink:href=\"javascript:P\"><text>a</text></a></svg>",
  "<iframe srcdoc=\"<script>parent.P</script>\">", "<iframe src=\"javascript:parent.P\">", "<object data=\"javascript:P\">", "<embed src=\"javascript:P\">", "<math><mi xlink:href=\"javascript:P\">", "<body onload=P>", "<details open ontoggle=P>",
  "<input autofocus onfocus=P>", "<video><source onerror=P></video>", "<audio src=x onerror=P>", "<marquee onstart=P>", "<a href=\"javascript:P\">a</a>", "[a](javascript:P)", "![a](x\" onerror=\"P)", "`<img src=x onerror=P>`",
  "{{constructor.constructor('P')()}}", "${P}", "#{P}", "<%= P %>", "javascript:P", "data:text/html,<script>P</script>", "\" onmouseover=\"P", "' onfocus='P' autofocus='", "` onclick=`P", "<base href=//example.invalid/>",
  "<link rel=stylesheet href=//example.invalid/a.css>", "<style>@import '//example.invalid/a.css'</style>", "<meta http-equiv=refresh content=\"0;url=javascript:P\">", "<form action=\"javascript:P\"><button>", "<template><script>P</script></template>",
  "<noscript><p title=\"</noscript><img src=x onerror=P>\">", "<!--><img src=x onerror=P>-->", "<![CDATA[><img src=x onerror=P>]]>", "\u2028<img src=x onerror=P>", "\u202e<img src=x onerror=P>", "&lt;img src=x onerror=P&gt;", "\\u003cimg src=x onerror=P\\u003e",
];
const wrappers = [(text) => text, (text) => text.toUpperCase().replaceAll("WINDOW.OWNED=1", "window.owned=1"), (text) => `a${text}b`, (text) => text.replaceAll(" ", "/")];

/// Two hundred texts; each sets `window.owned` if it runs.
export const hostileTexts = wrappers.flatMap((wrap) => payloads.map((text) => wrap(text.replaceAll("P", "window.owned=1"))));

const quoted = (text) => JSON.stringify(text);

/// A rule and objects with ten of these texts in names, labels, messages, paths and values.
const textsWith = (texts) => {
  const at = (place) => quoted(texts[place % texts.length]);
  const policies = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: ${at(0)}
  annotations: {policies.kyverno.io/title: ${at(1)}, policies.kyverno.io/severity: ${at(2)}, policies.kyverno.io/category: ${at(3)}}
spec:
  validationFailureAction: ${at(4)}
  rules:
    - name: ${at(5)}
      match: {any: [{resources: {kinds: [Pod, ${at(6)}]}}]}
      validate:
        message: ${at(7)}
        pattern:
          metadata: {labels: {${at(8)}: ${at(9)}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
    - name: labels
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: ${at(3)}
        pattern: {metadata: {labels: {team: ${at(2)}}}}
    - name: change
      match: {any: [{resources: {kinds: [Pod]}}]}
      mutate: {patchStrategicMerge: {metadata: {annotations: {note: ${at(1)}}}}}
`;
  const pods = texts.map((text) => `apiVersion: v1
kind: Pod
metadata: {name: ${quoted(text)}, namespace: ${quoted(text)}, labels: {team: ${quoted(text)}, ${quoted(text)}: a}}
spec: {containers: [{name: ${quoted(text)}, image: ${quoted(text)}}]}
`).join("---\n");
  return [rules(policies), objects(pods), { name: texts[0], role: "world", text: pods }, { name: `${texts[1]}.yaml`, role: "exceptions", text: texts[2] }];
};

const isClean = async (page) => {
  assert.equal(await page.evaluate(() => window.owned), undefined);
  assert.equal(await page.$$eval("#page script, #page iframe, #page object, #page embed, #page img:not(.cm-widgetBuffer), #page base, #page [onerror], #page [onload]", (found) => found.length), 0);
};

export const hostileCases = {
  async "runs nothing of 200 hostile texts in rules, objects, names and links"({ browser, address }) {
    assert.equal(hostileTexts.length, 200);
    const page = await openPage(browser, address);
    await judged(page);
    for (let from = 0; from < hostileTexts.length; from += 10) {
      const fragment = fragmentOf(textsWith(hostileTexts.slice(from, from + 10)));
      const before = await page.$eval(".column.outcome", (column) => Number(column.dataset.judged));
      await page.evaluate((next) => { location.hash = next; }, fragment);
      await judged(page, before);
      for (const head of (await page.$$(".row .head")).slice(0, 3)) await head.click();
      await isClean(page);
    }
    await closePage(page);
  },
  async "runs nothing of hostile texts in fields, expressions and searches"({ browser, address }) {
    const page = await openPage(browser, address, { fragment: "expressions" });
    await page.waitForFunction(() => document.querySelectorAll(".cm-content").length === 2);
    const fields = await page.$$("input[type=search], .cm-content");
    assert.ok(fields.length >= 3);
    for (const text of hostileTexts.filter((_, at) => at % 4 === 0)) {
      for (const field of fields) {
        await field.click();
        await page.keyboard.press("Control+a");
        await page.keyboard.insertText(text);
      }
      await isClean(page);
    }
    await page.waitForTimeout(400);
    await isClean(page);
    await closePage(page);
  },
  async "runs nothing of hostile titles, codes and names of examples in a link"({ browser, address }) {
    const page = await openPage(browser, address);
    await judged(page);
    for (const text of hostileTexts.filter((_, at) => at % 4 === 0)) {
      const before = await page.$eval(".column.outcome", (column) => Number(column.dataset.judged));
      await page.evaluate((next) => { location.hash = next; }, `e/kyverno/${encodeURIComponent(text)}`);
      await judged(page, before);
      await page.waitForSelector(".failure");
      await isClean(page);
    }
    // There are no such examples, which the browser reports, too.
    page.wrong = page.wrong.filter((line) => !/ 40[04] /.test(line));
    await closePage(page);
  },
};
