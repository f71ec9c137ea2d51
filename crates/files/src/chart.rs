//! Helm charts, rendered here: to find the template and the value behind each line that Helm writes, and in place of Helm
//! where that is not installed.
//!
//! Helm's own output is what is judged whenever there is one. A line is only traced to its template if the document around
//! it is rendered here byte by byte as Helm wrote it.

mod lines;
mod values;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_gotemplate::{HelmTemplates, RenderedTemplate};
use kubewright_value::{Budget, Limits, Map, Source, Value, yaml};

use crate::rendered::RenderOptions;
pub(crate) use lines::origins_of_output;
use values::{ChartValues, condition_holds};

/// How many steps and bytes rendering one template may take.
const TEMPLATE_LIMITS: Limits = Limits { steps: 50_000_000, bytes: 256 << 20, depth: 256 };

/// How deep charts may be nested.
const MAX_SUBCHARTS: usize = 8;

/// How large a file of a chart may be.
const MAX_CHART_FILE_BYTES: u64 = 4 << 20;

/// The Kubernetes version that templates see, as long as no cluster says another.
const KUBE_VERSION: &str = "v1.33.0";

/// The API versions that templates see.
const API_VERSIONS: &[&str] = &[
    "v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
    "networking.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
];

/// A chart that was rendered, with those below it.
#[derive(Debug)]
pub(crate) struct RenderedChart {
    templates: Vec<ChartTemplate>,
    values: ChartValues,
    /// Why templates are missing.
    errors: Vec<String>,
}

/// A template that was rendered.
#[derive(Debug)]
struct ChartTemplate {
    /// As Helm calls it: `shop/templates/web.yaml`.
    name: String,
    /// The file.
    source: Arc<Source>,
    /// The names of the charts below the first one, by which its values are found.
    scope: Vec<String>,
    rendered: RenderedTemplate,
}

/// A chart whose templates wait to be rendered.
struct LoadedChart {
    /// The name in paths: `shop`, `shop/charts/redis`.
    path: String,
    scope: Vec<String>,
    root: Map,
    is_library: bool,
    templates: Vec<(String, PathBuf)>,
}

impl RenderedChart {
    /// Renders the chart in `folder`.
    ///
    /// # Errors
    /// When it is not understood here, in words.
    pub(crate) fn render(folder: &Path, release: &str, options: &RenderOptions) -> Result<Self, String> {
        let values = ChartValues::read(folder, options)?;
        let mut charts = Vec::new();
        let release = release_value(release, options);
        load_chart(folder, (&values.merged, &release), &[], &mut charts)?;
        let mut files = Vec::new();
        // Named templates of a chart replace those of the charts below it.
        for chart in charts.iter().rev() {
            for (name, path) in &chart.templates {
                files.push((name.clone(), read_chart_file(path)?));
            }
        }
        let (parsed, errors) = HelmTemplates::parse(&files);
        let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let mut templates = Vec::new();
        for chart in charts.iter().filter(|chart| !chart.is_library) {
            let wanted = chart.templates.iter().filter(|(name, _)| is_manifest_template(name));
            for (name, path) in wanted.filter(|(name, _)| parsed.has_file(name)) {
                let text = files.iter().find(|(other, _)| other == name).map(|(_, text)| text.clone());
                let mut budget = Budget::new(TEMPLATE_LIMITS);
                let rendered = match parsed.render(name, &chart.root_of(name), &mut budget) {
                    Ok(rendered) => rendered,
                    Err(error) => {
                        errors.push(error.to_string());
                        continue;
                    }
                };
                templates.push(ChartTemplate {
                    name: name.clone(),
                    source: Source::new(path_text(path), text.unwrap_or_default()),
                    scope: chart.scope.clone(),
                    rendered,
                });
            }
        }
        Ok(Self { templates, values, errors })
    }

