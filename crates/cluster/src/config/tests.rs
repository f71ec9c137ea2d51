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
users:
- {name: token, user: {token: secret}}
- {name: certificate, user: {client-certificate-data: Y2VydA==, client-key: keys/key.pem}}
- {name: file, user: {tokenFile: token}}
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
    let name: String = format!("{want}{}", text.len()).chars().filter(char::is_ascii_alphanumeric).collect();
    let paths = files(&name, &[("config", text)]);
    let error = Config::of_files(&paths, context).unwrap_err().to_string();
    assert!(error.contains(want), "{error}");
}

/// A kubeconfig with one context `c`, cluster `k` and user `u`.
fn simple(cluster: &str, user: &str) -> String {
    format!(
        "{{current-context: c, contexts: [{{name: c, context: {{cluster: k, user: u}}}}],
         clusters: [{{name: k, cluster: {cluster}}}], users: [{{name: u, user: {user}}}]}}"
    )
}

#[track_caller]
fn read(name: &str, text: &str) -> Config {
    Config::of_files(&files(name, &[("config", text)]), None).unwrap()
}

#[track_caller]
fn check_wrong_user(user: &str, want: &str) {
    check_wrong(&simple("{server: 'https://k'}", user), None, want);
}

#[test]
fn what_is_wrong_is_said_with_file_and_entry() {
    let whole = format!("{CLUSTERS}{CONTEXTS}");
    check_wrong("", None, "config has no `current-context`");
    check_wrong(
        "{contexts: [{name: a}, {name: b}]}",
        None,
        "no `current-context`; its contexts are `a`, `b`",
    );
    check_wrong("{a: [", None, "cannot read ");
    check_wrong("- a", None, "it is not a kubeconfig");
    check_wrong(&whole, Some("none"), "config has no context `none`; its contexts are `first`, `second`");
    check_wrong(&whole, Some("lost"), "it names the cluster `three`, which kubeconfig /");
    check_wrong("{current-context: a, contexts: [{name: a}]}", None, "it names no cluster");
    check_wrong(&simple("{}", "{}"), None, "cluster `k` in /");
    check_wrong(&simple("", "{}"), None, "it has no `server`");
    check_wrong(&simple("{server: x}", "{}"), None, "`server` is `x`, which is not a URL with `https://`");
    check_wrong(&simple("{server: 7}", "{}"), None, "`server` must be a string");
    check_wrong(
        &simple("{server: 'https://k', insecure-skip-tls-verify: true, certificate-authority: a}", "{}"),
        None,
        "exclude each other",
    );
    check_wrong(
        &simple("{server: 'https://k', certificate-authority-data: '%'}", "{}"),
        None,
        "is not PEM in base64",
    );
    check_wrong(
        &simple("{server: 'https://k', proxy-url: 'ftp://a:hidden@b'}", "{}"),
        None,
        "`proxy-url`: `ftp://b` is not a proxy: its scheme must be",
    );
    let error = Config::of_files(&[PathBuf::from("/does/not/exist")], None).unwrap_err();
    assert!(error.to_string().starts_with("cannot read /does/not/exist: "), "{error}");
}

#[test]
fn a_user_that_cannot_log_in_is_said_with_the_way_out() {
    check_wrong_user("{client-certificate: a}", "user `u` in /");
    check_wrong_user(
        "{client-certificate: a}",
        "its client certificate has no `client-key` or `client-key-data`",
    );
    check_wrong_user("{token: t, username: a, password: b}", "both a token and a password");
    check_wrong_user("{password: b}", "its `password` has no `username`");
    check_wrong_user("{token: {}}", "`token` must be a string");
    check_wrong_user("{exec: {}}", "`exec` has no `command`");
    check_wrong_user("{exec: {command: a}}", "`exec` has no `apiVersion`");
    let old = "{exec: {command: a, apiVersion: client.authentication.k8s.io/v1alpha1}}";
    check_wrong_user(old, "update the plugin");
    let mode = "{exec: {command: a, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Perhaps}}";
    check_wrong_user(mode, "`interactiveMode` is `Perhaps`");
    check_wrong_user("{auth-provider: {name: gcp}}", "gke-gcloud-auth-plugin");
    check_wrong_user("{auth-provider: {name: azure}}", "kubelogin convert-kubeconfig");
    check_wrong_user("{auth-provider: {name: oidc, config: {}}}", "`oidc` has no `id-token`");
    // {"exp":1}
    check_wrong_user("{auth-provider: {name: oidc, config: {id-token: a.eyJleHAiOjF9.b}}}", "has expired");
    check_wrong_user("{token: t, as-groups: [a]}", "need `as`, the user to act as");
}

