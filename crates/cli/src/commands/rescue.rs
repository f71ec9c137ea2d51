//! `rescue`: removes the webhook configurations from a cluster.
//!
//! Configurations are removed before the servers are disabled: no webhook can refuse the deletion of a webhook
//! configuration, but one could refuse the annotation that disables the servers.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use kubewright_cluster::{Error, GroupVersionResource};
use kubewright_report::text::plural;
use kubewright_serve::webhooks::{CONFIGURATION_SELECTOR, WEBHOOKS_ANNOTATION};
use kubewright_value::{Map, Value};

use crate::arguments::RescueArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::live::LiveCluster;
use crate::output::{print_stderr, standard_output};

/// How long the annotation that disables the servers is retried.
const ANNOTATE_TIMEOUT: Duration = Duration::from_secs(15);
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// A webhook configuration that kubewright created.
struct Configuration {
    resource: GroupVersionResource,
    name: String,
    installation: String,
    webhooks: usize,
    failing: usize,
}

/// Runs the command.
///
/// # Errors
/// When there is no cluster, or the removal was not confirmed.
pub(crate) fn run_rescue(arguments: &RescueArguments) -> Result<ExitStatus, CommandFailure> {
    let live = LiveCluster::find(&arguments.cluster)?;
    let mut out = standard_output();
    if arguments.resume {
        let name = arguments.name.as_deref().unwrap_or("kubewright");
        if arguments.dry_run {
            writeln!(out, "would allow servers of `{name}` to create their webhook configurations again")?;
            out.flush()?;
            return Ok(ExitStatus::Clean);
        }
        return match annotate(&live, name, Value::Null) {
            Ok(()) => {
                writeln!(out, "servers of `{name}` create their webhook configurations again")?;
                out.flush()?;
                Ok(ExitStatus::Clean)
            }
            Err(error) => {
                Err(CommandFailure::usage(format!("cannot annotate the ClusterRole of `{name}`: {error}")))
            }
        };
    }
    let found = find_own_configurations(&live, arguments.name.as_deref())
        .map_err(|error| CommandFailure::usage(error.to_string()))?;
    if arguments.dry_run {
        for one in &found {
            writeln!(out, "would remove {one}")?;
        }
    }
    if found.is_empty() {
        writeln!(out, "no webhook configuration of kubewright found in {}", live.server())?;
    }
    out.flush()?;
    if arguments.dry_run || (found.is_empty() && !arguments.hold) {
        return Ok(ExitStatus::Clean);
    }
    if !arguments.yes {
        confirm_removal(&live, &found)?;
    }
    remove_and_disable(&live, &found, arguments)
}

/// Returns the configurations that have kubewright's labels.
fn find_own_configurations(
    live: &LiveCluster,
    installation: Option<&str>,
) -> Result<Vec<Configuration>, Error> {
    let mut found = Vec::new();
    let mut labels = CONFIGURATION_SELECTOR.to_owned();
    if let Some(name) = installation {
        labels.push_str(&format!(",app.kubernetes.io/instance={name}"));
    }
    for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let resource = GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural);
        for object in live.list(resource.all(), &labels)? {
            let text = |path: &[&str]| object.str_at(path).to_owned();
            let webhooks = object.get("webhooks").and_then(Value::as_array).unwrap_or_default();
            let fails =
                |webhook: &&Value| webhook.get("failurePolicy").and_then(Value::as_str) != Some("Ignore");
            found.push(Configuration {
                resource: resource.clone(),
                name: text(&["metadata", "name"]),
                installation: text(&["metadata", "labels", "app.kubernetes.io/instance"]),
                webhooks: webhooks.len(),
                failing: webhooks.iter().filter(fails).count(),
            });
        }
    }
    Ok(found)
}

fn confirm_removal(live: &LiveCluster, found: &[Configuration]) -> Result<(), CommandFailure> {
    if !io::stdin().is_terminal() {
        return Err(CommandFailure::usage("standard input is not a terminal; confirm with --yes")
            .help("`--dry-run` lists what would be removed"));
    }
    for one in found {
        print_stderr(format_args!("{one}"));
    }
    print_stderr(format_args!("remove them from {}? [y/N]", live.server()));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandFailure::usage("nothing was removed")),
    }
}

