//! Charts in the style of public ones, compared with what Helm 3.21 writes for them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;

/// The share of lines that must be traced to a template, in percent.
const MIN_TRACED_PERCENT: usize = 95;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts").join(name)
}

/// Returns a chart as it is rendered here, and what Helm writes.
#[track_caller]
fn chart(name: &str) -> (RenderedChart, String) {
    let options = RenderOptions { helm_namespace: Some("shop".to_owned()), ..RenderOptions::default() };
    let chart = match RenderedChart::render(&folder(name), "demo", &options) {
        Ok(chart) => chart,
        Err(error) => panic!("{name}: {error}"),
    };
    let helm = fs::read_to_string(folder(&format!("{name}.rendered.yaml"))).expect("what Helm writes");
    (chart, helm)
}

/// Returns the documents of an output, whatever their order.
fn documents(text: &str) -> BTreeSet<String> {
    lines::split_documents(text).into_iter().map(|document| document.trim().to_owned()).collect()
}

#[test]
fn charts_are_rendered_as_helm_renders_them() {
    for name in ["web", "pipeline", "platform"] {
        let (chart, helm) = chart(name);
        let (own, want) = (chart.output().expect("an output"), helm);
        assert_eq!(documents(&own), documents(&want), "{name}");
    }
}

#[test]
fn lines_of_helm_are_traced_to_templates() {
    let (mut traced, mut all) = (0, 0);
    for name in ["web", "pipeline", "platform"] {
        let (chart, helm) = chart(name);
        let (_, found, of) = origins_of_output(&chart, &helm, &|_| None);
        println!("{name}: {found} of {of} lines are traced to their templates");
        traced += found;
        all += of;
    }
    assert!(traced * 100 >= all * MIN_TRACED_PERCENT, "{traced} of {all}");
}

/// Checks that the line of Helm's output that contains `line` comes from `template` and shows `value`.
#[track_caller]
fn comes_from(name: &str, line: &str, template: &str, value: &str) {
    let (chart, helm) = chart(name);
    let (origins, _, _) = origins_of_output(&chart, &helm, &|_| None);
    let source = Source::new("helm", helm.clone()).made_from(origins);
    let number = (1..).zip(helm.lines()).find(|(_, text)| text.contains(line)).map(|(number, _)| number);
    let origin = number.and_then(|number| source.origin(number)).expect("an origin");
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let text = origin.source.line(origin.line).unwrap_or_default().trim().to_owned();
    assert_eq!(format!("{}:{} {text}", file(&origin.source.name), origin.line), template, "{line}");
    let shown =
        origin.value.as_ref().map(|value| format!("{}:{} {}", file(&value.file), value.line, value.path));
    assert_eq!(shown.unwrap_or_default(), value, "{line}");
}

#[test]
fn a_line_names_its_template_and_its_value() {
    comes_from("web", "kind: Deployment", "deployment.yaml:2 kind: Deployment", "");
    comes_from(
        "web",
        "image: \"registry",
        "deployment.yaml:37 image: \"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\"",
        "values.yaml:5 image.repository",
    );
    comes_from(
        "web",
        "memory: 256Mi",
        "deployment.yaml:53 {{- toYaml .Values.resources | nindent 12 }}",
        "values.yaml:58 resources.limits.memory",
    );
    comes_from(
        "web",
        "- ALL",
        "deployment.yaml:36 {{- toYaml .Values.securityContext | nindent 12 }}",
        "values.yaml:33 securityContext.capabilities.drop.0",
    );
    comes_from(
        "web",
        "prometheus.io/scrape",
        "deployment.yaml:18 {{- toYaml . | nindent 8 }}",
        "values.yaml:23 podAnnotations.prometheus.io/scrape",
    );
    comes_from(
        "web",
        "pathType: Exact",
        "ingress.yaml:37 pathType: {{ .pathType }}",
        "values.yaml:49 ingress.hosts.0.paths.1.pathType",
    );
    comes_from(
        "web",
        "helm.sh/chart",
        "serviceaccount.yaml:7 {{- include \"web.labels\" . | nindent 4 }}",
        "",
    );
    comes_from(
        "platform",
        "- port: 6379",
        "cache.yaml:9 - port: {{ .Values.port }}",
        "values.yaml:2 cache.port",
    );
    comes_from(
        "platform",
        "# memory",
        "cache.yaml:10 # memory: {{ .Values.memory }}",
        "values.yaml:13 cache.memory",
    );
}

#[test]
fn what_is_not_rendered_alike_is_not_traced() {
    let (chart, helm) = chart("web");
    let other = helm.replace("targetPort: http", "targetPort: other");
    let (origins, found, all) = origins_of_output(&chart, &other, &|_| None);
    let source = Source::new("helm", other.clone()).made_from(origins);
    let number = (1..).zip(other.lines()).find(|(_, text)| text.contains("targetPort: other"));
    assert!(number.is_some_and(|(number, _)| source.origin(number).is_none()));
    assert!(found < all);
}

#[test]
fn a_template_that_is_not_understood_does_not_spoil_the_others() {
    let folder = std::env::temp_dir().join(format!("kubewright-chart-{}", std::process::id()));
    let templates = folder.join("templates");
    fs::create_dir_all(&templates).expect("a folder");
    for (name, text) in [
        ("Chart.yaml", "apiVersion: v2\nname: odd\nversion: 1.0.0\n"),
        ("templates/a.yaml", "a: {{ .Release.Name }}\n"),
        ("templates/b.yaml", "b: {{ noSuchFunction }}\n"),
        ("templates/c.yaml", "c: {{ fail \"no\" }}\n"),
        ("templates/d.yaml", "d: {{ randAlphaNum 8 }}\n"),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
    let chart = RenderedChart::render(&folder, "demo", &RenderOptions::default()).expect("a chart");
    fs::remove_dir_all(&folder).expect("no folder");
    assert!(chart.output().is_err());
    let text = "---\n# Source: odd/templates/a.yaml\na: demo\n---\n# Source: odd/templates/b.yaml\nb: 1\n";
    let (_, traced, all) = origins_of_output(&chart, text, &|_| None);
    assert_eq!((traced, all), (1, 2));
}