#[test]
fn users_log_in_by_what_they_have() {
    let login =
        |name: &str, user: &str| format!("{:?}", read(name, &simple("{server: 'https://k'}", user)).login);
    assert_eq!(login("basic", "{username: ann, password: hidden}"), r#"Basic("ann")"#);
    assert_eq!(login("both", "{token: t, client-certificate: a, client-key: b}"), "[Certificate, Token]");
    assert_eq!(login("absent-file", "{token: t, tokenFile: absent}"), "Token");
    assert_eq!(login("oidc", "{auth-provider: {name: oidc, config: {id-token: a.e30.b}}}"), "Token");
    assert_eq!(login("empty", "{}"), "Anonymous");
    let exec = "exec: {command: login, apiVersion: client.authentication.k8s.io/v1beta1}";
    assert_eq!(login("exec", &format!("{{{exec}}}")), r#"Exec("login")"#);
    assert_eq!(login("token-before-exec", &format!("{{token: t, {exec}}}")), "Token");
}

#[test]
fn a_plugin_is_told_the_authority_of_a_file_and_the_extension() {
    let text = simple(
        "{server: 'https://k', certificate-authority: ca.crt, proxy-url: 'http://p:1',
          extensions: [{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, extension: {a: b}}]}",
        "{exec: {command: ./login, apiVersion: client.authentication.k8s.io/v1, provideClusterInfo: true,
          interactiveMode: Always}}",
    );
    let paths = files("told", &[("config", &text), ("ca.crt", "authority")]);
    let config = Config::of_files(paths.get(..1).unwrap(), None).unwrap();
    let Login::Exec(exec) = &config.login else { panic!("{:?}", config.login) };
    assert_eq!(exec.command, paths.first().unwrap().parent().unwrap().join("./login"));
    assert_eq!(
        kubewright_value::json::to_string(exec.cluster.as_ref().unwrap()),
        r#"{"proxy-url":"http://p:1","certificate-authority-data":"YXV0aG9yaXR5","config":{"a":"b"}}"#
    );
    assert_eq!(config.proxy.unwrap().to_string(), "http://p:1");
}

#[test]
fn a_user_may_act_as_another() {
    let user = "{token: t, as: ann, as-uid: '7', as-groups: [dev], as-user-extra: {team: [a, b]}}";
    let impersonation = read("as", &simple("{server: 'https://k'}", user)).impersonation;
    assert_eq!((impersonation.user.as_str(), impersonation.uid.as_str()), ("ann", "7"));
    assert_eq!(impersonation.groups, ["dev"]);
    let pair = |value: &str| ("team".to_owned(), value.to_owned());
    assert_eq!(impersonation.extra, [pair("a"), pair("b")]);
}

#[test]
fn servers_are_written_in_several_ways() {
    let server = |name: &str, cluster: &str| read(name, &simple(cluster, "{}")).server;
    assert_eq!(
        server("path", "{server: 'https://rancher/k8s/clusters/c-abc/'}"),
        "https://rancher/k8s/clusters/c-abc"
    );
    assert_eq!(server("ipv6", "{server: 'https://[fd00::1]:6443'}"), "https://[fd00::1]:6443");
    assert_eq!(server("bare", "{server: 'k:8080'}"), "http://k:8080");
    assert_eq!(server("bare-tls", "{server: 'k:6443', certificate-authority: a}"), "https://k:6443");
}

#[test]
fn compression_is_for_other_machines() {
    let accepted = |name: &str, cluster: &str| read(name, &simple(cluster, "{}")).is_gzip_accepted;
    assert!(accepted("remote", "{server: 'https://k'}"));
    assert!(!accepted("local", "{server: 'https://127.0.0.1:6443'}"));
    assert!(!accepted("local-6", "{server: 'https://[::1]:6443'}"));
    assert!(!accepted("disabled", "{server: 'https://k', disable-compression: true}"));
}

#[test]
fn files_of_other_systems_and_folded_data_are_read() {
    let text = "\u{feff}current-context: c\r\ncontexts:\r\n- name: c\r\n  context:\r\n    cluster: k\r\nclusters:\r\n\
                - name: k\r\n  cluster:\r\n    server: https://k:6443\r\n    certificate-authority-data: >-\r\n\
                \x20     Y2Vy\r\n      dA==\r\n";
    let config = read("windows", text);
    assert_eq!(config.server, "https://k:6443");
    assert!(
        matches!(&config.authority, Some(PemSource::Text(text)) if text == "cert"),
        "{:?}",
        config.authority
    );
}

#[test]
fn what_is_not_safe_is_said() {
    let config = read("insecure", &simple("{server: 'https://k', insecure-skip-tls-verify: true}", "{}"));
    let [warning] = config.warnings().try_into().unwrap();
    assert!(warning.starts_with("the certificate of https://k is not verified"), "{warning}");
    let config = read("plain", &simple("{server: 'http://k'}", "{token: t}"));
    assert_eq!(config.warnings(), ["credentials are sent to http://k without encryption"]);
    assert!(
        read("plain-local", &simple("{server: 'http://localhost:1'}", "{token: t}")).warnings().is_empty()
    );
    assert!(read("safe", &simple("{server: 'https://k'}", "{token: t}")).warnings().is_empty());
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
