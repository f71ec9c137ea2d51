//! How long a keystroke takes with a thousand rules; `make bench-lsp` measures it in more projects.

use std::time::{Duration, Instant};

use super::client::{ClientOptions, EditorClient};
use super::{FILES, POLICY};

/// The rules of the project beside the edited one.
const RULES: usize = 1_000;

/// How long a keystroke may take. Only an optimized build is held to it; others are slower by a factor.
const BUDGET: Duration = Duration::from_millis(20);

const DEBUG_FACTOR: u32 = 60;

#[test]
fn a_keystroke_in_a_thousand_rules_is_answered_in_time() {
    let mut files: Vec<(String, String)> =
        FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    for number in 0..RULES {
        let text = POLICY.replace("name: labels", &format!("name: labels-{number}"));
        files.push((format!("rules/many/{number}.yaml"), text));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut client = EditorClient::start("speed", &files, ClientOptions::default());
    client.open("rules/labels.yaml", POLICY);
    client.wait_for_version("rules/labels.yaml", 1);
    let mut times: Vec<Duration> = (0..41)
        .map(|_| {
            let started = Instant::now();
            let version = client.edit("rules/labels.yaml", [13, 20, 13, 20], "x");
            client.wait_for_version("rules/labels.yaml", version);
            started.elapsed()
        })
        .collect();
    times.sort();
    let median = times[times.len() / 2];
    println!("a keystroke with {RULES} rules: median {median:?}, slowest {:?}", times[times.len() - 1]);
    let limit = if cfg!(debug_assertions) { BUDGET * DEBUG_FACTOR } else { BUDGET };
    assert!(median < limit, "{median:?} is more than {limit:?}");
    client.stop();
}
