//! `install`: the manifests that install the webhook in a cluster.
//!
//! They are those of the Helm chart, whose templates are part of the binary: one source for both.

mod chart;
mod flags;
mod languages;

use std::io::Write as _;

use kubewright_report::cluster_report::ReportApi;
use kubewright_value::{Value, yaml};

use crate::arguments::{self, InstallArguments, SHARED_FLAGS};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::standard_output;
use chart::HelmRelease;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run_install(arguments: &InstallArguments) -> Result<ExitStatus, CommandFailure> {
    let names = match arguments.flags.dialects.as_slice() {
        [] => arguments::check_languages().into_iter().map(str::to_owned).collect(),
        chosen => chosen.to_vec(),
    };
    let release = HelmRelease { name: &arguments.name, namespace: &arguments.namespace };
    let values = chart_values(arguments, &names)?;
    let mut documents = Vec::new();
    if !arguments.no_crds {
        let namespaces = languages::namespaces_template(false);
        documents.extend(chart::render_chart_template(&release, &values, ("namespaces", &namespaces))?);
        documents
            .extend(names.iter().map(|name| languages::language_crds(name)).filter(|text| !text.is_empty()));
    }
    if arguments.report_crds {
        documents.extend(ReportApi::ALL.map(report_crds));
    }
    if !arguments.crds {
        let mut rendered = chart::render_release(&release, &values)?.into_iter();
        // The namespace first, then the CustomResourceDefinitions, then the server that reads them.
        documents.splice(0..0, rendered.next());
        documents.extend(rendered);
    }
    let mut out = standard_output();
    out.write_all(documents.join("---\n").as_bytes())?;
    out.flush()?;
    Ok(ExitStatus::Clean)
}

/// Returns the CustomResourceDefinitions of a group of reports as one YAML stream.
fn report_crds(api: ReportApi) -> String {
    let text = api.definitions().trim().trim_start_matches("---").trim();
    format!("{text}\n")
}

/// Returns the values of the chart with those of the command line.
fn chart_values(arguments: &InstallArguments, dialects: &[String]) -> Result<Value, CommandFailure> {
    let texts = |texts: &[String]| Value::array(texts.iter().map(|text| text.as_str().into()).collect());
    let mut chosen: Vec<(&[&str], Value)> = vec![
        (&["replicas"], i64::from(arguments.replicas).into()),
        (&["canRead"], texts(&arguments.can_read)),
        (&["registrySecrets"], texts(&arguments.registry_secrets)),
        (&["backgroundAccount"], arguments.background_account.as_deref().unwrap_or_default().into()),
        (&["namespace", "create"], true.into()),
        (&["certManager", "enabled"], arguments.cert_manager.into()),
        (&["scan", "enabled"], (!arguments.no_scan).into()),
        (&["scan", "canRead"], texts(&arguments.scan_can_read)),
        (&["scan", "ui"], arguments.scan_ui.into()),
    ];
    if let Some([repository, tag, digest]) = arguments.image.as_deref().map(split_image) {
        chosen.push((&["image", "repository"], repository.into()));
        chosen.push((&["image", "tag"], tag.into()));
        chosen.push((&["image", "digest"], digest.into()));
    }
    let shared: Vec<[&str; 1]> = SHARED_FLAGS.iter().map(|flag| [flag.chart_value]).collect();
    chosen.extend(
        shared
            .iter()
            .zip(&SHARED_FLAGS)
            .map(|(path, flag)| (path.as_slice(), (flag.given)(&arguments.flags))),
    );
    // What was chosen in place of the default, which is all of them.
    chosen.push((&["dialects"], texts(dialects)));
    let mut values = yaml::parse(chart::VALUES).map_err(|error| broken_chart(&error))?;
    for (path, value) in chosen {
        let place = path.iter().try_fold(&mut values, |value, key| value.as_object_mut()?.get_mut(key));
        *place.ok_or_else(|| broken_chart(&format!("there is no value `{}`", path.join("."))))? = value;
    }
    Ok(values)
}

/// Takes an image apart into name, tag and digest; a colon before the last slash belongs to the port of a registry.
fn split_image(image: &str) -> [&str; 3] {
    let (rest, digest) = image.split_once('@').unwrap_or((image, ""));
    match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => [name, tag, digest],
        _ => [rest, "", digest],
    }
}

fn broken_chart(error: &dyn std::fmt::Display) -> CommandFailure {
    CommandFailure::usage(format!("the manifests cannot be rendered: {error}"))
}

#[cfg(test)]
mod tests;
