//! Traits that people run, as files: each must be read without an error, and rendered on a sample component with
//! parameters made up from its schema.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_engine::DiagnosticLevel;
use kubewright_traits::schema::Schema;
use kubewright_traits::{
    self as traits, CompiledTrait, Instance, Manifest, RenderContext, RenderOptions, render_traits,
};
use kubewright_value::{Document, Map, Source, Value, yaml};

use super::super::{SuiteCaseResult, SuiteResult};

/// Runs the files of `folder`, if it is there.
pub(in super::super) fn run_published_traits(
    folder: &Path,
    prefix: &str,
) -> Result<Vec<SuiteResult>, String> {
    const NAME: &str = "trait/published";
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    if !NAME.starts_with(prefix) {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        cases.push(SuiteCaseResult {
            failure: load_trait_file(&Source::new(name.clone(), without_helm(&text))).err(),
            name,
        });
    }
    Ok(vec![SuiteResult { name: NAME.to_owned(), cases, uncounted: 0 }])
}

fn load_trait_file(source: &Arc<Source>) -> Result<(), String> {
    let reading = yaml::read(source);
    if let Some(problem) = reading.problems.first() {
        return Err(problem.message.clone());
    }
    let known: Vec<_> =
        reading.documents.iter().filter(|document| traits::is_trait_resource(document)).collect();
    if known.is_empty() {
        return Err("no document of the file is known".to_owned());
    }
    let found: Vec<String> = known
        .into_iter()
        .flat_map(traits::lint_trait_document)
        .filter(|diagnostic| diagnostic.severity() == DiagnosticLevel::Error)
        .map(|diagnostic| diagnostic.to_string())
        .collect();
    if !found.is_empty() {
        return Err(found.join("\n        "));
    }
    reading
        .documents
        .iter()
        .filter(|document| traits::is_trait_resource(document))
        .try_for_each(render_published_trait)
}

/// Renders a trait with everything that can be given to it.
fn render_published_trait(document: &Document) -> Result<(), String> {
    let (Some(of), _) = CompiledTrait::compile(document, &[]) else { return Ok(()) };
    let made = |schema: Option<&Schema>| {
        let value = schema.map(|schema| sample_value(&schema.to_json_schema())).unwrap_or_default();
        Document::made(value, Source::new("sample", ""))
    };
    let sections = of.sections();
    let parameters = made(sections.parameters.as_ref());
    let environment_configs = made(sections.environment_configs.as_ref());
    let instance = Instance { of, name: "sample".into(), parameters, environment_configs };
    let base = yaml::read(&Source::new("base.yaml", BASE)).documents.into_iter().enumerate();
    let base = base.map(|(number, document)| Manifest::given(number, document.value)).collect();
    let mut context = RenderContext::new();
    let values = yaml::parse(CONTEXT).map_err(|error| error.to_string())?;
    for (name, value) in values.as_object().into_iter().flat_map(Map::iter) {
        context.set(name, value.clone());
    }
    let rendering = render_traits(base, &[instance], &context, &RenderOptions::default());
    let errors = rendering.diagnostics.iter().filter(|found| found.is_error()).map(ToString::to_string);
    let errors: Vec<String> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n        ")) }
}

/// Returns a value that fits a JSON schema: its default or what its type allows, and every field of an object.
fn sample_value(schema: &Value) -> Value {
    let choice = schema.get("enum").and_then(Value::as_array).and_then(<[Value]>::first);
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let fields = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter);
            Value::object(fields.map(|(name, schema)| (name.clone(), sample_value(schema))).collect())
        }
        Some("array") => match schema.get("items") {
            Some(items) => Value::array(vec![sample_value(items)]),
            None => Value::array(Vec::new()),
        },
        _ if choice.is_some() => choice.cloned().unwrap_or_default(),
        Some("boolean") => true.into(),
        Some("integer" | "number") => {
            let least = schema.get("minimum").and_then(Value::as_i64).unwrap_or(1);
            schema.get("default").cloned().unwrap_or_else(|| least.max(1).into())
        }
        // What is split at a colon has two parts.
        Some("string") => schema
            .get("default")
            .cloned()
            .filter(|text| text != &"".into())
            .unwrap_or_else(|| "sample:1".into()),
        _ => Value::Null,
    }
}

const CONTEXT: &str = "
metadata:
  name: storefront-development-1a2b3c4d
  namespace: shop-development
  componentName: storefront
  componentNamespace: shop
  componentUID: 6f1f0f6e-0000-4000-8000-000000000001
  projectName: shop
  projectUID: 6f1f0f6e-0000-4000-8000-000000000002
  environmentName: development
  environmentUID: 6f1f0f6e-0000-4000-8000-000000000003
  dataPlaneName: here
  dataPlaneUID: 6f1f0f6e-0000-4000-8000-000000000004
  labels: {app: storefront}
  annotations: {}
  podSelectors: {app: storefront}
dataplane: {secretStore: vault}
environment: {}
gateway: {ingress: {external: {name: public, namespace: gateways, http: {host: example.com, port: 80}}}}
workload:
  container: {image: registry.example.com/storefront:1}
  endpoints:
    http: {port: 8080, targetPort: 8080, type: HTTP, basePath: /, visibility: [project, external]}
configurations: {configs: {envs: [], files: []}, secrets: {envs: [], files: []}}
dependencies: {items: [], resources: [], envVars: [], volumeMounts: [], volumes: []}
derived:
  servicePorts: [{name: http, port: 8080, targetPort: 8080, protocol: TCP}]
";

const BASE: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: storefront-development-1a2b3c4d, namespace: shop-development}
spec:
  replicas: 2
  selector: {matchLabels: {app: storefront}}
  template:
    metadata: {labels: {app: storefront}}
    spec:
      containers: [{name: main, image: 'registry.example.com/storefront:1', env: [{name: A, value: b}]}]
---
apiVersion: v1
kind: Service
metadata: {name: storefront, namespace: shop-development}
spec: {selector: {app: storefront}, ports: [{name: http, port: 8080, targetPort: 8080}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: storefront-http, namespace: shop-development, labels: {openchoreo.dev/endpoint-visibility: external, openchoreo.dev/endpoint-name: http}}
spec:
  parentRefs: [{name: public, namespace: gateways}]
  hostnames: [example.com]
  rules: [{matches: [{path: {type: PathPrefix, value: /}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}], backendRefs: [{name: storefront, port: 8080}]}]
";

/// Some files are templates of Helm: lines that only steer it go, and what it would put in becomes a word.
fn without_helm(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("{{") && trimmed.ends_with("}}") {
            continue;
        }
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((_, behind)) = after.split_once("}}") else { break };
            plain.push_str(before);
            plain.push_str("helm");
            rest = behind;
        }
        plain.push_str(rest);
        plain.push('\n');
    }
    plain
}
