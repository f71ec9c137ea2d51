//! The views of a cluster in a real browser: a control plane, the scanner, the webhook and `kubewright ui --cluster` run, and
//! `tests/browser/cluster.test.mjs` looks at the pages with Chromium.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "page/laptop.rs"]
mod laptop;
#[expect(dead_code, reason = "other tests use the rest of it")]
#[path = "scanning/stage.rs"]
mod stage;

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kubewright_controlplane::{TestCluster, announce_skipped};
use laptop::LaptopPage;
use stage::{POLICY, Stage};

const SECOND: Duration = Duration::from_secs(1);

/// A policy that the webhook enforces.
const REFUSAL: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: no-unwanted}, spec: {background: \
     false, rules: [{name: rule, match: {any: [{resources: {kinds: [ConfigMap], names: [unwanted]}}]}, validate: \
     {failureAction: Enforce, message: no such map, deny: {}}}]}}";

const UNWANTED: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: unwanted, namespace: shop}}";

#[test]
fn the_views_of_a_cluster_work_in_a_browser() {
    let Some(browser) = Browser::find() else { return };
    let Some(stage) = Stage::start() else { return };
    prepare(&stage);
    let address = stage.cluster.reserve_address().to_string();
    let scan = stage.serve("page", &["--ui", &address, "--report-results", "pass,fail,warn,error,skip"]);
    stage.within("there are reports", 60 * SECOND, || stage.reports().len() == 3 && scan.is_ready());

    browser.look("reports", &address, |line| {
        if line.starts_with("ready") {
            stage.services(7..8, "{}");
        }
    });
    let _webhook = refuse_an_admission(&stage);
    browser.look("blocked", &address, |_| {});
    browser.look("graph", &address, |_| {});
    // Nothing judges what changes from now on, so that reports are outdated.
    scan.terminate();
    stage.services(0..1, "{team: web}");

    let laptop = LaptopPage::start(&stage.cluster.kubeconfig());
    for case in ["differs", "blocked", "impact", "graph"] {
        browser.look(case, &laptop.address, |_| {});
    }
}

/// Three Services, two without a team, one that selects nothing, and a rule.
fn prepare(stage: &Stage) {
    stage.apply(POLICY);
    stage.services(0..2, "{}");
    stage.services(2..3, "{team: web}");
    stage.apply(
        "{apiVersion: v1, kind: Service, metadata: {name: lost, namespace: default}, \
         spec: {selector: {app: nothing}, ports: [{port: 80}]}}",
    );
}

/// Starts the webhook and has it refuse a ConfigMap.
fn refuse_an_admission(stage: &Stage) -> Webhook {
    stage.apply(REFUSAL);
    let webhook = Webhook::start(&stage.cluster);
    stage.within("the webhook refuses", 60 * SECOND, || {
        let made = stage.cluster.kubectl(&["create", "--dry-run=server", "-f", "-"], UNWANTED);
        made.stderr.contains("no such map")
    });
    let made = stage.cluster.kubectl(&["create", "-f", "-"], UNWANTED);
    assert!(made.stderr.contains("no such map"), "{}", made.stderr);
    webhook
}

/// `kubewright serve` as a process, which is killed when this is dropped.
struct Webhook(Child);

impl Webhook {
    fn start(cluster: &TestCluster) -> Self {
        let reviews = cluster.reserve_address().to_string();
        let child = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(["serve", "--drain", "0s", "--address", &reviews, "--url", &format!("https://{reviews}")])
            .args(["--health-address=127.0.0.1:0", "--kubeconfig"])
            .arg(cluster.kubeconfig())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("it starts"))
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Chromium and its driver.
struct Browser {
    chromium: PathBuf,
    folder: PathBuf,
}

impl Browser {
    /// Returns the browser of this machine; says that the test is skipped where there is none.
    fn find() -> Option<Self> {
        let named = env::var_os("CHROMIUM").map(PathBuf::from).filter(|path| path.is_file());
        let programs = ["chromium", "chromium-browser", "google-chrome"];
        let chromium = named.or_else(|| programs.iter().find_map(|name| find_program(name)));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser");
        let (Some(chromium), Some(_)) = (chromium, find_program("node")) else {
            announce_skipped("no Chromium or no Node (make test-browser)");
            return None;
        };
        if !has_driver(&folder) {
            announce_skipped("the driver of Chromium cannot be installed (make browser-driver)");
            return None;
        }
        Some(Self { chromium, folder })
    }

    /// Runs a case of `cluster.test.mjs`; `told` sees each line that it prints.
    #[track_caller]
    fn look(&self, case: &str, address: &str, mut told: impl FnMut(&str)) {
        let mut child = Command::new("node")
            .args(["cluster.test.mjs", case, &format!("http://{address}/")])
            .current_dir(&self.folder)
            .env("CHROMIUM", &self.chromium)
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        for line in BufReader::new(child.stdout.take().expect("its output")).lines().map_while(Result::ok) {
            println!("{line}");
            told(&line);
        }
        let end = child.wait().expect("an end");
        assert!(end.success(), "{case} at {address}");
    }
}

/// Installs the driver as `make browser-driver` does, unless it is there.
fn has_driver(folder: &Path) -> bool {
    let driver = folder.join("node_modules/playwright-core");
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
    let install = || Command::new("npm").args(arguments).current_dir(folder).status();
    driver.is_dir() || install().is_ok_and(|end| end.success())
}

fn find_program(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
