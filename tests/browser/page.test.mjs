// The page of `kubewright graph -o html` in a real browser: node page.test.mjs KUBEWRIGHT
//
// Draws a generated cluster, then does what a person does: zoom, pan, search, arrows, hover, click, hide, change the light.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const program = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), "kubewright-page-"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || undefined, args: ["--no-sandbox", "--disable-gpu"] });

// About `count` objects: a Service, a StatefulSet with two Pods, a ConfigMap and a Secret for each application.
const cluster = (count) => {
  const items = [];
  const add = (apiVersion, kind, namespace, name, more = {}) =>
    items.push({ apiVersion, kind, ...more, metadata: { name, namespace, uid: `${kind}-${namespace}-${name}`, ...more.metadata } });
  for (let at = 0; items.length < count; at += 1) {
    const [namespace, app] = [`team-${Math.floor(at / 12)}`, `app-${at}`];
    const labels = { app };
    const spec = { containers: [{ name: app, image: "a:1", envFrom: [{ configMapRef: { name: app } }, { secretRef: { name: app } }] }] };
    add("v1", "Service", namespace, app, { spec: { selector: labels } });
    add("apps/v1", "StatefulSet", namespace, app, { spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } } });
    const owner = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: app, uid: `StatefulSet-${namespace}-${app}`, controller: true }];
    for (const copy of [0, 1]) add("v1", "Pod", namespace, `${app}-${copy}`, { metadata: { labels, ownerReferences: owner }, spec });
    add("v1", "ConfigMap", namespace, app);
    if (at % 9) add("v1", "Secret", namespace, app, { data: { key: "c2VjcmV0LXZhbHVl" } });
  }
  return { apiVersion: "v1", kind: "List", items };
};

/// Opens a picture, and notes errors and requests.
const openFile = async (file, scheme = "light") => {
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 }, colorScheme: scheme });
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") page.wrong.push(message.text()); });
  page.on("request", (request) => { if (!request.url().startsWith("file:")) page.wrong.push(request.url()); });
  const begin = performance.now();
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("#map[data-scale]");
  page.loaded = performance.now() - begin;
  return page;
};
const open = async (name, objects, scheme = "light", more = []) => {
  const file = join(folder, `${name}.html`);
  execFileSync(program, ["graph", "-r", "-", "-o", `html=${file}`, ...more], { input: JSON.stringify(objects) });
  return openFile(file, scheme);
};
const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const view = async (page) => { await frame(page); return page.$eval("#map", (map) => map.getAttribute("viewBox")); };
const title = (page) => page.$eval("#card", (card) => card.hidden ? "" : card.querySelector("p").textContent.split("\n")[0]);

