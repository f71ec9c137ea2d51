use std::time::{Duration, SystemTime};

use kubewright_value::json;

use super::{Exec, InteractiveMode};

/// A plugin that runs `script`.
fn plugin(script: &str) -> Exec {
    Exec {
        command: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        environment: vec![("PLUGIN_TOKEN".to_owned(), "from-env".to_owned())],
        api_version: "client.authentication.k8s.io/v1".to_owned(),
        install_hint: String::new(),
        interactive_mode: InteractiveMode::Never,
        cluster: Some(json::parse(r#"{"tls-server-name":"api"}"#).unwrap()),
    }
}

#[track_caller]
fn check_wrong(script: &str, want: &str) {
    let error = plugin(script).run("https://api").err().unwrap().to_string();
    assert_eq!(error, format!("credential plugin `/bin/sh` failed: {want}"));
}

#[test]
fn a_plugin_is_told_about_the_cluster_and_gives_a_token_with_an_expiry() {
    let script = r#"
        case "$KUBERNETES_EXEC_INFO" in
        *'"interactive":false'*'"tls-server-name":"api"'*'"server":"https://api"'*) ;;
        *) echo "$KUBERNETES_EXEC_INFO" >&2; exit 3;;
        esac
        echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
          "status":{"token":"'$PLUGIN_TOKEN'","expirationTimestamp":"1970-01-01T00:00:09Z"}}'"#;
    let shown = plugin(script).run("https://api").map_err(|error| error.to_string()).unwrap();
    assert_eq!(shown.authorization.as_deref(), Some("Bearer from-env"));
    assert_eq!(shown.expiry, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(9)));
}

#[test]
fn a_plugin_that_fails_is_quoted() {
    check_wrong(
        "echo 'token expired'; echo 'run `login`' >&2; printf '\\033[31mnow' >&2; exit 7",
        "it ended with exit status: 7: run `login` [31mnow",
    );
    check_wrong("echo no", "what it wrote is not JSON");
    check_wrong("echo '{}'", "what it wrote is not an ExecCredential");
    check_wrong(r#"echo '{"kind":"ExecCredential"}'"#, "it gave neither a token nor a certificate");
    check_wrong(
        r#"echo '{"kind":"ExecCredential","status":{"clientKeyData":"k"}}'"#,
        "it gave only one of `clientCertificateData` and `clientKeyData`",
    );
    check_wrong(
        r#"echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"}'"#,
        "it answered in client.authentication.k8s.io/v1beta1, and the kubeconfig says client.authentication.k8s.io/v1",
    );
    check_wrong(
        r#"echo '{"kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"soon"}}'"#,
        "its `expirationTimestamp` `soon` is not a time",
    );
}

#[test]
fn a_plugin_that_is_not_installed_says_how_to_install_it() {
    let exec = Exec {
        command: "/does/not/exist".into(),
        install_hint: "Install it\nwith care.\n".to_owned(),
        ..plugin("")
    };
    let error = exec.run("https://api").err().unwrap().to_string();
    assert!(error.starts_with("credential plugin `/does/not/exist` failed: "), "{error}");
    assert!(error.ends_with("; Install it with care."), "{error}");
}

#[test]
fn a_plugin_may_ask_the_user_only_at_a_terminal() {
    let with =
        |interactive_mode, has_terminal| Exec { interactive_mode, ..plugin("") }.is_interactive(has_terminal);
    assert_eq!(with(InteractiveMode::Never, true), Ok(false));
    assert_eq!(with(InteractiveMode::IfAvailable, true), Ok(true));
    assert_eq!(with(InteractiveMode::IfAvailable, false), Ok(false));
    assert_eq!(with(InteractiveMode::Always, true), Ok(true));
    assert!(with(InteractiveMode::Always, false).unwrap_err().contains("interactiveMode: Always"));
}

#[test]
fn a_plugin_that_does_not_end_is_killed() {
    let started = std::time::Instant::now();
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "echo waiting >&2; exec sleep 60"]).stdin(std::process::Stdio::null());
    let failure = super::process::run_process(command, Duration::from_secs(1), false).err().unwrap();
    assert_eq!(failure.text, "it did not end within 1 s: waiting");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_expiry_is_read_in_its_zone_and_wrong_ones_are_none() {
    let check = |text: &str, want: Option<u64>| {
        let time = want.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(super::read_expiry(text), time, "{text}");
    };
    check("2026-11-16T18:39:01.123456Z", Some(1_794_854_341));
    check("2026-11-16T18:39:01+01:00", Some(1_794_850_741));
    for text in
        ["", "now", "2026-11-16", "2026-13-16T18:39:01Z", "1969-12-31T23:59:59Z", "2026-11-16T1é:39:01Z"]
    {
        check(text, None);
    }
}
