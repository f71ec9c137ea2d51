//! Recorded and generated edits: after any of them, the server says what a server says that opens the text.

use super::client::{ClientOptions, EditorClient};
use super::{EXCEPTION, FILES, POD, POLICY, pulling};

/// Small steps of a well-known generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides.max(1)
    }
}

const INSERTED: [&str; 12] =
    ["\n", "---\n", "a", " ", ":", "  ", "{{ x }}", "\u{1f600}", "- name: b\n", "\"", "spec:\n", "# c\n"];

/// Makes an edit in `text` and returns its range, with columns in words of UTF-16.
fn random_edit(dice: &mut Dice, text: &mut String) -> ([u32; 4], &'static str) {
    let boundaries: Vec<usize> =
        (0..=text.len()).filter(|at| text.is_char_boundary(*at) && !is_between_break(text, *at)).collect();
    let first = dice.roll(boundaries.len());
    let length = if dice.roll(3) == 0 { dice.roll(40) } else { 0 };
    let last = (first + length).min(boundaries.len() - 1);
    let boundary = |number: usize| *boundaries.get(number).expect("a boundary");
    let (start, end) = (boundary(first), boundary(last));
    let new = INSERTED.get(dice.roll(INSERTED.len())).expect("a text to insert");
    let range = [place(text, start), place(text, end)].concat();
    text.replace_range(start..end, new);
    (range.try_into().expect("two places"), new)
}

fn is_between_break(text: &str, at: usize) -> bool {
    text[..at].ends_with('\r') && text[at..].starts_with('\n')
}

fn place(text: &str, offset: usize) -> [u32; 2] {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let column: usize = before.rsplit('\n').next().unwrap_or_default().chars().map(char::len_utf16).sum();
    [u32::try_from(line).expect("small"), u32::try_from(column).expect("small")]
}

#[test]
fn after_random_edits_the_state_is_that_of_a_fresh_open() {
    let start = format!("{POLICY}---\n{}---\n{EXCEPTION}", POLICY.replace("name: labels", "name: second"));
    let mut client = EditorClient::start("edits", FILES, pulling());
    let mut manifest = format!("{POD}---\n{}---\n{POD}", POD.replace("name: web", "name: shop"));
    client.open("rules/labels.yaml", &start);
    client.open("manifests/pod.yaml", &manifest);
    let mut text = start;
    let mut dice = Dice(23);
    for round in 0..12 {
        for number in 0..25 {
            let (range, new) = random_edit(&mut dice, &mut text);
            client.edit("rules/labels.yaml", range, new);
            // Few edits, so that there are objects to judge.
            if number % 12 == 0 {
                let (range, new) = random_edit(&mut dice, &mut manifest);
                client.edit("manifests/pod.yaml", range, new);
                client.pull("manifests/pod.yaml");
            }
        }
        let mut fresh = EditorClient::start(&format!("edits-fresh-{round}"), FILES, pulling());
        fresh.open("rules/labels.yaml", &text);
        fresh.open("manifests/pod.yaml", &manifest);
        for name in ["rules/labels.yaml", "manifests/pod.yaml"] {
            assert_eq!(client.pull(name), fresh.pull(name), "round {round} of {name}:\n{text}\n{manifest}");
        }
        for method in
            ["textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/semanticTokens/full"]
        {
            let known = client.ask(method, "rules/labels.yaml", 0, 0);
            assert_eq!(
                known,
                fresh.ask(method, "rules/labels.yaml", 0, 0),
                "{method} in round {round}:\n{text}"
            );
        }
        fresh.stop();
    }
    client.stop();
}

#[test]
fn a_field_that_is_written_letter_by_letter_is_never_lost() {
    let mut client = EditorClient::start("letters", FILES, pulling());
    client.open("rules/labels.yaml", POLICY);
    let line = u32::try_from(POLICY.lines().count()).expect("small");
    for (column, letter) in (0_u32..).zip("    exclude:".chars()) {
        client.edit("rules/labels.yaml", [line, column, line, column], &letter.to_string());
        // Every state between is answered.
        client.pull("rules/labels.yaml");
    }
    let found = client.pull("rules/labels.yaml");
    assert!(found.iter().all(|one| !one.contains("KW-Y001")), "{found:#?}");
    client.stop();
}

#[test]
fn diagnostics_are_sent_for_the_last_of_many_edits() {
    let mut client = EditorClient::start("burst", FILES, ClientOptions::default());
    client.open("rules/labels.yaml", POLICY);
    for _ in 0..50 {
        client.edit("rules/labels.yaml", [12, 4, 12, 4], "x");
    }
    let wanted = format!("unknown field `{}validate`", "x".repeat(50));
    client.wait_for("rules/labels.yaml", |found| found.iter().any(|one| one.contains(&wanted)));
    client.stop();
}

#[test]
fn edits_of_single_files_are_those_of_the_whole_project() {
    let second = POLICY.replace("name: labels", "name: second").replace("message: the", "message: a");
    let trait_text = "apiVersion: openchoreo.dev/v1alpha1\nkind: Trait\nmetadata: {name: a}\nspec: {}\n";
    let mut files = FILES.to_vec();
    files.extend([("rules/second.yaml", second.as_str()), ("rules/trait.yaml", trait_text)]);
    let mut client = EditorClient::start("project", &files, pulling());
    let mut texts: Vec<(&str, String)> = files
        .iter()
        .filter(|(name, _)| name.starts_with("rules/") || name.starts_with("manifests/"))
        .map(|(name, text)| (*name, (*text).to_owned()))
        .collect();
    for (name, text) in &texts {
        client.open(name, text);
    }
    let mut dice = Dice(7);
    for round in 0..8 {
        for _ in 0..6 {
            let chosen = dice.roll(texts.len());
            let (name, text) = texts.get_mut(chosen).expect("a file");
            let (range, new) = random_edit(&mut dice, text);
            client.edit(name, range, new);
            // What is kept between two questions must not be older than the last edit.
            let asked = texts.get(dice.roll(texts.len())).expect("a file").0;
            client.pull(asked);
        }
        let mut fresh = EditorClient::start(&format!("project-fresh-{round}"), &files, pulling());
        for (name, text) in &texts {
            fresh.open(name, text);
        }
        for (name, text) in &texts {
            assert_eq!(client.pull(name), fresh.pull(name), "round {round} of {name}:\n{text}");
        }
        fresh.stop();
    }
    client.stop();
}
