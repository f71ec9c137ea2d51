//! Signed manifests through the real binary, with keys and signatures by openssl.
//!
//! What the original tool does is written out here as shell commands: YAML, gzip and Base64 for the message,
//! `openssl dgst` for the signature. So nothing is only checked against our own code.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: shop\nspec:\n  ports:\n  - port: 80\n    targetPort: 9376\n  selector:\n    app: shop\n";

/// A folder with three pairs of keys, `a`, `b` and `c`.
struct Place {
    folder: PathBuf,
}

impl Place {
    /// Makes the folder, or says loudly that it cannot.
    fn new(name: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("signing-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let place = Self { folder };
        if Command::new("openssl").arg("version").output().is_err() {
            eprintln!("\n*** SKIPPED: there is no openssl here, so signing-{name} checks nothing ***\n");
            return None;
        }
        for key in ["a", "b", "c"] {
            place.shell(&format!(
                "openssl ecparam -name prime256v1 -genkey -noout -out {key}.pem && openssl ec -in {key}.pem -pubout -out {key}.pub"
            ));
        }
        place.write("service.yaml", SERVICE);
        Some(place)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("a file")
    }

    /// Runs shell commands in the folder, and returns what they print.
    fn shell(&self, script: &str) -> String {
        let output =
            Command::new("sh").args(["-ec", script]).current_dir(&self.folder).output().expect("a shell");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn kubewright(&self, arguments: &str) -> Output {
        let mut process = Command::new(env!("CARGO_BIN_EXE_kubewright"));
        process
            .args(arguments.split_whitespace())
            .current_dir(&self.folder)
            .output()
            .expect("the binary runs")
    }

    /// Signs a file with the keys of `letters`, one after the other, in place.
    fn sign(&self, file: &str, letters: &str) {
        for letter in letters.chars() {
            let output = self.kubewright(&format!("sign {file} --key {letter}.pem -o {file}"));
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// Writes a policy whose attestors are `sets`, in which `<a>` stands for the public key of `a`.
    fn policy(&self, sets: &str, more: &str) {
        let mut sets = sets.to_owned();
        for key in ["a", "b", "c"] {
            let text = self.read(&format!("{key}.pub")).trim().replace('\n', "\\n");
            sets = sets.replace(&format!("<{key}>"), &format!("{{keys: {{publicKeys: \"{text}\"}}}}"));
        }
        self.write(
            "policy.yaml",
            &format!(
                "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: signed}}\nspec:\n  background: false\n  rules:\n  \
                 - name: signed\n    match: {{any: [{{resources: {{kinds: [Service]}}}}]}}\n    validate:\n      failureAction: Enforce\n      \
                 manifests: {{attestors: [{sets}]{more}}}\n"
            ),
        );
    }

    /// Applies the policy to a file, and compares the outcome: `pass`, or what is said.
    #[track_caller]
    fn check(&self, file: &str, want: &str) {
        let output = self.kubewright(&format!("apply policy.yaml -r {file}"));
        let text = String::from_utf8_lossy(&output.stdout);
        if want == "pass" {
            assert!(output.status.code() == Some(0) && text.contains("✓ 1 passed"), "{text}");
        } else {
            assert!(output.status.code() == Some(1) && text.contains(want), "wanted {want}: {text}");
        }
    }

    /// Writes `service.yaml` with a message and a signature that are made by hand, as `file`.
    fn by_hand(&self, file: &str, message: &str, signature: &str) {
        let annotations = format!(
            "  annotations:\n    cosign.sigstore.dev/message: {message}\n    cosign.sigstore.dev/signature: {signature}\n"
        );
        self.write(file, &SERVICE.replace("  name: shop\n", &format!("  name: shop\n{annotations}")));
    }
}

#[test]
fn a_manifest_signed_by_hand_with_openssl_is_verified() {
    let Some(place) = Place::new("by-hand") else { return };
    place.policy("{entries: [<a>]}", "");
    let message = place.shell("gzip -c service.yaml | base64 | tr -d '\\n'");
    let signature = place.shell("openssl dgst -sha256 -sign a.pem service.yaml | base64 | tr -d '\\n'");
    place.by_hand("signed.yaml", &message, &signature);
    place.check("signed.yaml", "pass");
    let other = place.shell("openssl dgst -sha256 -sign b.pem service.yaml | base64 | tr -d '\\n'");
    place.by_hand("other.yaml", &message, &other);
    place.check("other.yaml", "verification failed for 1 signature");
    // Older tools sign an archive of files.
    place.shell("mkdir -p files && cp service.yaml files && tar -czf files.tar.gz files");
    let message = place.shell("gzip -c files.tar.gz | base64 | tr -d '\\n'");
    let signature = place.shell("openssl dgst -sha256 -sign a.pem files.tar.gz | base64 | tr -d '\\n'");
    place.by_hand("archived.yaml", &message, &signature);
    place.check("archived.yaml", "pass");
}

#[test]
fn openssl_verifies_what_we_sign() {
    let Some(place) = Place::new("for-openssl") else { return };
    place.sign("service.yaml", "ab");
    for (key, annotation) in [("a", "signature"), ("b", "signature_1")] {
        let value = |name: &str| {
            format!("grep 'cosign.sigstore.dev/{name}:' service.yaml | sed 's/.*: //' | base64 -d")
        };
        let script = format!(
            "{} | gunzip > message; {} > signature; openssl dgst -sha256 -verify {key}.pub -signature signature message",
            value("message"),
            value(annotation)
        );
        assert_eq!(place.shell(&script), "Verified OK");
    }
    assert_eq!(place.read("message"), SERVICE);
}

#[test]
fn changes_are_told_and_ignored_fields_are_not() {
    let Some(place) = Place::new("changes") else { return };
    place.policy("{entries: [<a>]}", "");
    place.check("service.yaml", "YAML manifest not found for this resource: message not found");
    place.sign("service.yaml", "a");
    place.check("service.yaml", "pass");
    place.write("tampered.yaml", &place.read("service.yaml").replace("port: 80", "port: 81"));
    place.check("tampered.yaml", r#"{"key":"spec.ports.0.port","values":{"after":81,"before":80}}"#);
    let extra = place.read("service.yaml").replace("spec:\n", "spec:\n  externalIPs: [10.0.0.1]\n");
    place.write("extra.yaml", &extra);
    place.check("extra.yaml", r#"{"key":"spec.externalIPs.0","values":{"after":"10.0.0.1","before":null}}"#);
    // What the cluster fills in is no change, and what the rule ignores is none.
    place.write(
        "stored.yaml",
        &place.read("service.yaml").replace("spec:\n", "spec:\n  clusterIP: 10.0.0.1\n"),
    );
    place.check("stored.yaml", "pass");
    place.policy(
        "{entries: [<a>]}",
        ", ignoreFields: [{objects: [{kind: Service}], fields: [spec.externalIPs]}]",
    );
    place.check("extra.yaml", "pass");
    place.check("tampered.yaml", "spec.ports.0.port");
    place.policy("{entries: [<b>]}", "");
    place.check("service.yaml", "verification failed for 1 signature");
}

#[test]
fn two_of_three_keys_and_nested_attestors() {
    let Some(place) = Place::new("counts") else { return };
    for letters in ["a", "ac", "bc"] {
        place.write(&format!("{letters}.yaml"), SERVICE);
        place.sign(&format!("{letters}.yaml"), letters);
    }
    place.policy("{count: 2, entries: [<a>, <b>, <c>]}", "");
    place.check("ac.yaml", "pass");
    place.check("bc.yaml", "pass");
    place.check("a.yaml", "verification failed for 1 signature");
    place.policy("{entries: [<a>, {attestor: {count: 1, entries: [<b>, <c>]}}]}", "");
    place.check("ac.yaml", "pass");
    place.check("a.yaml", ".attestors[0].entries[1].attestor.entries[0].keys");
    place.check("bc.yaml", ".attestors[0].entries[0].keys");
}

#[test]
fn sign_reads_what_openssl_writes_and_says_what_it_cannot_use() {
    let Some(place) = Place::new("keys") else { return };
    place.shell("openssl pkcs8 -topk8 -nocrypt -in a.pem -out pkcs8.pem");
    place.shell("openssl ecparam -name prime256v1 -genkey -out with-parameters.pem");
    place.shell("openssl ecparam -name secp384r1 -genkey -noout -out p384.pem");
    place.shell("openssl ec -in a.pem -aes256 -passout pass:x -out encrypted.pem");
    let sign = |key: &str| place.kubewright(&format!("sign service.yaml --key {key}"));
    assert_eq!(sign("pkcs8.pem").stdout, sign("a.pem").stdout, "the same key in another form");
    assert!(sign("with-parameters.pem").status.success());
    for (key, want) in [
        ("p384.pem", "this is a key of the curve P-384"),
        ("encrypted.pem", "`EC PRIVATE KEY` is encrypted"),
        ("a.pub", "this is a public key, which cannot sign"),
        ("missing.pem", "cannot read the key `missing.pem`"),
        ("/dev/zero", "it has more than 1024 KiB"),
        ("a.pem --output a.pem", "`a.pem` is the key and would be overwritten"),
    ] {
        let output = sign(key);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(want), "{said}");
        assert!(output.stdout.is_empty());
    }
    assert!(place.read("a.pem").contains("PRIVATE KEY"));
}

#[test]
fn sign_signs_every_document_or_none() {
    let Some(place) = Place::new("documents") else { return };
    place.write("all.yaml", &format!("{SERVICE}---\n{}", SERVICE.replace("name: shop", "name: other")));
    place.sign("all.yaml", "a");
    assert_eq!(place.read("all.yaml").matches("dev/signature:").count(), 2);
    place.policy("{entries: [<a>]}", "");
    let output = place.kubewright("apply policy.yaml -r all.yaml");
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 objects, 2 outcomes: 2 pass"));
    let changed = place.read("all.yaml").replace("port: 80", "port: 81");
    place.write("changed.yaml", &format!("{SERVICE}---\n{changed}"));
    let output = place.kubewright("sign changed.yaml --key b.pem");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("it was changed since it was signed") && said.contains("--replace"), "{said}");
    assert!(output.stdout.is_empty() && output.status.code() == Some(2));
    assert!(place.kubewright("sign changed.yaml --key b.pem --replace").status.success());
}

#[test]
fn a_world_has_the_keys_of_secrets_and_the_defaults_of_the_api_server() {
    let Some(place) = Place::new("world") else { return };
    place.sign("service.yaml", "a");
    place.write(
        "stored.yaml",
        &place.read("service.yaml").replace("port: 80", "appProtocol: http\n    port: 80"),
    );
    let key = place.shell("base64 < a.pub | tr -d '\\n'");
    place.write(
        "world.yaml",
        &format!(
            "apiVersion: kubewright.dev/v1alpha1\nkind: World\nobjects:\n- apiVersion: v1\n  kind: Secret\n  \
             metadata: {{name: release, namespace: keys}}\n  data: {{cosign.pub: {key}}}\napiCallResponses:\n\
             - urlPath: /api/v1/namespaces/tries/services?dryRun=All\n  method: POST\n  response:\n    statusCode: 201\n    \
             body: {{apiVersion: v1, kind: Service, metadata: {{name: shop}}, spec: {{selector: {{app: shop}}, ports: \
             [{{port: 80, targetPort: 9376, appProtocol: http}}]}}}}\n"
        ),
    );
    place.policy(
        "{entries: [{keys: {publicKeys: 'k8s://keys/release'}}]}",
        ", dryRun: {enable: true, namespace: tries}",
    );
    place.check("stored.yaml --world world.yaml", "pass");
    place.check("service.yaml", "Secret `keys/release`: not found");
    place.policy("{entries: [<a>]}", ", dryRun: {enable: true, namespace: tries}");
    place.check(
        "stored.yaml",
        r#"{"key":"spec.ports.0.appProtocol","values":{"after":"http","before":null}}"#,
    );
}