const cases = {
  async "a watched picture follows its objects"() {
    const [objects, file] = [join(folder, "watched.json"), join(folder, "watched.html")];
    const save = (count) => {
      writeFileSync(`${objects}.new`, JSON.stringify(cluster(count)));
      renameSync(`${objects}.new`, objects);
    };
    save(6);
    const watching = spawn(program, ["graph", "-r", objects, "-o", `html=${file}`, "--watch"]);
    try {
      await new Promise((done) => watching.stderr.on("data", (text) => { if (String(text).includes("watching ")) done(); }));
      const page = await openFile(file);
      assert.equal(await page.evaluate(() => document.body.textContent.includes("app-3")), false);
      save(24);
      await page.waitForFunction(() => document.body.textContent.includes("app-3"), null, { timeout: 60_000 });
      return page;
    } finally {
      watching.kill("SIGINT");
    }
  },

  async "pans, zooms and shows all again"() {
    const page = await open("moves", cluster(60));
    const all = await view(page);
    await page.mouse.move(900, 400);
    await page.mouse.wheel(0, -600);
    const near = await view(page);
    assert.notEqual(near, all);
    await page.mouse.move(330, 20);
    await page.mouse.down();
    await page.mouse.move(430, 90, { steps: 4 });
    await page.mouse.up();
    assert.notEqual(await view(page), near);
    await page.keyboard.press("0");
    assert.equal(await view(page), all);
    return page;
  },
  async "finds by name, and arrows lead from box to box"() {
    const page = await open("finds", cluster(60));
    await page.keyboard.press("/");
    await page.keyboard.type("service app-3");
    assert.equal(await page.$eval("#hits", (hits) => hits.textContent), "1");
    await page.keyboard.press("Enter");
    assert.equal(await title(page), "Service team-0/app-3");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    assert.equal(await title(page), "StatefulSet team-0/app-3");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await title(page), "Service team-0/app-3");
    await page.keyboard.press("Escape");
    assert.equal(await title(page), "");
    return page;
  },
  async "zooms to what is found, and to a finding"() {
    const page = await open("zooms", cluster(120), "light", ["--findings"]);
    const all = await view(page);
    await page.keyboard.press("/");
    await page.keyboard.type("app-3");
    const [near, wide] = [await view(page), Number(all.split(" ")[2])];
    assert.ok(Number(near.split(" ")[2]) < wide, `${near} in ${all}`);
    await page.keyboard.press("Escape");
    await page.keyboard.press("0");
    await page.click("#findings li button >> nth=0");
    assert.notEqual(await title(page), "");
    assert.ok(Number((await view(page)).split(" ")[2]) < wide);
    return page;
  },
  async "tells fields on hover and both ways on click"() {
    const page = await open("tells", cluster(12));
    const spot = await page.evaluate(() => {
      for (const line of document.querySelectorAll("#view .e .h")) {
        for (const share of [0.45, 0.3, 0.2, 0.7, 0.8]) {
          const at = line.getPointAtLength(line.getTotalLength() * share).matrixTransform(line.getScreenCTM());
          if (document.elementFromPoint(at.x, at.y) === line) return [at.x, at.y];
        }
      }
      return null;
    });
    await page.mouse.move(...spot);
    await frame(page);
    assert.match(await page.$eval("#tip", (tip) => tip.textContent), / via [a-z]/);
    const pods = page.locator("#view .n", { hasText: "×2" }).first();
    await pods.click();
    const edges = await page.$$eval("#card li button", (all) => all.map((one) => one.textContent.slice(0, 1)));
    assert.ok(edges.includes("→") && edges.includes("←"), edges.join());
    return page;
  },
  async "hides lines by type"() {
    const page = await open("hides", cluster(60));
    await page.click(".types summary");
    await page.click(".types input >> nth=0");
    assert.ok(await page.$$eval("#view .e.no", (all) => all.length) > 0);
    return page;
  },
  async "is dark where the system is, and changes"() {
    const page = await open("dark", cluster(12), "dark");
    const paper = () => page.$eval("main", (main) => getComputedStyle(main).backgroundColor);
    const night = await paper();
    await page.click("#theme");
    assert.notEqual(await paper(), night);
    return page;
  },
  async "runs nothing that a name brings along"() {
    const name = "\"><img src=x onerror=window.owned=1></script><script>window.owned=1</script>";
    const page = await open("hostile", { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: name } }, "light", ["--title", name]);
    await page.keyboard.press("/");
    await page.keyboard.type("pod");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => window.owned), undefined);
    assert.ok((await title(page)).includes(name));
    return page;
  },
  async "is ready at once with 2,000 objects"() {
    const page = await open("many", cluster(2_000), "light", ["--apps-above", "100000", "--each"]);
    const step = await page.evaluate(async () => {
      const map = document.getElementById("map");
      const begin = performance.now();
      for (let at = 0; at < 20; at += 1) {
        map.dispatchEvent(new WheelEvent("wheel", { deltaY: at % 2 ? 100 : -100, clientX: 800, clientY: 400, bubbles: true, cancelable: true }));
        await new Promise((done) => requestAnimationFrame(done));
      }
      return (performance.now() - begin) / 20;
    });
    const boxes = await page.$$eval("#view .n", (all) => all.length);
    console.log(`   ${boxes} boxes, loaded in ${page.loaded.toFixed(0)} ms, a step of zoom ${step.toFixed(0)} ms`);
    assert.ok(boxes <= 1_500);
    // Wide, because the machine may be busy and draws without a graphics card.
    assert.ok(page.loaded < 8_000 && step < 400);
    return page;
  },
};

let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    const page = await run();
    assert.deepEqual(page.wrong, []);
    await page.close();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n   ${error.message.split("\n").join("\n   ")}`);
  }
}
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);
