// The page of `kubewright ui` in a real browser: node ui.test.mjs KUBEWRIGHT [WORD]
//
// Runs the cases whose names contain WORD. KUBEWRIGHT_BROWSER=long runs every example and the measurements of a release build.
import { startBrowser, startServer } from "./driver.mjs";
import { exampleCases } from "./examples.test.mjs";
import { graphCases } from "./graph.test.mjs";
import { hostileCases } from "./hostile.test.mjs";
import { lookCases } from "./look.test.mjs";
import { misfireCases } from "./misfires.test.mjs";
import { reportCases } from "./reports.test.mjs";
import { speedCases } from "./speed.test.mjs";
import { tryCases } from "./try.test.mjs";
import { viewCases } from "./views.test.mjs";

const word = process.argv[3] ?? "";
const server = await startServer();
const browser = await startBrowser();
let failed = 0;
for (const [name, run] of Object.entries({ ...tryCases, ...misfireCases, ...exampleCases, ...viewCases, ...graphCases, ...reportCases, ...hostileCases, ...lookCases, ...speedCases })) {
  if (!name.includes(word)) continue;
  const begin = performance.now();
  try {
    await run({ browser, address: server.address });
    console.log(`ok ${name} (${((performance.now() - begin) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n   ${(error.stack ?? String(error)).split("\n").slice(0, 40).join("\n   ")}`);
  }
}
await browser.close();
server.stop();
process.exit(failed ? 1 : 0);