    /// Returns everything as Helm would write it, though in the order of the templates.
    ///
    /// # Errors
    /// When a template could not be rendered, in words.
    pub(crate) fn output(&self) -> Result<String, String> {
        if let Some(error) = self.errors.first() {
            return Err(error.clone());
        }
        let mut out = String::new();
        for template in &self.templates {
            for document in lines::split_documents(&template.rendered.text) {
                let has_content =
                    document.lines().any(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
                if has_content {
                    out.push_str(&format!("---\n# Source: {}\n{}\n", template.name, document.trim_end()));
                }
            }
        }
        Ok(out)
    }
}

impl LoadedChart {
    /// Returns the dot of the template `name`.
    fn root_of(&self, name: &str) -> Value {
        let mut root = self.root.clone();
        let template =
            Map::from([("Name", Value::from(name)), ("BasePath", format!("{}/templates", self.path).into())]);
        root.insert("Template".into(), template.into());
        root.into()
    }
}

/// Returns whether Helm writes what the template prints.
fn is_manifest_template(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    !file.starts_with('_') && file != "NOTES.txt" && !file.ends_with(".tpl")
}

fn release_value(name: &str, options: &RenderOptions) -> Map {
    let namespace = options.helm_namespace.as_deref().unwrap_or("default");
    Map::from([
        ("IsInstall", Value::from(true)),
        ("IsUpgrade", false.into()),
        ("Name", name.into()),
        ("Namespace", namespace.into()),
        ("Revision", 1u64.into()),
        ("Service", "Helm".into()),
    ])
}

/// Loads a chart and those below it, the outer ones first.
fn load_chart(
    folder: &Path,
    (values, release): (&Value, &Map),
    above: &[(String, String)],
    charts: &mut Vec<LoadedChart>,
) -> Result<(), String> {
    if above.len() > MAX_SUBCHARTS {
        return Err(format!("charts are nested more than {MAX_SUBCHARTS} deep"));
    }
    let about =
        yaml::parse(&read_chart_file(&folder.join("Chart.yaml"))?).map_err(|error| error.to_string())?;
    let name = about.str_at(&["name"]).to_owned();
    let path = match above.last() {
        Some((_, parent)) => format!("{parent}/charts/{name}"),
        None => name.clone(),
    };
    let mut templates = Vec::new();
    find_chart_files(&folder.join("templates"), &format!("{path}/templates"), &mut templates, MAX_SUBCHARTS)?;
    let mut own: Vec<(String, String)> = above.to_vec();
    own.push((name, path.clone()));
    charts.push(LoadedChart {
        root: chart_root(&about, folder, (values, release), above.is_empty())?,
        path,
        scope: own.iter().skip(1).map(|(name, _)| name.clone()).collect(),
        is_library: about.str_at(&["type"]) == "library",
        templates,
    });
    load_subcharts(folder, &about, (values, release), &own, charts)
}

fn load_subcharts(
    folder: &Path,
    about: &Value,
    (values, release): (&Value, &Map),
    above: &[(String, String)],
    charts: &mut Vec<LoadedChart>,
) -> Result<(), String> {
    let mut below: Vec<PathBuf> = fs::read_dir(folder.join("charts"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    below.sort();
    let wanted = about.get("dependencies").and_then(Value::as_array).unwrap_or_default();
    for folder in below {
        if folder.extension().is_some_and(|extension| extension == "tgz") {
            return Err(format!("`{}` is an archive", folder.display()));
        }
        if !folder.join("Chart.yaml").is_file() {
            continue;
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let dependency = wanted.iter().find(|one| one.str_at(&["name"]) == name);
        if dependency.is_some_and(|one| one.get("alias").is_some() || one.get("import-values").is_some()) {
            return Err(format!("the dependency `{name}` has an alias or imports values"));
        }
        if dependency.is_some_and(|one| !condition_holds(one.str_at(&["condition"]), values)) {
            continue;
        }
        let inner = values::subchart_values(&folder, &name, values)?;
        load_chart(&folder, (&inner, release), above, charts)?;
    }
    Ok(())
}

/// Returns the dot of a chart's templates, without what differs between them.
fn chart_root(
    about: &Value,
    folder: &Path,
    (values, release): (&Value, &Map),
    is_outermost: bool,
) -> Result<Map, String> {
    let mut chart = Map::new();
    for (key, value) in about.as_object().into_iter().flat_map(Map::iter) {
        let mut letters = key.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase().to_string()).unwrap_or_default();
        chart.insert(format!("{first}{}", letters.as_str()).into(), value.clone());
    }
    chart.insert("IsRoot".into(), is_outermost.into());
    let version = KUBE_VERSION.trim_start_matches('v');
    let mut numbers = version.split('.');
    let kube_version = Map::from([
        ("Version", Value::from(KUBE_VERSION)),
        ("GitVersion", KUBE_VERSION.into()),
        ("Major", numbers.next().unwrap_or_default().into()),
        ("Minor", numbers.next().unwrap_or_default().into()),
    ]);
    let versions = API_VERSIONS.iter().map(|version| Value::from(*version)).collect();
    let capabilities =
        Map::from([("KubeVersion", Value::from(kube_version)), ("APIVersions", Value::array(versions))]);
    Ok(Map::from([
        ("Values", values.clone()),
        ("Release", release.clone().into()),
        ("Chart", chart.into()),
        ("Capabilities", capabilities.into()),
        ("Files", chart_files(folder)?.into()),
    ]))
}

/// Returns the texts of the files beside the templates, by path.
fn chart_files(folder: &Path) -> Result<Map, String> {
    let mut found = Vec::new();
    find_chart_files(folder, "", &mut found, MAX_SUBCHARTS)?;
    let mut files = Map::new();
    for (name, path) in found {
        let name = name.trim_start_matches('/');
        let is_special = ["templates/", "charts/", "crds/"].iter().any(|start| name.starts_with(start));
        if is_special || matches!(name, "Chart.yaml" | "values.yaml" | "values.schema.json") {
            continue;
        }
        if let Ok(text) = read_chart_file(&path) {
            files.insert(name.into(), text.into());
        }
    }
    Ok(files)
}

/// Finds the files in `folder` and below, sorted, each with its name below `name`.
fn find_chart_files(
    folder: &Path,
    name: &str,
    found: &mut Vec<(String, PathBuf)>,
    deeper: usize,
) -> Result<(), String> {
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        match fs::metadata(entry.path()) {
            Ok(data) if data.is_dir() && deeper == 0 => return Err(format!("`{name}` is nested too deep")),
            Ok(data) if data.is_dir() => find_chart_files(&entry.path(), &name, found, deeper - 1)?,
            Ok(data) if data.is_file() => found.push((name, entry.path())),
            _ => {}
        }
    }
    Ok(())
}

fn read_chart_file(path: &Path) -> Result<String, String> {
    crate::registry::register(path);
    let is_small = fs::metadata(path).is_ok_and(|data| data.len() <= MAX_CHART_FILE_BYTES);
    let text = if is_small { fs::read_to_string(path).ok() } else { None };
    text.ok_or_else(|| format!("cannot read `{}`", path.display()))
}

/// Returns a path as users write it.
fn path_text(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests;
