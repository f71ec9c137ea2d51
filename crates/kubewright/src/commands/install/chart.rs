//! The templates of the Helm chart, rendered as Helm does.

use kubewright_gotemplate::{FunctionSet, GoTemplate, Inputs, TemplateContext};
use kubewright_value::{Budget, Map, Value};

use super::{broken, flags, languages};
use crate::failure::Failure;

/// The values of the chart with what each is for.
pub(super) const VALUES: &str = include_str!("../../../chart/values.yaml");

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../chart/templates/", $name)))),*]
    };
}

/// The templates in the order in which their objects are to be made. The definitions of rules are not among them: they
/// come from the rule languages.
pub(super) const TEMPLATES: [(&str, &str); 9] = templates![
    "namespace.yaml",
    "serviceaccount.yaml",
    "rbac.yaml",
    "certificates.yaml",
    "service.yaml",
    "networkpolicy.yaml",
    "poddisruptionbudget.yaml",
    "deployment.yaml",
    "podmonitor.yaml",
];

const NAMES: &str = include_str!("../../../chart/templates/_names.tpl");

/// What Helm calls a release.
pub(super) struct Release<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
}

/// Returns the manifests of a release, those of each template together.
///
/// # Errors
/// When a template does not fit the values.
pub(super) fn render(release: &Release<'_>, values: &Value) -> Result<Vec<String>, Failure> {
    let mut rendered = Vec::with_capacity(TEMPLATES.len());
    for (name, text) in TEMPLATES {
        rendered.extend(render_one(release, values, (name, text))?);
    }
    Ok(rendered)
}

/// Returns the manifests of one template; nothing where there are none.
///
/// # Errors
/// When the template does not fit the values.
pub(super) fn render_one(
    release: &Release<'_>,
    values: &Value,
    (name, text): (&str, &str),
) -> Result<Option<String>, Failure> {
    let context = TemplateContext::new()
        .native("Values", values.clone())
        .native("Release", release.value())
        .native("Chart", object([("Name", "kubewright"), ("AppVersion", env!("CARGO_PKG_VERSION"))]));
    let defined = format!("{NAMES}{}{}", languages::rights(), flags::arguments_template());
    let text = GoTemplate::parse(name, &format!("{defined}{text}"), &FunctionSet::rules())
        .and_then(|template| template.render(&context, &Inputs::default(), &mut Budget::default()))
        .map_err(|error| broken(&error))?;
    let text = text.trim().trim_start_matches("---").trim();
    Ok((!text.is_empty()).then(|| format!("{text}\n")))
}

impl Release<'_> {
    fn value(&self) -> Value {
        object([("Name", self.name), ("Namespace", self.namespace), ("Service", "kubewright")])
    }
}

fn object<const N: usize>(fields: [(&str, &str); N]) -> Value {
    Value::from(fields.into_iter().map(|(key, value)| (key.into(), value.into())).collect::<Map>())
}
