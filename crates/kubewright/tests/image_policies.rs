//! Policies about images on a real API server, with a real registry and signatures by `kubewright sign`.
//!
//! An image passes only with a proof: unsigned, signed by another key and a registry that does not answer are refusals.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![cfg(feature = "serve")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kubewright_controlplane::{CommandOutput, TestCluster, TestRegistry};
use kubewright_serve::Snapshot;

/// How many different images one Pod has; each takes several lookups.
const MANY_IMAGES: usize = 6;

/// A cluster, a registry with three images, and a server that may ask it.
struct ImageStage {
    server: Child,
    cluster: TestCluster,
    registry: TestRegistry,
    /// The digest of the image that is signed with the key of the policies.
    digest: String,
    key: String,
}

impl Drop for ImageStage {
    fn drop(&mut self) {
        let _ = (self.server.kill(), self.server.wait());
    }
}

impl ImageStage {
    /// Starts everything; nothing where that cannot be.
    fn start(name: &str) -> Option<Self> {
        let registry = TestRegistry::start(None)?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("image-policies-{name}"));
        fs::create_dir_all(&folder).expect("a folder");
        let (own, key) = new_key(&folder, "own");
        let (other, _) = new_key(&folder, "other");
        let (digest, _) = registry.push("team/signed", "1");
        let _ = (registry.push("team/foreign", "2"), registry.push("team/unsigned", "0"));
        sign(&registry, "team/signed", &own);
        for number in 0..MANY_IMAGES {
            let _ = registry.push(&format!("team/part-{number}"), "3");
            sign(&registry, &format!("team/part-{number}"), &own);
        }
        sign(&registry, "team/foreign", &other);
        let cluster = TestCluster::builder().api_server_only().start()?;
        let snapshot = Snapshot::empty();
        let definitions: Vec<&str> =
            snapshot.languages().flat_map(|language| language.custom_resource_definitions()).collect();
        cluster
            .kubectl(&["apply", "--server-side", "-f", "-"], &definitions.join("\n---\n"))
            .expect_success();
        for namespace in ["kubewright-system", "exempt", "classic", "modern", "homely", "elsewhere"] {
            cluster.create_namespace(namespace);
        }
        let server = start_server(&cluster, &registry);
        Some(Self { server, cluster, registry, digest, key })
    }

    /// Stores policies, in which `REGISTRY` and `KEY` stand for ours.
    fn store(&self, text: &str) {
        let key = format!("\"{}\"", self.key.trim().replace('\n', "\\n"));
        let text = text.replace("REGISTRY", &self.registry.host()).replace("KEY", &key);
        self.cluster.wait_until("the policies are stored", || {
            self.cluster.kubectl(&["apply", "-f", "-"], &text).is_success()
        });
    }

    fn await_ready(&self, resource: &str, place: &[&str], path: &str) {
        let path = format!("jsonpath={{{path}}}");
        let arguments = [&["get", resource, "-o", &path][..], place].concat();
        self.cluster.wait_until(&format!("{resource} is ready"), || {
            self.cluster.kubectl(&arguments, "").stdout.to_lowercase() == "true"
        });
    }

    fn image(&self, name: &str) -> String {
        format!("{}/team/{name}:one", self.registry.host())
    }

    /// Tries to create a Pod with `image`; nothing is stored.
    fn ask(&self, namespace: &str, metadata: &str, image: &str) -> CommandOutput {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{{metadata}}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}"
        );
        self.create(namespace, &pod, ".spec.containers[0].image")
    }

    fn create(&self, namespace: &str, object: &str, shown: &str) -> CommandOutput {
        let shown = format!("jsonpath={{{shown}}}");
        let arguments = ["create", "--dry-run=server", "-n", namespace, "-o", &shown, "-f", "-"];
        self.cluster.kubectl(&arguments, object)
    }

    #[track_caller]
    fn refuses(&self, namespace: &str, metadata: &str, image: &str, want: &str) {
        let answer = self.ask(namespace, metadata, image);
        assert!(!answer.is_success() && answer.stderr.contains(want), "not `{want}`: {answer}");
    }

    #[track_caller]
    fn admits(&self, namespace: &str, metadata: &str, image: &str, stored: &str) {
        assert_eq!(self.ask(namespace, metadata, image).success(), stored);
    }

    /// Returns the signed image as the policies leave it.
    fn pinned(&self) -> String {
        format!("{}@{}", self.image("signed"), self.digest)
    }

    /// Checks what both kinds of policies have in common.
    fn verifies(&mut self, namespace: &str, refusal: &str) {
        let (signed, unsigned, foreign) =
            (self.image("signed"), self.image("unsigned"), self.image("foreign"));
        self.admits(namespace, "name: a", &signed, &self.pinned());
        self.admits(namespace, "name: a", &self.pinned(), &self.pinned());
        for image in [&unsigned, &foreign] {
            self.refuses(namespace, "name: a", image, refusal);
        }
        self.admits("elsewhere", "name: a", &unsigned, &unsigned);
        let deployment = |image: &str| {
            format!(
                "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: d}}, spec: {{selector: {{matchLabels: {{a: b}}}}, \
                 template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}}}}}"
            )
        };
        let shown = ".spec.template.spec.containers[0].image";
        assert_eq!(self.create(namespace, &deployment(&signed), shown).success(), self.pinned());
        let refused = self.create(namespace, &deployment(&foreign), shown);
        assert!(!refused.is_success() && refused.stderr.contains(refusal), "{refused}");
        let part = |number: usize| {
            format!("{{name: c{number}, image: '{}'}}", self.image(&format!("part-{number}")))
        };
        let parts: Vec<String> = (0..MANY_IMAGES).map(part).collect();
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{}]}}}}",
            parts.join(", ")
        );
        let stored = self.create(namespace, &pod, ".spec.containers[*].image").success();
        assert_eq!(stored.matches("@sha256:").count(), MANY_IMAGES, "{stored}");
        // Without an answer there is no proof, whatever was verified before.
        self.registry.stop();
        for image in [signed.clone(), self.pinned(), self.image("new")] {
            // What was looked up is remembered for a second.
            self.cluster.wait_until(&format!("{image} is refused"), || {
                !self.ask(namespace, "name: a", &image).is_success()
            });
            self.refuses(namespace, "name: a", &image, "cannot reach `127.0.0.1`");
        }
        self.registry.restart();
        self.cluster
            .wait_until("the registry is back", || self.ask(namespace, "name: a", &signed).is_success());
    }
}

