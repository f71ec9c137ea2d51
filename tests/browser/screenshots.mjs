// Makes the pictures of docs/page.md: node screenshots.mjs KUBEWRIGHT
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { closePage, judged, openPage, startBrowser, startServer } from "./driver.mjs";

const repository = join(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = join(repository, "docs/pictures");
mkdirSync(folder, { recursive: true });
const server = await startServer();
const browser = await startBrowser();
const shoot = async (name, fragment, height, prepare = async () => {}) => {
  const page = await openPage(browser, server.address, { fragment, width: 1280, height });
  if (fragment !== "graph" && fragment !== "expressions") await judged(page);
  await prepare(page);
  // The time differs from run to run.
  await page.evaluate(() => document.querySelector(".elapsed")?.remove());
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await closePage(page);
};

await shoot("page-try", "", 540);
await shoot("page-pattern", "e/pattern/orphan-service", 560, async (page) => { await page.waitForSelector(".finding-picture svg"); });
await shoot("page-expressions", "expressions", 440, async (page) => { await page.waitForSelector(".functions dt"); });
await shoot("page-graph", "graph", 640, async (page) => {
  await page.selectOption(".source select", "paste");
  await page.fill(".source textarea", readFileSync(join(repository, "examples/pattern/shop.yaml"), "utf8"));
  await page.waitForSelector(".layer svg");
  await page.waitForTimeout(800);
});
await browser.close();
server.stop();
