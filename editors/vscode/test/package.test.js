// The bundled extension loads and starts the server that its settings name. Run by `make editors`.

const assert = require("node:assert");
const { test } = require("node:test");
const Module = require("node:module");
const path = require("node:path");

const manifest = require("../package.json");

// Stands for every part of the editor's interface: callable, constructible, and with any property.
const stub = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === "then" ? undefined : stub),
  apply: () => stub,
  construct: () => stub,
});

test("the bundle exports what the editor calls", () => {
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? stub : load(name, ...rest));
  try {
    const extension = require(path.join("..", manifest.main));
    assert.strictEqual(typeof extension.activate, "function");
    assert.strictEqual(typeof extension.deactivate, "function");
  } finally {
    Module._load = load;
  }
});

test("the schemas that the manifest names are packaged", () => {
  for (const { url } of manifest.contributes.yamlValidation) {
    assert.ok(require(path.join("..", url)).$id);
  }
});
