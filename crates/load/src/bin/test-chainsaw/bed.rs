//! A control plane with `kubewright` in place of Kyverno, in which suites run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::{ClusterProgram, ControlPlaneComponent, Kubelet, TestCluster, programs};

use super::accounts::{ACCOUNT_NAMESPACE, CONTROLLER_ACCOUNT, account_manifests, impersonating};
use super::installations::{InstalledProgram, ProgramInstallation};
use super::suites::ChainsawSuite;
use super::table::{SuiteResult, Verdict};

/// The reports that suites look at.
const REPORT_DEFINITIONS: &str =
    include_str!("../../../../report/src/cluster_report/definitions/wgpolicy.yaml");

const OPENREPORTS_DEFINITIONS: &str =
    include_str!("../../../../report/src/cluster_report/definitions/openreports.yaml");

/// Kinds that suites look for and nothing writes here.
const WORK_KINDS: &str = include_str!("../../../inputs/kyverno-work-kinds.yaml");

/// A plugin of kubectl that suites use: `kubectl evict POD -n NAMESPACE`.
const EVICT_PLUGIN: &str = include_str!("../../../inputs/kubectl-evict.sh");

/// The namespace in which suites expect Kyverno, with its ConfigMap, which some of them change.
const KYVERNO_NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: kyverno}}\n---\n\
    {apiVersion: v1, kind: ConfigMap, metadata: {name: kyverno, namespace: kyverno}, data: {generateSuccessEvents: 'true'}}\n";

/// A Deployment as clusters have it that were not made for a test: suites expect that a scan finds something in the cluster. It
/// needs no Pods.
const SYSTEM_DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: coredns, namespace: kube-system, \
    labels: {k8s-app: kube-dns}}, spec: {replicas: 0, selector: {matchLabels: {k8s-app: kube-dns}}, template: {metadata: \
    {labels: {k8s-app: kube-dns}}, spec: {containers: [{name: coredns, image: registry.k8s.io/coredns/coredns:v1.12.0}]}}}}";

/// What the API server must have for the suites: privileged Pods, and MutatingAdmissionPolicies in every version.
const API_SERVER_FLAGS: [&str; 3] = [
    "--allow-privileged=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1alpha1=true",
    "--feature-gates=MutatingAdmissionPolicy=true",
];

/// How long the server may take until it is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(90);

/// How long a suite may take, as `timeout` counts it.
const SUITE_TIMEOUT_SECONDS: &str = "420";

/// Kinds in the namespace `default` that a failed suite may have left.
const KINDS_IN_DEFAULT: &str = "deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs,pods,ingresses,networkpolicies,secrets,services,configmaps,roles,rolebindings,policyreports";

/// Kinds that policies of suites generate.
const GENERATED_KINDS: &str =
    "secrets,configmaps,networkpolicies,resourcequotas,limitranges,roles,rolebindings,serviceaccounts";

/// Namespaces that are not made by suites.
const LASTING_NAMESPACES: [&str; 6] =
    ["default", "kube-system", "kube-public", "kube-node-lease", "kyverno", "kubemod-system"];

/// A control plane for suites.
pub(crate) struct TestBed {
    cluster: TestCluster,
    _kubelet: Kubelet,
    kubewright: PathBuf,
    chainsaw: PathBuf,
    /// The kinds of rules, as kubectl takes them.
    rule_kinds: String,
}

/// The processes of `kubewright`.
pub(crate) struct RunningPrograms<'c> {
    programs: Vec<ClusterProgram<'c>>,
}

/// A suite that is to run.
pub(crate) struct ChainsawRun<'r> {
    pub(crate) suite: &'r ChainsawSuite,
    pub(crate) patience: &'r str,
    pub(crate) logs: &'r Path,
}

impl RunningPrograms<'_> {
    /// Fails if one of them has ended.
    pub(crate) fn check(&mut self) -> Result<(), String> {
        for program in &mut self.programs {
            program.check().map_err(|error| format!("{error}\n{}", program.log()))?;
        }
        Ok(())
    }
}

