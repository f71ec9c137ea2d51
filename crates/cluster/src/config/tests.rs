use std::fs;
use std::path::PathBuf;

use super::{Config, Login, PemSource};

/// Files in a folder of their own, which is removed with them.
struct Files(Vec<PathBuf>);

impl Drop for Files {
    fn drop(&mut self) {
        let _ = self.0.first().and_then(|path| path.parent()).map(fs::remove_dir_all);
    }
}

impl std::ops::Deref for Files {
    type Target = Vec<PathBuf>;

    fn deref(&self) -> &Vec<PathBuf> {
        &self.0
    }
}

/// Writes `files`.
fn files(name: &str, files: &[(&str, &str)]) -> Files {
    let folder = std::env::temp_dir().join(format!("kubewright-config-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let write = |(name, text): &(&str, &str)| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name)
    };
    Files(files.iter().map(write).collect())
}

const CLUSTERS: &str = "
clusters:
- {name: one, cluster: {server: 'https://one:6443/', certificate-authority: ca.crt}}
- {name: two, cluster: {server: 'https://two/k8s', insecure-skip-tls-verify: true, tls-server-name: real}}
";

const CONTEXTS: &str = "
current-context: first
contexts:
- {name: first, context: {cluster: one, user: token}}
- {name: second, context: {cluster: two, user: certificate, namespace: shop}}
- {name: third, context: {cluster: two, user: file}}
- {name: anonymous, context: {cluster: one}}
- {name: lost, context: {cluster: three}}
- {name: provider, context: {cluster: one, user: provider}}
users:
- {name: token, user: {token: secret}}
- {name: certificate, user: {client-certificate-data: Y2VydA==, client-key: keys/key.pem}}
- {name: file, user: {tokenFile: token}}
- {name: provider, user: {auth-provider: {name: gcp}}}
";

#[test]
fn files_are_read_together_and_paths_are_relative_to_them() {
    let paths = files("together", &[("clusters", CLUSTERS), ("contexts", CONTEXTS)]);
    let folder = paths.first().unwrap().parent().unwrap();
    let first = Config::of_files(&paths, None).unwrap();
    assert_eq!((first.server.as_str(), first.namespace.as_str()), ("https://one:6443", "default"));
    assert!(matches!(&first.authority, Some(PemSource::File(path)) if *path == folder.join("ca.crt")));
    assert!(matches!(&first.login, Login::Token(token) if token == "secret"));

    let second = Config::of_files(&paths, Some("second")).unwrap();
    assert_eq!((second.server.as_str(), second.namespace.as_str()), ("https://two/k8s", "shop"));
    assert_eq!((second.is_insecure, second.server_name.as_deref()), (true, Some("real")));
    let Login::Certificate(identity) = &second.login else { panic!("{:?}", second.login) };
    assert!(matches!(&identity.certificate, PemSource::Text(text) if text == "cert"));
    assert!(matches!(&identity.key, PemSource::File(path) if *path == folder.join("keys/key.pem")));

    let third = Config::of_files(&paths, Some("third")).unwrap();
    assert!(matches!(&third.login, Login::TokenFile(path) if *path == folder.join("token")));
    assert!(matches!(Config::of_files(&paths, Some("anonymous")).unwrap().login, Login::Anonymous));
}

#[test]
fn of_what_is_named_twice_the_first_counts() {
    let other = "{current-context: anonymous, users: [{name: token, user: {token: other}}]}";
    let missing = PathBuf::from("/does/not/exist");
    let written = files("twice", &[("other", other), ("clusters", CLUSTERS), ("contexts", CONTEXTS)]);
    let paths = [&[missing], written.as_slice()].concat();
    assert!(matches!(Config::of_files(&paths, None).unwrap().login, Login::Anonymous));
    let first = Config::of_files(&paths, Some("first")).unwrap();
    assert!(matches!(&first.login, Login::Token(token) if token == "other"));
}

#[track_caller]
fn check_wrong(text: &str, context: Option<&str>, want: &str) {
    let name: String = want.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    let paths = files(&name, &[("config", text)]);
    let error = Config::of_files(&paths, context).unwrap_err().to_string();
    assert!(error.contains(want), "{error}");
}

#[test]
fn what_is_wrong_is_said() {
    let whole = format!("{CLUSTERS}{CONTEXTS}");
    check_wrong("", None, "the kubeconfig has no `current-context`");
    check_wrong("{a: [", None, "cannot read ");
    check_wrong(&whole, Some("none"), "the kubeconfig has no context `none`");
    check_wrong(&whole, Some("lost"), "the kubeconfig has no cluster `three`");
    check_wrong(&whole, Some("provider"), "`auth-provider` of the kubeconfig is not supported");
    check_wrong(
        "{current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: x}}]}",
        None,
        "the kubeconfig has `x` in place of the address of a server",
    );
    let error = Config::of_files(&[PathBuf::from("/does/not/exist")], None).unwrap_err();
    assert!(error.to_string().starts_with("cannot read /does/not/exist: "), "{error}");
}

#[test]
fn a_pod_has_a_folder() {
    let paths = files("pod", &[("namespace", "shop\n"), ("token", "t"), ("ca.crt", "c")]);
    let config = Config::of_account(paths.first().unwrap().parent().unwrap(), "fd00::1", "443");
    assert_eq!((config.server.as_str(), config.namespace.as_str()), ("https://[fd00::1]:443", "shop"));
}

#[test]
fn secrets_are_not_shown() {
    let config = Config { login: Login::Token("hidden".to_owned()), ..Config::at("https://one") };
    assert!(!format!("{config:?}").contains("hidden"));
}
