//! What the Dockerfile promises. There is an engine on few machines that test; the program itself is made by `make static`.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use std::fs;
use std::path::Path;

/// The instructions, each its name and the rest.
fn instructions() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Dockerfile");
    let text = fs::read_to_string(path).expect("a Dockerfile").replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parts = lines.map(|line| line.split_once(' ').expect("an instruction has arguments"));
    parts.map(|(name, rest)| (name.to_owned(), rest.trim().to_owned())).collect()
}

/// The instructions of the last stage.
fn last_stage() -> Vec<(String, String)> {
    let mut all = instructions();
    let start = all.iter().rposition(|(name, _)| name == "FROM").expect("a FROM");
    all.split_off(start)
}

fn value<'i>(instructions: &'i [(String, String)], name: &str) -> Option<&'i str> {
    instructions.iter().rev().find(|(other, _)| other == name).map(|(_, rest)| rest.as_str())
}

#[test]
fn the_image_is_the_program_on_nothing() {
    let stage = last_stage();
    assert_eq!(value(&stage, "FROM"), Some("scratch"));
    let copies: Vec<_> =
        stage.iter().filter(|(name, _)| name == "COPY").map(|(_, rest)| rest.as_str()).collect();
    let authorities = "/etc/ssl/certs/ca-certificates.crt";
    let authorities = format!("--from=build {authorities} {authorities}");
    assert_eq!(copies, ["--from=build /kubewright /kubewright", authorities.as_str()]);
    assert!(stage.iter().all(|(name, _)| name != "RUN" && name != "ENV" && name != "VOLUME"));
}

#[test]
fn the_program_runs_as_a_user_who_is_only_a_number() {
    let stage = last_stage();
    let user = value(&stage, "USER").expect("a USER");
    let (user, group) = user.split_once(':').expect("a user and a group");
    assert!(user.parse::<u32>().expect("a number") > 0 && group.parse::<u32>().expect("a number") > 0);
    assert_eq!(value(&stage, "ENTRYPOINT"), Some(r#"["/kubewright"]"#), "without a shell");
}

#[test]
fn nothing_is_fetched_that_the_lock_file_does_not_name() {
    let all = instructions();
    assert!(all.iter().all(|(name, _)| name != "ADD"));
    // A label may name an address; nothing is fetched from it.
    assert!(all.iter().filter(|(name, _)| name != "LABEL").all(|(_, rest)| {
        !["http://", "https://", "curl ", "wget ", ":latest"].iter().any(|word| rest.contains(word))
    }));
    assert!(all.iter().any(|(name, rest)| name == "RUN" && rest.starts_with("make static")));
}