/// Makes a pair of keys; returns the file of the private one, and the public one.
fn new_key(folder: &Path, name: &str) -> (PathBuf, String) {
    let file = folder.join(format!("{name}.pem"));
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").args(arguments).output().expect("openssl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let path = file.to_str().expect("a path");
    openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path]);
    let public = openssl(&["ec", "-in", path, "-pubout"]);
    (file, public)
}

fn sign(registry: &TestRegistry, repository: &str, key: &Path) {
    let host = registry.host();
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(["sign", "--image", &format!("{host}/{repository}:one")])
        .args(["--allow-registry", &format!("http://{host}"), "--key"])
        .arg(key)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn start_server(cluster: &TestCluster, registry: &TestRegistry) -> Child {
    let address = cluster.reserve_address().to_string();
    Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(["serve", "--drain", "0s", "--exceptions-from", "exempt", "--health-address", "127.0.0.1:0"])
        .args(["--address", &address, "--url", &format!("https://{address}")])
        .args(["--allow-registry", &format!("http://{}", registry.host())])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

#[test]
fn images_of_a_cluster_policy_are_verified() {
    let Some(mut stage) = ImageStage::start("classic") else { return };
    stage.store(include_str!("image_policies/classic.yaml"));
    stage.await_ready("clusterpolicies", &["signed"], ".status.ready");
    stage.verifies("classic", "failed to verify image");
    // A requester cannot bring the proof along.
    let forged = format!(
        r#"name: a, annotations: {{kyverno.io/verify-images-scoped: '{{"version":1,"policies":{{"signed":{{"signed":{{"{0}":"pass"}}}}}}}}'}}"#,
        stage.image("unsigned")
    );
    stage.refuses("classic", &forged, &stage.image("unsigned"), "failed to verify image");
}

#[test]
fn images_of_an_image_validating_policy_are_verified() {
    let Some(mut stage) = ImageStage::start("modern") else { return };
    stage.store(include_str!("image_policies/policy.yaml"));
    let ready = ".status.conditionStatus.ready";
    stage.await_ready("imagevalidatingpolicies", &["signed"], ready);
    stage.await_ready("namespacedimagevalidatingpolicies", &["pinned", "-n", "homely"], ready);
    stage.await_ready("mutatingpolicies", &["image-of-label"], ready);
    stage.verifies("modern", "Policy signed failed: an image is not signed by the release key");
    let unsigned = stage.image("unsigned");
    stage
        .cluster
        .wait_until("the exception counts", || stage.ask("modern", "name: excused", &unsigned).is_success());
    // Images are looked at after all changes.
    let chosen = |name: &str| format!("name: a, labels: {{image: {name}}}");
    stage.admits("modern", &chosen("signed"), &unsigned, &stage.pinned());
    let refusal = "an image is not signed by the release key";
    stage.refuses("modern", &chosen("foreign"), &stage.image("signed"), refusal);
    // A policy of a namespace is about that namespace.
    stage.admits("homely", "name: a", &stage.image("signed"), &stage.pinned());
    stage.refuses("homely", "name: a", &unsigned, "Policy pinned failed: the image runs as root");
}
