//! Where policies and rules are named: in their documents, exceptions, bindings, tests and the project file.

use std::ops::Range;

use kubewright_dialects::DocumentRole;
use kubewright_value::Step;

use crate::chunk::FileChunk;
use crate::file::EditedFile;
use crate::outline::{LinePiece, OutlineEntry};
use crate::project::{is_project_name, is_test_name};
use crate::workspace::EditorWorkspace;

/// A name of a policy or a rule at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameOccurrence {
    /// The policy; empty where only the rule is named.
    pub(crate) policy: String,
    /// The rule; nothing where the policy is named.
    pub(crate) rule: Option<String>,
    /// Whether it is the name of the document or rule itself.
    pub(crate) is_definition: bool,
    /// The file.
    pub(crate) file: String,
    /// The line in the file, from 0.
    pub(crate) line: u32,
    /// The bytes in the line.
    pub(crate) bytes: Range<usize>,
}

impl NameOccurrence {
    /// Returns whether both name the same policy or rule, as far as they say.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same_policy = self.policy == other.policy || self.policy.is_empty() || other.policy.is_empty();
        self.rule == other.rule && is_same_policy
    }

    fn contains(&self, line: u32, byte: usize) -> bool {
        self.line == line && (self.bytes.start..=self.bytes.end).contains(&byte)
    }
}

/// Collects the names of one chunk.
struct NameCollector<'c> {
    file: &'c EditedFile,
    chunk: &'c FileChunk,
    found: Vec<NameOccurrence>,
}

impl EditorWorkspace {
    /// Returns all names of all files, in the order of files and lines.
    pub(crate) fn names(&self) -> Vec<NameOccurrence> {
        let mut found = Vec::new();
        for file in self.files.values() {
            for chunk in &file.chunks {
                let mut collector = NameCollector { file, chunk, found: Vec::new() };
                collector.collect();
                found.extend(collector.found);
            }
        }
        found
    }

    /// Returns the name at a place of a file, and all names that are the same.
    pub(crate) fn same_names(&self, file: &str, line: u32, byte: usize) -> Vec<NameOccurrence> {
        let all = self.names();
        let here = |one: &&NameOccurrence| one.file == file && one.contains(line, byte);
        let Some(wanted) = all.iter().find(here).cloned() else { return Vec::new() };
        let mut same: Vec<NameOccurrence> = all.into_iter().filter(|one| one.is_same(&wanted)).collect();
        same.sort_by_key(|one| *one != wanted);
        same
    }
}

impl<'c> NameCollector<'c> {
    fn collect(&mut self) {
        let name = self.file.name();
        if is_test_name(name) {
            self.collect_test();
        } else if is_project_name(name) {
            self.each(&["skipRules", "[]"], |collector, piece, _| collector.add_reference(piece));
        } else if self.chunk.is_claimed {
            self.collect_document();
        }
    }

    /// Collects the names of a policy, an exception or a binding.
    fn collect_document(&mut self) {
        let is_policy = |role| matches!(role, DocumentRole::Rule(_));
        let is_policy =
            self.chunk.parts.is_empty() || self.chunk.parts.iter().any(|part| is_policy(part.role));
        if self.chunk.kind() == "PolicyException" {
            self.each(&["spec", "exceptions", "[]", "policyName"], |collector, piece, text| {
                collector.add(piece, (text, None), false);
            });
            self.each(&["spec", "policyRefs", "[]", "name"], |collector, piece, text| {
                collector.add(piece, (text, None), false);
            });
            self.collect_rule_names();
        } else if self.chunk.kind().ends_with("Binding") {
            self.each(&["spec", "policyName"], |collector, piece, text| {
                collector.add(piece, (text, None), false);
            });
        } else if is_policy {
            let policy = self.policy_name();
            self.each(&["metadata", "name"], |collector, piece, text| {
                collector.add(piece, (text, None), true);
            });
            self.each(&["spec", "rules", "[]", "name"], |collector, piece, text| {
                collector.add(piece, (&policy, Some(text)), true);
            });
        }
    }

