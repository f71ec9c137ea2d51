//! Signatures in the form of cosign, against the real cosign: each reads what the other writes.
//!
//! Cosign takes minutes to build, so it is built by `make test-cosign` and used wherever it was built.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubewright_controlplane::{TestRegistry, announce_skipped, built_programs, programs};

/// Set to `build` where cosign may be built.
const COSIGN_VARIABLE: &str = "KUBEWRIGHT_COSIGN";

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: signed}
spec:
  rules:
  - name: signed
    match: {any: [{resources: {kinds: [Pod]}}]}
    verifyImages:
    - imageReferences: ['REGISTRY/*']
      failureAction: Enforce
      imageRegistryCredentials: {allowInsecureRegistry: true}
      PROOF
";

const ATTESTORS: &str = "\
attestors:
      - entries:
        - keys:
            publicKeys: KEY
            rekor: {ignoreTlog: true}
            ctlog: {ignoreSCT: true}";

const ATTESTATIONS: &str = "\
attestations:
      - type: https://example.com/review/v1
        attestors:
        - entries:
          - keys:
              publicKeys: KEY
              rekor: {ignoreTlog: true}
              ctlog: {ignoreSCT: true}
        conditions: [{all: [{key: '{{ approved }}', operator: Equals, value: true}]}]";

/// A registry, and a pair of keys that cosign made.
struct CosignStage {
    registry: TestRegistry,
    cosign: PathBuf,
    folder: PathBuf,
}

impl CosignStage {
    /// Starts everything; nothing, and a line that says so, where that cannot be.
    fn start(name: &str) -> Option<Self> {
        let may_build = std::env::var(COSIGN_VARIABLE).is_ok_and(|mode| mode == "build");
        let found = if may_build { programs(&["cosign"]).ok() } else { built_programs(&["cosign"]) };
        let Some(found) = found else {
            announce_skipped("cosign is not built: `make test-cosign` builds it");
            return None;
        };
        let registry = TestRegistry::start(None)?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cosign-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let stage = Self { registry, cosign: found.join("cosign"), folder };
        stage.cosign(&["generate-key-pair"]);
        Some(stage)
    }

    /// Runs cosign, which must succeed.
    fn cosign(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(&self.cosign);
        command.args(arguments).current_dir(&self.folder).env("COSIGN_PASSWORD", "");
        success(&command.output().expect("cosign runs"))
    }

    /// Returns `image` with its digest.
    fn push(&self, repository: &str) -> String {
        let (digest, _) = self.registry.push(repository, "1");
        format!("{}/{repository}@{digest}", self.registry.host())
    }

    /// Judges a Pod with `image` by the policy that wants `proof`.
    fn judge(&self, image: &str, proof: &str) -> Output {
        let key = fs::read_to_string(self.folder.join("cosign.pub")).expect("a public key");
        let key = format!("\"{}\"", key.trim().replace('\n', "\\n"));
        let policy = POLICY.replace("PROOF", proof).replace("REGISTRY", &self.registry.host());
        fs::write(self.folder.join("policy.yaml"), policy.replace("KEY", &key)).expect("a policy");
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}"
        );
        fs::write(self.folder.join("pod.yaml"), pod).expect("a Pod");
        Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(["apply", "policy.yaml", "-r", "pod.yaml"])
            .args(["--allow-registry", &format!("http://{}", self.registry.host())])
            .current_dir(&self.folder)
            .output()
            .expect("the binary runs")
    }
}

#[track_caller]
fn success(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_signature_by_cosign_is_verified() {
    let Some(stage) = CosignStage::start("verify") else { return };
    let (signed, unsigned) = (stage.push("team/signed"), stage.push("team/unsigned"));
    assert_eq!(stage.judge(&signed, ATTESTORS).status.code(), Some(1), "it is not signed yet");
    stage.cosign(&[
        "sign",
        "--yes",
        "--key",
        "cosign.key",
        "--tlog-upload=false",
        "--allow-http-registry",
        &signed,
    ]);
    success(&stage.judge(&signed, ATTESTORS));
    assert_eq!(stage.judge(&unsigned, ATTESTORS).status.code(), Some(1));
}

#[test]
fn an_attestation_by_cosign_is_verified() {
    let Some(stage) = CosignStage::start("attest") else { return };
    for (repository, predicate, code) in
        [("team/approved", "{\"approved\": true}", 0), ("team/rejected", "{\"approved\": false}", 1)]
    {
        let image = stage.push(repository);
        assert_eq!(stage.judge(&image, ATTESTATIONS).status.code(), Some(1), "there is no attestation yet");
        fs::write(stage.folder.join("predicate.json"), predicate).expect("a predicate");
        let what = ["--predicate", "predicate.json", "--type", "https://example.com/review/v1"];
        let how = ["--yes", "--key", "cosign.key", "--tlog-upload=false", "--allow-http-registry"];
        stage.cosign(&[&["attest"][..], &what, &how, &[image.as_str()]].concat());
        let output = stage.judge(&image, ATTESTATIONS);
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn cosign_verifies_what_kubewright_signs() {
    let Some(stage) = CosignStage::start("sign") else { return };
    let image = stage.push("team/ours");
    let openssl = |arguments: &[&str]| {
        success(
            &Command::new("openssl")
                .args(arguments)
                .current_dir(&stage.folder)
                .output()
                .expect("openssl runs"),
        )
    };
    openssl(&["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "own.pem"]);
    openssl(&["ec", "-in", "own.pem", "-pubout", "-out", "own.pub"]);
    let verify = [
        "verify",
        "--key",
        "own.pub",
        "--insecure-ignore-tlog=true",
        "--allow-http-registry",
        image.as_str(),
    ];
    let mut before = Command::new(&stage.cosign);
    let before = before.args(verify).current_dir(&stage.folder).output().expect("cosign runs");
    assert!(!before.status.success(), "cosign verified an image without a signature");
    let signing = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(["sign", "--image", &image, "--key", "own.pem"])
        .args(["--allow-registry", &format!("http://{}", stage.registry.host())])
        .current_dir(&stage.folder)
        .output();
    success(&signing.expect("the binary runs"));
    assert!(stage.cosign(&verify).contains(image.split_once('@').expect("a digest").1));
}
