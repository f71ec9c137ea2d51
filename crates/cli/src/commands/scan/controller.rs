//! `scan --serve`: the controller that scans all the time; and `scan --now`, which asks it for a full pass.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kubewright_cluster::{Client, Config, GroupVersionResource, Login};
use kubewright_report::cluster_report::{MANAGED_BY, ReportCaps};
use kubewright_scan_controller::lease::{LeaseSettings, SCAN_NOW_ANNOTATION};
use kubewright_scan_controller::{
    BackgroundSettings, ReportWriterSettings, ScanControllerSettings, ScanView, run_scan_controller,
};
use kubewright_serve::{ServeError, ServeSettings, random_bytes};
use kubewright_ui::{PageSettings, spawn_page};
use kubewright_value::{Map, Value};

use super::super::serve::serve_failure;
use super::super::ui::{ClusterPage, ClusterPageSettings, PageAnswers};
use super::rules::ScanDocuments;
use crate::arguments::{ReportArguments, ScanArguments};
use crate::failure::{CommandFailure, ExitStatus};
use crate::live::LiveCluster;
use crate::output::{ColorChoice, print_stderr};
use crate::rule_inputs::print_diagnostics;
use crate::rules::dialect_options;

/// For how many seconds' worth of writes there may be at once after a quiet time.
const BURST_SECONDS: f64 = 2.5;

/// How long an answer of the page may take: all objects may be listed for it.
const PAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// Scans until the stop signal.
///
/// # Errors
/// When the controller cannot start.
pub(super) fn serve_scan(
    arguments: &ScanArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let cluster = &arguments.cluster;
    let config = Config::find(cluster.kubeconfig.as_deref(), cluster.context.as_deref());
    let config = config.map_err(|error| CommandFailure::usage(error.to_string()))?;
    let is_pod = matches!(config.login, Login::TokenFile(_)) && cluster.kubeconfig.is_none();
    let mut settings = controller_settings(arguments, color)?;
    if let Some(namespace) =
        arguments.controller.lease_namespace.clone().or_else(|| is_pod.then(|| config.namespace.clone()))
    {
        settings.lookups.namespace.clone_from(&namespace);
        settings.lease.namespace = namespace;
    }
    let makes_namespace = !is_pod && arguments.controller.lease_namespace.is_none();
    let page = arguments.controller.ui_address.map(PageListener::bind).transpose()?;
    let begun = |client: &Client, view: ScanView| match page {
        Some(page) => page.serve(arguments, client, view),
        None => Ok(()),
    };
    run_scan_controller(settings, config, makes_namespace, begun).map_err(|error| serve_failure(&error))?;
    Ok(ExitStatus::Clean)
}

/// The address on which the page will be served.
struct PageListener(TcpListener);

impl PageListener {
    /// Listens on `address`.
    fn bind(address: SocketAddr) -> Result<Self, CommandFailure> {
        let why = |error: io::Error| {
            let why = kubewright_files::io_error_text(&error);
            CommandFailure::usage(format!("cannot listen on {address}: {why}"))
        };
        TcpListener::bind(address).map(Self).map_err(why)
    }

    /// Serves the page of the cluster, read-only, for as long as the process lives.
    fn serve(self, arguments: &ScanArguments, client: &Client, view: ScanView) -> Result<(), ServeError> {
        let settings =
            ClusterPageSettings { rules: arguments.rules.clone(), ..ClusterPageSettings::default() };
        let page = ClusterPage::new(client.clone(), settings, Some(view)).map_err(io::Error::other)?;
        let settings = PageSettings {
            hosts: arguments.controller.ui_hosts.clone(),
            // The port of a tunnel is not the one that is listened on.
            is_tunnelled: true,
            answer_timeout: PAGE_TIMEOUT,
            ..PageSettings::default()
        };
        spawn_page(self.0, settings, Arc::new(PageAnswers::read_only(&Arc::new(page))))?;
        Ok(())
    }
}

/// Asks the controller in the cluster for a full pass.
///
/// # Errors
/// When there is no cluster, or no controller in it.
pub(super) fn request_pass(arguments: &ScanArguments) -> Result<ExitStatus, CommandFailure> {
    let live = LiveCluster::find(&arguments.cluster)?;
    let lease = LeaseSettings::default();
    let namespace = arguments.controller.lease_namespace.as_deref().unwrap_or(&lease.namespace);
    let name = &arguments.controller.lease_name;
    let path = GroupVersionResource::new("coordination.k8s.io", "v1", "leases").named(namespace, name);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string();
    let inside = |key: &str, value: Value| Value::from([(key.into(), value)].into_iter().collect::<Map>());
    let annotation = inside(SCAN_NOW_ANNOTATION, now.into());
    live.merge(&path, &inside("metadata", inside("annotations", annotation))).map_err(|error| {
        let failure = CommandFailure::usage(format!("cannot ask for a scan: {error}"));
        match error.is_not_found() {
            true => failure.help(
                "no controller runs with this Lease: name another with `--lease-namespace` and `--lease-name`",
            ),
            false => failure,
        }
    })?;
    print_stderr(format_args!("the controller of Lease {namespace}/{name} begins a full pass"));
    Ok(ExitStatus::Clean)
}

fn controller_settings(
    arguments: &ScanArguments,
    color: ColorChoice,
) -> Result<ScanControllerSettings, CommandFailure> {
    let rules = &arguments.rules;
    let mut options = dialect_options(&rules.options, None);
    options.modrule.targets.clone_from(&rules.targets);
    let mut documents = ScanDocuments::default();
    documents.read_files(rules, &mut options);
    if print_diagnostics(&documents.diagnostics, color.paint_errors()) {
        return Err(CommandFailure::usage("the rules that `--rules` names could not be read"));
    }
    let usual = ScanControllerSettings::default();
    let identity = format!("{}_{:016x}", host_name(), random_bytes().map_or(0, u64::from_be_bytes));
    Ok(ScanControllerSettings {
        lease: LeaseSettings { name: arguments.controller.lease_name.clone(), identity, ..usual.lease },
        health_address: arguments.controller.health_address,
        interval: arguments.controller.interval,
        background: BackgroundSettings {
            is_enabled: !arguments.controller.no_background,
            parallel_writes: arguments.controller.background_writes,
        },
        reports: arguments.reports.writer_settings(),
        scan: arguments.reports.scan_settings(),
        rules: documents.rules,
        has_cluster_rules: !rules.no_cluster_rules,
        runs_admission_rules: rules.admission_rules,
        has_violation_events: arguments.controller.violation_events,
        lookups: ServeSettings {
            options,
            exception_namespaces: rules.exceptions_from.clone(),
            allowed_hosts: rules.allowed_hosts.clone(),
            allowed_registries: rules.allowed_registries.clone(),
            log_level: arguments.controller.log_level,
            ..usual.lookups
        },
    })
}

impl ReportArguments {
    /// Returns how reports are written.
    pub(super) fn writer_settings(&self) -> ReportWriterSettings {
        let caps = ReportCaps { objects: self.max_reports, bytes: self.max_report_bytes };
        let writes_per_second = f64::from(self.writes_per_second);
        // The default is a burst of 50 at 20 a second.
        let burst = writes_per_second * BURST_SECONDS;
        ReportWriterSettings {
            group: self.group(),
            caps,
            writes_per_second,
            burst,
            is_compatible: self.reports_managed_by != MANAGED_BY,
        }
    }
}

/// Returns the name of the machine, which in a Pod is that of the Pod.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "kubewright".to_owned(),
        name => name.to_owned(),
    }
}
