//! `kubewright serve`: the admission webhook.

use std::fs::File;
use std::io::Read as _;
use std::net::SocketAddr;

use kubewright_cluster::{Config, Login};
use kubewright_dialects::{DialectOptions, KeySource};
use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_report::text::listed;
use kubewright_serve::{ServeError, ServeSettings, Snapshot, run_offline};
use kubewright_value::Document;

use crate::arguments::Serve;
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{Exit, Failure};
use crate::fixtures::Values;
use crate::output::{ColorChoice, refuse_input};
use crate::rule_inputs::{complain, world};
use crate::rules;

/// The port beside that of reviews.
const HEALTH_PORT: u16 = 8080;

/// Serves until it is told to stop.
///
/// # Errors
/// When it cannot begin.
pub(crate) fn run(arguments: &Serve, color: ColorChoice) -> Result<Exit, Failure> {
    if arguments.offline { without_cluster(arguments, color) } else { in_cluster(arguments) }
}

fn in_cluster(arguments: &Serve) -> Result<Exit, Failure> {
    let config = Config::find(arguments.kubeconfig.as_deref(), arguments.context.as_deref());
    let config = config.map_err(|error| {
        Failure::usage(error.to_string()).help("without a cluster use `--offline -p RULES`")
    })?;
    let mut settings = settings(arguments);
    // A pod is at home in its namespace. A server elsewhere needs a place for its Secret, and no rule counts there.
    let is_pod = matches!(config.login, Login::TokenFile(_)) && arguments.kubeconfig.is_none();
    if let Some(namespace) = arguments.namespace.clone().or_else(|| is_pod.then(|| config.namespace.clone()))
    {
        settings.namespace = namespace;
    }
    let makes_namespace = !is_pod && arguments.namespace.is_none();
    kubewright_serve::run_in_cluster(settings, config, makes_namespace).map_err(|error| failure(&error))?;
    Ok(Exit::Clean)
}

fn without_cluster(arguments: &Serve, color: ColorChoice) -> Result<Exit, Failure> {
    let mut diagnostics = Vec::new();
    let found = files::find(&arguments.policies);
    diagnostics.extend(found.problems);
    let documents = files::read_documents(&found.inputs, &mut diagnostics);
    let documents = files::objects_of(documents, &mut diagnostics);
    let world = world(&arguments.world, Values::default(), &mut diagnostics);
    let exceptions = files::find(&arguments.exceptions);
    diagnostics.extend(exceptions.problems);
    let mut settings = settings(arguments);
    settings.options.exceptions =
        rules::exceptions(files::read_documents(&exceptions.inputs, &mut diagnostics));
    let snapshot = Snapshot::of(&settings.options, &settings.dialects, &documents, 1);
    diagnostics.extend(snapshot.states.iter().flat_map(|state| state.diagnostics.iter().cloned()));
    diagnostics.extend(of_others(&snapshot, &settings.options, documents));
    let is_empty = snapshot.states.iter().all(|state| state.rules == 0);
    if is_empty && diagnostics.is_empty() {
        let message = format!("no rules found in {}", listed(&arguments.policies));
        diagnostics.push(codes::about_path(&NOTHING_FOUND, &arguments.policies.join(" "), message));
    }
    complain(&diagnostics, color.paint_errors());
    if is_empty {
        return Err(Failure::usage("there is no rule to serve"));
    }
    let ca = arguments.write_ca.as_deref();
    if let Some(folder) = &arguments.tls_dir {
        ["tls.crt", "tls.key", "ca.crt"].iter().for_each(|name| files::register(&folder.join(name)));
    }
    ca.map_or(Ok(()), refuse_input)?;
    run_offline(settings, snapshot, Box::new(world), ca).map_err(|error| failure(&error))?;
    Ok(Exit::Clean)
}

/// Returns what is wrong with those of `documents` that the server does not read.
fn of_others(snapshot: &Snapshot, options: &DialectOptions, mut documents: Vec<Document>) -> Vec<Diagnostic> {
    documents.retain(|document| !snapshot.dialects().any(|dialect| dialect.claims(document)));
    kubewright_dialects::load_documents(&kubewright_dialects::all_dialects(options), &documents).diagnostics
}

fn failure(error: &ServeError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        ServeError::Listen(..) => {
            failure.help("choose other addresses with `--address` and `--health-address`")
        }
        ServeError::Certificate(_) => {
            failure.help("the folder of `--tls-dir` has the files tls.crt, tls.key and ca.crt")
        }
        ServeError::Write(..) => failure.help("`--write-ca` names a file in a folder that is there"),
        ServeError::Cluster(_) | ServeError::Start(_) => failure,
    }
}

/// Returns bytes that nobody can guess, for keys that templates make. Without any, templates make none.
fn random_bytes<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes)).ok()?;
    Some(bytes)
}

fn settings(arguments: &Serve) -> ServeSettings {
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
        guard_exempt: arguments.guard_exempt.clone(),
        injected_from: arguments.inject_ca_from.clone(),
        certificate_life: arguments.certificate_life.unwrap_or(usual.certificate_life),
        certificate_grace: arguments.certificate_grace.unwrap_or(usual.certificate_grace),
        tls_folder: arguments.tls_dir.clone(),
        allows_tls12: arguments.allow_tls12,
        max_in_flight: arguments.max_in_flight.unwrap_or(usual.max_in_flight),
        drain: arguments.drain,
        log_level: arguments.log_level,
        otlp_endpoint: arguments.otlp_endpoint.clone(),
        ..usual
    }
}