    /// Collects the names of rules in an exception, whose policy is beside them.
    fn collect_rule_names(&mut self) {
        let (entries, lines) = (&self.chunk.outline.entries, self.lines());
        let mut found = Vec::new();
        for entry in
            entries.iter().filter(|entry| is_at(entry, &["spec", "exceptions", "[]", "ruleNames", "[]"]))
        {
            let Some(item) = entry.path.get(..3) else { continue };
            let beside = |other: &&OutlineEntry| {
                other.path.starts_with(item) && is_at(other, &["spec", "exceptions", "[]", "policyName"])
            };
            let policy = entries.iter().find(beside).and_then(|other| other.value.first());
            let policy = policy.map_or("", |piece| text_in(&lines, piece));
            found.extend(entry.value.first().map(|piece| (piece.clone(), policy.to_owned())));
        }
        for (piece, policy) in found {
            let rule = text_in(&self.lines(), &piece).to_owned();
            self.add(&piece, (&policy, Some(&rule)), false);
        }
    }

    /// Collects the names of a test file.
    fn collect_test(&mut self) {
        self.each(&["cases", "[]", "rule"], |collector, piece, _| collector.add_reference(piece));
        self.each(&["results", "[]", "policy"], |collector, piece, text| {
            collector.add(piece, (text, None), false);
        });
        self.each(&["results", "[]", "rule"], |collector, piece, text| {
            collector.add(piece, ("", Some(text)), false);
        });
    }

    /// Adds `rule`, `policy/rule` or `dialect/policy/rule`.
    fn add_reference(&mut self, piece: &LinePiece) {
        let lines = self.lines();
        let text = text_in(&lines, piece);
        let parts: Vec<&str> = text.split('/').collect();
        let start = piece.range.start;
        let at = |from: usize, part: &str| LinePiece {
            line: piece.line,
            range: start + from..start + from + part.len(),
        };
        match parts.as_slice() {
            [rule] => {
                let place = at(0, rule);
                self.add(&place, ("", Some(rule)), false);
                self.add(&place, (rule, None), false);
            }
            [.., policy, rule] => {
                let rule_start = text.len() - rule.len();
                let policy_start = rule_start - policy.len() - 1;
                self.add(&at(policy_start, policy), (policy, None), false);
                self.add(&at(rule_start, rule), (policy, Some(rule)), false);
            }
            [] => {}
        }
    }

    fn policy_name(&self) -> String {
        let entry = self.chunk.outline.entries.iter().find(|entry| is_at(entry, &["metadata", "name"]));
        let piece = entry.and_then(|entry| entry.value.first());
        piece.map_or_else(String::new, |piece| text_in(&self.lines(), piece).to_owned())
    }

    /// Calls `take` with the text of every entry at `path`.
    fn each(&mut self, path: &[&str], take: impl Fn(&mut Self, &LinePiece, &str)) {
        let entries = self.chunk.outline.entries.iter().filter(|entry| is_at(entry, path));
        let pieces: Vec<LinePiece> = entries.filter_map(|entry| entry.value.first().cloned()).collect();
        let lines = self.lines();
        for piece in pieces {
            let text = text_in(&lines, &piece).to_owned();
            take(self, &piece, &text);
        }
    }

    fn add(&mut self, piece: &LinePiece, name: (&str, Option<&str>), is_definition: bool) {
        let (policy, rule) = name;
        self.found.push(NameOccurrence {
            policy: policy.to_owned(),
            rule: rule.map(str::to_owned),
            is_definition,
            file: self.file.name().to_owned(),
            line: piece.line.saturating_add(self.chunk.lines_before),
            bytes: piece.range.clone(),
        });
    }

    fn lines(&self) -> Vec<&'c str> {
        self.chunk.source.text.lines().collect()
    }
}

/// Returns whether an entry is at `path`, in which `[]` is any item of a list.
pub(crate) fn is_at(entry: &OutlineEntry, path: &[&str]) -> bool {
    entry.path.len() == path.len()
        && entry.path.iter().zip(path).all(|(step, wanted)| match step {
            Step::Key(key) => key == wanted,
            Step::Index(_) => *wanted == "[]",
        })
}

fn text_in<'l>(lines: &[&'l str], piece: &LinePiece) -> &'l str {
    let line = lines.get(crate::encoding::to_usize(piece.line)).copied().unwrap_or_default();
    line.get(piece.range.clone()).unwrap_or_default()
}
