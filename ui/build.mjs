// Builds the page into dist: node build.mjs [--check]
//
// dist is committed, so that `cargo build` needs no Node. It has index.html with the styles in it, and each asset compressed under a
// name with the hash of its content. `--check` builds in memory and fails when dist is outdated. It compares what the compressed files contain, because
// compressors differ between versions of Node.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const MAX_SENT_BYTES = 250_000;
const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

// The colours of pictures follow the system; here they also follow the toggle of the page.
const pictureTheme = {
  name: "picture-theme",
  setup(builder) {
    builder.onLoad({ filter: /picture\.css$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const dark = /@media \(prefers-color-scheme:dark\)\{[^{]*\{([^}]*)\}\}/.exec(text);
      if (!dark) throw new Error(`no dark colours in ${path}`);
      return { contents: `${text}\n:root[data-theme=dark] .kw{${dark[1]}}`, loader: "css" };
    });
  },
};

/// The script of the page, that of its editors, which the page loads when it shows an outcome, its styles and its icon. Scripts name
/// each other, so the bundler puts the hashes into the names.
const bundle = async () => {
  const { outputFiles } = await build({
    entryPoints: [join(here, "src/page.tsx")], absWorkingDir: here, entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]", splitting: true,
    bundle: true, minify: true, write: false, outdir: dist, format: "esm", target: "es2023", charset: "utf8", legalComments: "none",
    jsx: "automatic", jsxImportSource: "preact", plugins: [pictureTheme], logLevel: "warning",
  });
  const icon = readFileSync(join(here, "src/icon.svg"));
  const hash = createHash("sha256").update(icon).digest("hex").slice(0, 12);
  const found = outputFiles.map((file) => ({ name: basename(file.path), bytes: Buffer.from(file.contents) }));
  found.push({ name: `icon-${hash}.svg`, bytes: icon });
  found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const isStyle = ({ name }) => name.endsWith(".css");
  return { styles: found.filter(isStyle), assets: found.filter((file) => !isStyle(file)) };
};

/// The start page. Its styles stand in it, so that nothing but the script is fetched before it is drawn.
const indexOf = ({ styles, assets }) => {
  const text = readFileSync(join(here, "src/index.html"), "utf8").replace(/assets\/(\w+)\.(\w+)/g, (mark, stem, extension) => {
    const asset = assets.find(({ name }) => name.startsWith(`${stem}-`) && name.endsWith(`.${extension}`));
    if (!asset) throw new Error(`index.html names ${mark}, which is not built`);
    return `assets/${asset.name}`;
  });
  const style = styles.map(({ bytes }) => bytes.toString("utf8").trim()).join("\n");
  if (style.includes("</")) throw new Error("a style would end early");
  return text.replace("{{style}}", () => style);
};

const write = (page) => {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(join(dist, "assets"), { recursive: true });
  let total = 0;
  for (const asset of page.assets) {
    const compressed = gzipSync(asset.bytes, { level: 9 });
    writeFileSync(join(dist, "assets", `${asset.name}.gz`), compressed);
    total += compressed.length;
    console.log(`${asset.name}: ${asset.bytes.length} bytes, ${compressed.length} compressed`);
  }
  const index = Buffer.from(indexOf(page));
  writeFileSync(join(dist, "index.html"), index);
  console.log(`index.html: ${index.length} bytes, ${gzipSync(index, { level: 9 }).length} compressed`);
  total += index.length;
  console.log(`${total} bytes as they are sent`);
  if (total > MAX_SENT_BYTES) throw new Error(`the page has more than ${MAX_SENT_BYTES} bytes`);
};

const check = (page) => {
  const wanted = new Map([["index.html", Buffer.from(indexOf(page))]]);
  for (const asset of page.assets) wanted.set(`assets/${asset.name}.gz`, asset.bytes);
  const contentOf = (name) => {
    const stored = readFileSync(join(dist, name));
    return name.endsWith(".gz") ? gunzipSync(stored) : stored;
  };
  const outdated = [...wanted].filter(([name, bytes]) => !existsSync(join(dist, name)) || !contentOf(name).equals(bytes)).map(([name]) => name);
  const stored = existsSync(dist) ? readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()) : [];
  const unknown = stored.map((entry) => relative(dist, join(entry.parentPath, entry.name))).filter((name) => !wanted.has(name));
  if (outdated.length + unknown.length > 0) {
    console.error(`ui/dist is outdated, run \`make page\`: ${[...outdated, ...unknown].join(", ")}`);
    process.exit(1);
  }
  console.log("ui/dist is what ui/src builds");
};

const page = await bundle();
if (process.argv.includes("--check")) check(page); else write(page);
