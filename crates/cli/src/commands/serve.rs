//! `kubewright serve`: the admission webhook.

use std::net::SocketAddr;

use kubewright_cluster::{Config, Login};
use kubewright_dialects::{DialectOptions, KeySource};
use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_report::text::listed_paths;
use kubewright_serve::access::account_user;
use kubewright_serve::{ServeError, ServeSettings, Snapshot, random_bytes, run_offline};
use kubewright_value::Document;

use crate::arguments::ServeArguments;
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{CommandFailure, ExitStatus};
use crate::fixtures::FixtureValues;
use crate::output::{ColorChoice, refuse_input};
use crate::rule_inputs::{print_diagnostics, read_world};
use crate::rules;

/// The default port for health and metrics.
const HEALTH_PORT: u16 = 8080;

/// Serves until the stop signal.
///
/// # Errors
/// When the server cannot start.
pub(crate) fn run_serve(
    arguments: &ServeArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    if arguments.offline { without_cluster(arguments, color) } else { in_cluster(arguments) }
}

fn in_cluster(arguments: &ServeArguments) -> Result<ExitStatus, CommandFailure> {
    let config = Config::find(arguments.kubeconfig.as_deref(), arguments.context.as_deref());
    let config = config.map_err(|error| {
        CommandFailure::usage(error.to_string()).help("without a cluster use `--offline -p RULES`")
    })?;
    let mut settings = serve_settings(arguments);
    // A pod uses its own namespace. A server elsewhere needs a namespace for its Secret, which is exempt from all rules.
    let is_pod = matches!(config.login, Login::TokenFile(_)) && arguments.kubeconfig.is_none();
    if let Some(namespace) = arguments.namespace.clone().or_else(|| is_pod.then(|| config.namespace.clone()))
    {
        settings.namespace = namespace;
    }
    let makes_namespace = !is_pod && arguments.namespace.is_none();
    kubewright_serve::run_in_cluster(settings, config, makes_namespace)
        .map_err(|error| serve_failure(&error))?;
    Ok(ExitStatus::Clean)
}

fn without_cluster(arguments: &ServeArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    let mut diagnostics = Vec::new();
    let found = files::find_files(&arguments.policies);
    diagnostics.extend(found.problems);
    let documents = files::read_documents(&found.inputs, &mut diagnostics);
    let documents = files::objects_of(documents, &mut diagnostics);
    let world = read_world(&arguments.world, FixtureValues::default(), &mut diagnostics);
    let exceptions = files::find_files(&arguments.exceptions);
    diagnostics.extend(exceptions.problems);
    let mut settings = serve_settings(arguments);
    settings.options.exceptions =
        rules::take_exceptions(files::read_documents(&exceptions.inputs, &mut diagnostics));
    let snapshot = Snapshot::of(&settings.options, &settings.dialects, &documents, 1);
    diagnostics.extend(snapshot.states.iter().flat_map(|state| state.diagnostics.iter().cloned()));
    diagnostics.extend(unserved_diagnostics(&snapshot, &settings.options, documents));
    let is_empty = snapshot.states.iter().all(|state| state.rules == 0);
    if is_empty && diagnostics.is_empty() {
        let message = format!("no rules found in {}", listed_paths(&arguments.policies));
        diagnostics.push(codes::about_path(&NOTHING_FOUND, &arguments.policies.join(" "), message));
    }
    print_diagnostics(&diagnostics, color.paint_errors());
    if is_empty {
        return Err(CommandFailure::usage("there are no rules to serve"));
    }
    let ca = arguments.write_ca.as_deref();
    if let Some(folder) = &arguments.tls_dir {
        ["tls.crt", "tls.key", "ca.crt"].iter().for_each(|name| files::register(&folder.join(name)));
    }
    ca.map_or(Ok(()), refuse_input)?;
    run_offline(settings, snapshot, Box::new(world), ca).map_err(|error| serve_failure(&error))?;
    Ok(ExitStatus::Clean)
}

/// Returns the diagnostics of those `documents` that the server does not serve.
fn unserved_diagnostics(
    snapshot: &Snapshot,
    options: &DialectOptions,
    mut documents: Vec<Document>,
) -> Vec<Diagnostic> {
    documents.retain(|document| !snapshot.dialects().any(|dialect| dialect.claims(document)));
    kubewright_dialects::load_documents(&kubewright_dialects::all_dialects(options), &documents).diagnostics
}

pub(super) fn serve_failure(error: &ServeError) -> CommandFailure {
    let failure = CommandFailure::usage(error.to_string());
    match error {
        ServeError::Listen(..) => {
            failure.help("choose other addresses with `--address` and `--health-address`")
        }
        ServeError::Certificate(_) => {
            failure.help("the folder of `--tls-dir` has the files tls.crt, tls.key and ca.crt")
        }
        ServeError::ClientCa(_) => failure.help("`--client-ca` takes a file with certificates in PEM"),
        ServeError::Write(..) => failure.help("`--write-ca` takes a file in an existing folder"),
        ServeError::Cluster(_) | ServeError::Start(_) => failure,
    }
}

/// Returns the user name of a ServiceAccount that is given as `namespace/name`.
fn account_name(account: &str) -> Option<String> {
    account.split_once('/').map(|(namespace, name)| account_user(namespace, name))
}

fn serve_settings(arguments: &ServeArguments) -> ServeSettings {
    let beside = match arguments.address.port() {
        0 => SocketAddr::new(arguments.address.ip(), 0),
        _ => SocketAddr::new(arguments.address.ip(), HEALTH_PORT),
    };
    let usual = ServeSettings::default();
    let mut options = rules::dialect_options(&arguments.options, None);
    let valid_from = options.inputs.now.unwrap_or_default();
    options.inputs.random_seed = random_bytes().map(u64::from_be_bytes);
    options.inputs.keys = random_bytes().map(|seed| KeySource { seed, valid_from });
    options.modrule.fails_closed = arguments.fail_closed;
    options.modrule.targets.clone_from(&arguments.flags.targets);
    ServeSettings {
        address: arguments.address,
        health_address: arguments.health_address.unwrap_or(beside),
        dialects: arguments.flags.dialects.clone(),
        options,
        name: arguments.name.clone(),
        service: arguments.service.clone().unwrap_or_else(|| arguments.name.clone()),
        url: arguments.url.as_deref().map(|url| url.trim_end_matches('/').to_owned()),
        exception_namespaces: arguments.flags.exceptions_from.clone(),
        allowed_hosts: arguments.flags.allowed_hosts.clone(),
        generates_admission_policies: arguments.flags.generate_vap,
        allowed_registries: arguments.flags.allowed_registries.clone(),
        has_success_events: arguments.success_events,
        guard_exempt: arguments.guard_exempt.clone(),
        background_account: arguments.background_account.as_deref().and_then(account_name),
        injected_from: arguments.inject_ca_from.clone(),
        certificate_life: arguments.certificate_life.unwrap_or(usual.certificate_life),
        certificate_grace: arguments.certificate_grace.unwrap_or(usual.certificate_grace),
        tls_folder: arguments.tls_dir.clone(),
        client_ca: arguments.client_ca.clone(),
        allows_tls12: arguments.allow_tls12,
        max_in_flight: arguments.max_in_flight.unwrap_or(usual.max_in_flight),
        drain: arguments.drain,
        log_level: arguments.log_level,
        otlp_endpoint: arguments.otlp_endpoint.clone(),
        ..usual
    }
}