impl TestBed {
    /// Starts a control plane with the definitions of rules and reports.
    pub(crate) fn start() -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let kubewright = this.with_file_name("kubewright");
        if !kubewright.is_file() {
            return Err(format!("no `{}`: use `make test-chainsaw`, which builds it", kubewright.display()));
        }
        let chainsaw = programs(&["chainsaw"]).map_err(|error| error.to_string())?.join("chainsaw");
        // The name that suites expect, as kind makes it.
        let mut builder = TestCluster::builder().administrator("kubernetes-admin");
        for flag in API_SERVER_FLAGS {
            builder = builder.flag(ControlPlaneComponent::ApiServer, flag);
        }
        let cluster = builder.try_start().map_err(|error| error.to_string())?;
        let kubelet = cluster.run_pods();
        let definitions = Command::new(&kubewright).args(["install", "--crds"]).output();
        let definitions = definitions.map_err(|error| format!("{}: {error}", kubewright.display()))?;
        let bed = Self { cluster, _kubelet: kubelet, kubewright, chainsaw, rule_kinds: String::new() };
        let definitions = String::from_utf8_lossy(&definitions.stdout);
        for manifests in [
            &definitions,
            REPORT_DEFINITIONS,
            OPENREPORTS_DEFINITIONS,
            WORK_KINDS,
            KYVERNO_NAMESPACE,
            SYSTEM_DEPLOYMENT,
        ] {
            bed.kubectl(&["apply", "--server-side", "-f", "-"], manifests)?;
        }
        let mut install = Command::new(&bed.kubewright);
        let installed = install.args(["install", "--no-crds", "--namespace", ACCOUNT_NAMESPACE]).output();
        let installed = installed.map_err(|error| format!("{}: {error}", bed.kubewright.display()))?;
        let accounts = account_manifests(&String::from_utf8_lossy(&installed.stdout));
        bed.kubectl(&["apply", "--server-side", "-f", "-"], &accounts)?;
        bed.cluster.await_definitions().map_err(|error| error.to_string())?;
        let kinds = bed.kubectl(&["api-resources", "--categories=kyverno", "-o", "name"], "")?;
        let rule_kinds = kinds.split_whitespace().collect::<Vec<_>>().join(",");
        Ok(Self { rule_kinds, ..bed })
    }

    /// Starts the webhook and the scanner as `installation` says, and waits until both configurations of the webhook are
    /// there.
    pub(crate) fn run_kubewright(
        &self,
        installation: &ProgramInstallation,
    ) -> Result<RunningPrograms<'_>, String> {
        let webhook = self.cluster.reserve_address().to_string();
        let account = installation.account().unwrap_or(CONTROLLER_ACCOUNT);
        let serve = [
            "serve",
            "--namespace=kyverno",
            "--address",
            &webhook,
            "--url",
            &format!("https://{webhook}"),
            "--health-address=127.0.0.1:0",
            "--exceptions-from=*",
            "--generate-vap",
            "--success-events",
            &format!("--background-account={ACCOUNT_NAMESPACE}/{account}"),
        ];
        let scan = [
            "scan",
            "--serve",
            "--lease-namespace=kyverno",
            "--health-address=127.0.0.1:0",
            "--exceptions-from=*",
            "--reports=wgpolicy",
            "--reports-managed-by=kyverno",
            "--report-on=all",
            "--report-results=pass,fail,warn,error,skip",
            "--writes-per-second=200",
            "--admission-rules",
            "--violation-events",
        ];
        let serve = installation.flags(InstalledProgram::Serve, &serve);
        let serve = self.kubewright_command(&serve, &self.cluster.kubeconfig());
        let scan = installation.flags(InstalledProgram::Scan, &scan);
        let scan = self.kubewright_command(&scan, &self.kubeconfig_of(account)?);
        let beside =
            |name, command| self.cluster.run_beside(name, command).map_err(|error| error.to_string());
        let mut running = RunningPrograms { programs: vec![beside("serve", serve)?, beside("scan", scan)?] };
        let configurations = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        let start = Instant::now();
        while self.kubectl(&["get", configurations, "-o", "name"], "")?.lines().count() < 2 {
            running.check()?;
            if start.elapsed() > READY_TIMEOUT {
                return Err("the webhook has no configurations".to_owned());
            }
            thread::sleep(Duration::from_millis(200));
        }
        Ok(running)
    }

    fn kubewright_command(&self, arguments: &[String], kubeconfig: &Path) -> Command {
        let mut command = Command::new(&self.kubewright);
        command.env_clear().args(arguments).arg("--kubeconfig").arg(kubeconfig);
        command
    }

    /// Writes a kubeconfig of `account` and returns its path.
    fn kubeconfig_of(&self, account: &str) -> Result<PathBuf, String> {
        let own = self.cluster.kubeconfig();
        let text = fs::read_to_string(&own).map_err(|error| format!("{}: {error}", own.display()))?;
        let path = self.cluster.folder().join(format!("kubeconfig-{account}"));
        fs::write(&path, impersonating(&text, account)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Runs a suite.
    pub(crate) fn run_suite(&self, run: &ChainsawRun<'_>) -> Result<SuiteResult, String> {
        let settings = self.write_settings(run.patience)?;
        let start = Instant::now();
        let kubectl = self.cluster.kubectl_program().parent().unwrap_or(Path::new("/")).display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let plugins = self.write_plugins()?;
        let mut command = Command::new("timeout");
        command.args([SUITE_TIMEOUT_SECONDS]).arg(&self.chainsaw).args(["test", "--no-color", "--config"]);
        command.arg(settings).arg("--test-dir").arg(&run.suite.folder).current_dir(&run.suite.folder);
        command
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("PATH", format!("{kubectl}:{}:{path}", plugins.display()));
        command.env("HOME", self.cluster.folder().join("home")).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("chainsaw: {error}"))?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let log = run.logs.join(format!("{}.log", run.suite.name.replace('/', "__")));
        fs::write(&log, text.as_bytes()).map_err(|error| format!("{}: {error}", log.display()))?;
        let is_passed = output.status.success();
        Ok(SuiteResult {
            name: run.suite.name.clone(),
            verdict: if is_passed { Verdict::Passed } else { Verdict::Failed },
            took: start.elapsed(),
            note: if is_passed { String::new() } else { first_error(&text) },
        })
    }

    /// Returns a folder with plugins of kubectl.
    fn write_plugins(&self) -> Result<PathBuf, String> {
        let folder = self.cluster.folder().join("plugins");
        let path = folder.join("kubectl-evict");
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, EVICT_PLUGIN));
        let written = written.and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(folder)
    }

    fn write_settings(&self, patience: &str) -> Result<PathBuf, String> {
        let path = self.cluster.folder().join("chainsaw.yaml");
        let text = format!(
            "apiVersion: chainsaw.kyverno.io/v1alpha2\nkind: Configuration\nmetadata: {{name: kubewright}}\nspec:\n  \
             discovery: {{fullName: true}}\n  execution: {{failFast: true, forceTerminationGracePeriod: 1s}}\n  \
             timeouts: {{apply: 30s, assert: {patience}, error: {patience}, delete: 60s, cleanup: 60s, exec: 60s}}\n"
        );
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Removes what a suite has left behind. Errors do not matter: the next suite shows them.
    pub(crate) fn clean_up(&self, is_failed: bool) {
        let delete = |arguments: &[&str]| {
            let common = ["--ignore-not-found", "--wait=false"];
            let _ = self.cluster.kubectl(&[&["delete"], arguments, &common].concat(), "");
        };
        delete(&[&self.rule_kinds, "--all", "--all-namespaces"]);
        let native = "validatingadmissionpolicies,validatingadmissionpolicybindings,\
                      mutatingadmissionpolicies,mutatingadmissionpolicybindings";
        delete(&[native, "--all"]);
        // Copies stay when their policy goes, also in namespaces that are not of a suite.
        delete(&[GENERATED_KINDS, "--all-namespaces", "--selector=generate.kyverno.io/policy-name"]);
        if !is_failed {
            return;
        }
        let namespaces = self.kubectl(&["get", "namespaces", "-o", "name"], "").unwrap_or_default();
        for name in namespaces.lines().filter_map(|line| line.strip_prefix("namespace/")) {
            if !LASTING_NAMESPACES.contains(&name) {
                delete(&["namespace", name]);
            }
        }
        delete(&[KINDS_IN_DEFAULT, "-n", "default", "--field-selector=metadata.name!=kubernetes"]);
    }

    fn kubectl(&self, arguments: &[&str], stdin: &str) -> Result<String, String> {
        let output = self.cluster.kubectl(arguments, stdin);
        if output.is_success() { Ok(output.stdout) } else { Err(output.to_string()) }
    }
}

/// Returns the line of the first error, shortened.
fn first_error(text: &str) -> String {
    let is_error =
        |line: &&str| line.contains("| ERROR") || line.contains("| ERRORS") || line.contains("Error:");
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(is_error).unwrap_or_default();
    let after = lines.iter().skip(at).take(5).map(|line| line.trim());
    after.collect::<Vec<_>>().join(" ").chars().take(300).collect()
}
