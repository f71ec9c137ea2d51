//! The templates of the Helm chart, rendered as Helm does.

use kubewright_gotemplate::{FunctionSet, GoTemplate, Inputs, TemplateContext};
use kubewright_value::{Budget, Map, Value};

use super::{broken_chart, flags, languages};
use crate::failure::CommandFailure;

/// The values of the chart, with comments.
pub(super) const VALUES: &str = include_str!("../../../chart/values.yaml");

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../chart/templates/", $name)))),*]
    };
}

/// The templates, in the order in which their objects are created. The CustomResourceDefinitions are not among them: they
/// come from the rule languages.
pub(super) const TEMPLATES: [(&str, &str); 13] = templates![
    "namespace.yaml",
    "serviceaccount.yaml",
    "rbac.yaml",
    "certificates.yaml",
    "service.yaml",
    "networkpolicy.yaml",
    "poddisruptionbudget.yaml",
    "deployment.yaml",
    "podmonitor.yaml",
    "scan-rbac.yaml",
    "scan-flowcontrol.yaml",
    "scan.yaml",
    "prometheusrule.yaml",
];

const NAMES: &str = include_str!("../../../chart/templates/_names.tpl");

const SCAN_NAMES: &str = include_str!("../../../chart/templates/_scan.tpl");

/// What Helm calls a release.
pub(super) struct HelmRelease<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
}

/// Returns the manifests of a release, those of each template together.
///
/// # Errors
/// When a template does not fit the values.
pub(super) fn render_release(
    release: &HelmRelease<'_>,
    values: &Value,
) -> Result<Vec<String>, CommandFailure> {
    let mut rendered = Vec::with_capacity(TEMPLATES.len());
    for (name, text) in TEMPLATES {
        rendered.extend(render_chart_template(release, values, (name, text))?);
    }
    Ok(rendered)
}

/// Returns the manifests of one template; nothing where there are none.
///
/// # Errors
/// When the template does not fit the values.
pub(super) fn render_chart_template(
    release: &HelmRelease<'_>,
    values: &Value,
    (name, text): (&str, &str),
) -> Result<Option<String>, CommandFailure> {
    let context = TemplateContext::new()
        .native("Values", values.clone())
        .native("Release", release.value())
        .native("Chart", string_map([("Name", "kubewright"), ("AppVersion", env!("CARGO_PKG_VERSION"))]));
    let defined = format!("{NAMES}{SCAN_NAMES}{}{}", languages::rbac_template(), flags::arguments_template());
    let text = GoTemplate::parse(name, &format!("{defined}{text}"), &FunctionSet::rules())
        .and_then(|template| template.render(&context, &Inputs::default(), &mut Budget::default()))
        .map_err(|error| broken_chart(&error))?;
    let text = text.trim().trim_start_matches("---").trim();
    Ok((!text.is_empty()).then(|| format!("{text}\n")))
}

impl HelmRelease<'_> {
    fn value(&self) -> Value {
        string_map([("Name", self.name), ("Namespace", self.namespace), ("Service", "kubewright")])
    }
}

fn string_map<const N: usize>(fields: [(&str, &str); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value.into())).collect::<Map>())
}