/// Removes the configurations in `found`, disables the servers if requested, and removes what a server created in between.
fn remove_and_disable(
    live: &LiveCluster,
    found: &[Configuration],
    arguments: &RescueArguments,
) -> Result<ExitStatus, CommandFailure> {
    let mut out = standard_output();
    let mut exit = remove_configurations(live, found, &mut out)?;
    let mut names: Vec<&str> = found.iter().map(|one| one.installation.as_str()).collect();
    names.push(arguments.name.as_deref().unwrap_or("kubewright"));
    if arguments.name.is_some() {
        names.retain(|name| Some(*name) == arguments.name.as_deref());
    }
    names.sort_unstable();
    names.dedup();
    if !arguments.hold {
        writeln!(
            out,
            "a running `kubewright serve` creates them again within seconds; `--hold` prevents that"
        )?;
        out.flush()?;
        return Ok(exit);
    }
    let mut held = Vec::new();
    for name in names {
        match disable_servers(live, name) {
            Ok(()) => held.push(name),
            // Without the role no server in the cluster may write configurations of that name, but one outside of it may.
            Err(error) if error.is_not_found() && !found.iter().any(|one| one.installation == name) => {}
            Err(error) if error.is_not_found() => {
                exit = ExitStatus::Violations;
                print_stderr(format_args!("error: there is no ClusterRole `{name}` to disable servers with"));
                print_stderr("  = help: stop a server that runs outside of the cluster where it runs");
            }
            Err(error) => {
                exit = ExitStatus::Violations;
                print_stderr(format_args!("error: the servers of `{name}` cannot be disabled: {error}"));
                print_stderr(
                    "  = help: scale their Deployment to 0: `kubectl scale deployment -n NAMESPACE NAME --replicas 0`",
                );
            }
        }
    }
    let again = find_own_configurations(live, arguments.name.as_deref())
        .map_err(|error| CommandFailure::usage(error.to_string()))?;
    exit = exit.max(remove_configurations(live, &again, &mut out)?);
    for name in held {
        writeln!(
            out,
            "held: servers of `{name}` create none until `kubewright rescue --resume --name {name}`"
        )?;
    }
    out.flush()?;
    Ok(exit)
}

fn remove_configurations(
    live: &LiveCluster,
    found: &[Configuration],
    out: &mut impl io::Write,
) -> Result<ExitStatus, CommandFailure> {
    let mut exit = ExitStatus::Clean;
    for one in found {
        match live.delete(&one.resource.named("", &one.name)) {
            Err(error) if !error.is_not_found() => {
                exit = ExitStatus::Violations;
                print_stderr(format_args!("error: cannot remove {one}: {error}"));
            }
            _ => writeln!(out, "removed {one}")?,
        }
    }
    out.flush()?;
    Ok(exit)
}

/// Disables the servers. The API server calls a webhook for a moment after its configuration is gone, and that webhook
/// may be dead, so this is retried for a while.
fn disable_servers(live: &LiveCluster, name: &str) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        match annotate(live, name, "off".into()) {
            Err(Error::Status(status))
                if status.message.contains("failed calling webhook")
                    && begun.elapsed() < ANNOTATE_TIMEOUT =>
            {
                std::thread::sleep(RETRY_INTERVAL);
            }
            answer => return answer,
        }
    }
}

/// Sets the annotation of the ClusterRole, or removes it with null.
fn annotate(live: &LiveCluster, name: &str, value: Value) -> Result<(), Error> {
    let role = GroupVersionResource::new("rbac.authorization.k8s.io", "v1", "clusterroles");
    let inside = |key: &str, value: Value| Value::from([(key.into(), value)].into_iter().collect::<Map>());
    let body = inside("metadata", inside("annotations", inside(WEBHOOKS_ANNOTATION, value)));
    live.merge(&role.named("", name), &body).map(|_| ())
}

impl std::fmt::Display for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.resource.name.trim_end_matches('s');
        let webhooks = plural(self.webhooks, "webhook");
        write!(f, "{kind}/{}: {webhooks}, {} with failurePolicy Fail", self.name, self.failing)
    }
}
