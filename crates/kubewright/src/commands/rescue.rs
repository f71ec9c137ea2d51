//! `rescue`: the door opened.
//!
//! Configurations go first and the servers are told to keep away from them second, because the first cannot be refused
//! by any webhook and the second can.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use kubewright_cluster::{Error, GroupVersionResource};
use kubewright_report::text::plural;
use kubewright_serve::webhooks::{CONFIGURATION_SELECTOR, WEBHOOKS_ANNOTATION};
use kubewright_value::{Map, Value};

use crate::arguments::Rescue;
use crate::failure::{Exit, Failure};
use crate::live::Live;
use crate::output::{standard_output, tell};

/// How long the servers are tried to be told.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

/// A webhook configuration of ours.
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
/// When there is no cluster, or nobody agreed.
pub(crate) fn run(arguments: &Rescue) -> Result<Exit, Failure> {
    let live = Live::find(&arguments.cluster)?;
    let mut out = standard_output();
    if arguments.resume {
        let name = arguments.name.as_deref().unwrap_or("kubewright");
        if arguments.dry_run {
            writeln!(out, "would let servers of `{name}` make their webhook configurations again")?;
            out.flush()?;
            return Ok(Exit::Clean);
        }
        return match annotate(&live, name, Value::Null) {
            Ok(()) => {
                writeln!(out, "servers of `{name}` make their webhook configurations again")?;
                out.flush()?;
                Ok(Exit::Clean)
            }
            Err(error) => Err(Failure::usage(format!("the servers of `{name}` cannot be told: {error}"))),
        };
    }
    let found = find(&live, arguments.name.as_deref()).map_err(|error| Failure::usage(error.to_string()))?;
    if arguments.dry_run {
        for one in &found {
            writeln!(out, "would remove {one}")?;
        }
    }
    if found.is_empty() {
        writeln!(out, "there is no webhook configuration of kubewright in {}", live.server())?;
    }
    out.flush()?;
    if arguments.dry_run || (found.is_empty() && !arguments.hold) {
        return Ok(Exit::Clean);
    }
    if !arguments.yes {
        agree(&live, &found)?;
    }
    open(&live, &found, arguments)
}

/// Returns the configurations that are ours by their labels.
fn find(live: &Live, installation: Option<&str>) -> Result<Vec<Configuration>, Error> {
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

fn agree(live: &Live, found: &[Configuration]) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage("nobody is there to be asked")
            .help("say `--yes`, or `--dry-run` to see what would go"));
    }
    for one in found {
        tell(format_args!("{one}"));
    }
    tell(format_args!("remove them from {}? [y/N]", live.server()));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::usage("nothing was removed")),
    }
}

/// Removes what was `found`, holds the servers off if that is wanted, and removes what one of them made in between.
fn open(live: &Live, found: &[Configuration], arguments: &Rescue) -> Result<Exit, Failure> {
    let mut out = standard_output();
    let mut exit = remove(live, found, &mut out)?;
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
            "a running `kubewright serve` makes them again within seconds; `--hold` keeps them away"
        )?;
        out.flush()?;
        return Ok(exit);
    }
    let mut held = Vec::new();
    for name in names {
        match hold(live, name) {
            Ok(()) => held.push(name),
            // Without the role no server in the cluster may write configurations of that name, but one beside it may.
            Err(error) if error.is_not_found() && !found.iter().any(|one| one.installation == name) => {}
            Err(error) if error.is_not_found() => {
                exit = Exit::Violations;
                tell(format_args!(
                    "error: there is no ClusterRole `{name}` by which servers could be held off"
                ));
                tell("  = help: a server that runs beside the cluster has to be stopped where it runs");
            }
            Err(error) => {
                exit = Exit::Violations;
                tell(format_args!("error: the servers of `{name}` cannot be held off: {error}"));
                tell(
                    "  = help: scale their Deployment to 0: `kubectl scale deployment -n NAMESPACE NAME --replicas 0`",
                );
            }
        }
    }
    let again = find(live, arguments.name.as_deref()).map_err(|error| Failure::usage(error.to_string()))?;
    exit = exit.max(remove(live, &again, &mut out)?);
    for name in held {
        writeln!(
            out,
            "held: servers of `{name}` make none until `kubewright rescue --resume --name {name}`"
        )?;
    }
    out.flush()?;
    Ok(exit)
}

fn remove(live: &Live, found: &[Configuration], out: &mut impl io::Write) -> Result<Exit, Failure> {
    let mut exit = Exit::Clean;
    for one in found {
        match live.delete(&one.resource.named("", &one.name)) {
            Err(error) if !error.is_not_found() => {
                exit = Exit::Violations;
                tell(format_args!("error: cannot remove {one}: {error}"));
            }
            _ => writeln!(out, "removed {one}")?,
        }
    }
    out.flush()?;
    Ok(exit)
}

/// Tells the servers to keep away. The API server asks a webhook for a moment longer than its configuration is there, and
/// that webhook may be dead, so this is tried again for a while.
fn hold(live: &Live, name: &str) -> Result<(), Error> {
    let begun = Instant::now();
    loop {
        match annotate(live, name, "off".into()) {
            Err(Error::Status(status))
                if status.message.contains("failed calling webhook") && begun.elapsed() < PATIENCE =>
            {
                std::thread::sleep(PAUSE);
            }
            answer => return answer,
        }
    }
}

/// Sets the annotation of the ClusterRole, or takes it away with null.
fn annotate(live: &Live, name: &str, value: Value) -> Result<(), Error> {
    let role = GroupVersionResource::new("rbac.authorization.k8s.io", "v1", "clusterroles");
    let inside = |key: &str, value: Value| Value::from([(key.into(), value)].into_iter().collect::<Map>());
    let body = inside("metadata", inside("annotations", inside(WEBHOOKS_ANNOTATION, value)));
    live.merge(&role.named("", name), &body).map(|_| ())
}

impl std::fmt::Display for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.resource.name.trim_end_matches('s');
        let webhooks = plural(self.webhooks, "webhook");
        write!(f, "{kind}/{}: {webhooks}, of which {} refuse when nobody answers", self.name, self.failing)
    }
}
