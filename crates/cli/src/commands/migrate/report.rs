//! The report of a migration: a row for each rule, the differences with both traces, and totals.

use std::io::{self, Write as _};

use kubewright_convert::ConvertedPolicy;
use kubewright_report::render::DOCUMENT_VERSION;
use kubewright_report::text::plural;
use kubewright_value::{Map, Text, Value, json};

use super::super::conversion::{ConversionSummary, ConvertedDocument, summary_value, write_summary_table};
use super::comparison::{ObjectProofs, UNPROVEN};
use super::difference::ObjectDifference;
use crate::arguments::{MigrateArguments, MigrateFormat};
use crate::output::{ColorChoice, print_stderr, standard_output};

/// The report of a migration.
pub(super) struct MigrationReport<'c> {
    converted: &'c [ConvertedDocument],
    rows: Vec<MigrationRow<'c>>,
    /// How many objects were read.
    objects: usize,
}

/// What becomes of one rule.
struct MigrationRow<'c> {
    policy: &'c Text,
    rule: &'c Text,
    result: MigrationResult,
    /// The policies that replace it, `Kind/name`; empty where none does.
    successors: Vec<String>,
    /// Why it is not migrated; may be empty.
    why: String,
    tests: usize,
    objects: usize,
    differing: usize,
    differences: &'c [ObjectDifference],
}

/// The result for one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MigrationResult {
    Migrated,
    /// Migrated, and nothing was there to compare it on.
    Unproven,
    Differs,
    Remains,
}

impl MigrationResult {
    fn name(self) -> &'static str {
        match self {
            Self::Migrated => "migrated",
            Self::Unproven => "unproven",
            Self::Differs => "differs",
            Self::Remains => "remains",
        }
    }
}

impl<'c> MigrationReport<'c> {
    /// Returns the report on `converted`.
    pub(super) fn new(converted: &'c [ConvertedDocument], proofs: &'c ObjectProofs) -> Self {
        let mut rows = Vec::new();
        for (policy, one) in converted.iter().enumerate() {
            for (place, written) in one.conversion.written.iter().enumerate() {
                let row = |rule: &'c Text| written_row(one, rule, (policy, place), written, proofs);
                rows.extend(written.rules.iter().map(row));
            }
            rows.extend(one.conversion.refused.iter().map(|refused| MigrationRow {
                policy: &one.conversion.policy,
                rule: &refused.rule,
                result: MigrationResult::Remains,
                successors: Vec::new(),
                why: refused.why.clone(),
                tests: 0,
                objects: 0,
                differing: 0,
                differences: &[],
            }));
        }
        Self { converted, rows, objects: proofs.objects }
    }

    /// Returns whether every rule is migrated.
    pub(super) fn is_complete(&self) -> bool {
        let is_done = |row: &MigrationRow<'_>| {
            matches!(row.result, MigrationResult::Migrated | MigrationResult::Unproven)
        };
        self.rows.iter().all(is_done)
    }

    /// Prints the report as `arguments` ask for.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub(super) fn print(&self, arguments: &MigrateArguments, color: ColorChoice) -> io::Result<()> {
        if arguments.output == MigrateFormat::Json {
            return self.print_json(arguments.summary);
        }
        if arguments.summary {
            return write_summary_table(&ConversionSummary::of(self.converted));
        }
        self.print_rows(color)?;
        for row in self.rows.iter().filter(|row| !row.differences.is_empty()) {
            print_stderr(format_args!("\n{}", row.difference_text()));
        }
        Ok(())
    }

    /// Prints what is not migrated to standard error.
    pub(super) fn print_remaining(&self) {
        for row in &self.rows {
            if matches!(row.result, MigrationResult::Differs | MigrationResult::Remains) {
                let result = row.result.name();
                print_stderr(format_args!("{result} {}: {}", row.title(), row.line()));
                if !row.differences.is_empty() {
                    print_stderr(row.difference_text());
                }
            }
        }
    }

    fn print_rows(&self, color: ColorChoice) -> io::Result<()> {
        let paint = color.paint_output();
        let mut out = standard_output();
        for row in &self.rows {
            let result = format!("{:<8}", row.result.name());
            let result = match row.result {
                MigrationResult::Migrated => paint.green(&result),
                MigrationResult::Unproven | MigrationResult::Remains => paint.yellow(&result),
                MigrationResult::Differs => paint.red(&result),
            };
            writeln!(out, "{result} {}: {}", row.title(), row.line())?;
        }
        out.flush()
    }

    fn print_json(&self, is_summary: bool) -> io::Result<()> {
        let mut map = Map::from([("version", Value::from(DOCUMENT_VERSION))]);
        if !is_summary {
            map.insert("rules".into(), Value::array(self.rows.iter().map(MigrationRow::value).collect()));
        }
        map.insert("objects".into(), self.objects.into());
        map.insert("summary".into(), summary_value(&ConversionSummary::of(self.converted)));
        let mut out = standard_output();
        writeln!(out, "{}", json::to_shown_pretty(&map.into()))?;
        out.flush()
    }

    /// Returns the report as Markdown.
    pub(super) fn markdown(&self) -> String {
        let count = |result| self.rows.iter().filter(|row| row.result == result).count();
        let mut text = format!(
            "# Migration\n\nOf {}, {} migrated, {} without proof; {} differ, {} remain. Compared on {}.\n\n\
             | policy | rule | result | by | why not | tests | objects | differences |\n|---|---|---|---|---|---|---|---|\n",
            plural(self.rows.len(), "rule"),
            count(MigrationResult::Migrated) + count(MigrationResult::Unproven),
            count(MigrationResult::Unproven),
            count(MigrationResult::Differs),
            count(MigrationResult::Remains),
            plural(self.objects, "object"),
        );
        for row in &self.rows {
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
                cell(row.policy),
                cell(row.rule),
                row.result.name(),
                cell(&row.successors.join(", ")),
                cell(&row.why),
                row.tests,
                row.objects,
                row.differing,
            ));
        }
        let differing: Vec<&MigrationRow<'_>> =
            self.rows.iter().filter(|row| !row.differences.is_empty()).collect();
        if !differing.is_empty() {
            text.push_str("\n## Differences\n");
        }
        for row in differing {
            text.push_str(&format!("\n### {}\n\n", cell(&row.title())));
            let trace = row.difference_text();
            let fence = "`".repeat(longest_run(&trace, '`').max(2) + 1);
            text.push_str(&format!("{fence}\n{trace}{fence}\n"));
        }
        text
    }
}

fn written_row<'c>(
    one: &'c ConvertedDocument,
    rule: &'c Text,
    (policy, place): (usize, usize),
    written: &'c ConvertedPolicy,
    proofs: &'c ObjectProofs,
) -> MigrationRow<'c> {
    let proof = proofs.of(policy, place);
    let tests = one.proof.tests(place);
    let objects = proof.map_or(0, |proof| proof.agreeing);
    let difference = one.proof.differences.iter().find(|(differing, _)| *differing == place);
    let why = difference.map(|(_, difference)| difference.clone()).unwrap_or_default();
    let result = match difference {
        Some((_, why)) if why == UNPROVEN => MigrationResult::Remains,
        Some(_) => MigrationResult::Differs,
        None if tests == 0 && objects == 0 => MigrationResult::Unproven,
        None => MigrationResult::Migrated,
    };
    MigrationRow {
        policy: &one.conversion.policy,
        rule,
        result,
        successors: written.documents.iter().map(successor_name).collect(),
        why,
        tests,
        objects,
        differing: proof.map_or(0, |proof| proof.differing),
        differences: proof.map(|proof| proof.differences.as_slice()).unwrap_or_default(),
    }
}

impl MigrationRow<'_> {
    /// Returns `policy/rule`, or the policy where it is one rule.
    fn title(&self) -> String {
        match self.rule.as_str() {
            "" => self.policy.to_string(),
            rule => format!("{}/{rule}", self.policy),
        }
    }

    fn line(&self) -> String {
        match self.result {
            MigrationResult::Migrated => format!(
                "{} (agrees on {} of tests, {})",
                self.successors.join(", "),
                plural(self.tests, "request"),
                plural(self.objects, "object")
            ),
            MigrationResult::Unproven => {
                format!("{} (no test and no object compares it)", self.successors.join(", "))
            }
            MigrationResult::Differs | MigrationResult::Remains => self.why.clone(),
        }
    }

    fn difference_text(&self) -> String {
        let mut text = String::new();
        for difference in self.differences {
            text.push_str(&format!(
                "{} ({})\nsource:\n{}converted:\n{}",
                difference.what,
                difference.place,
                indented(&difference.source.text),
                indented(&difference.converted.text)
            ));
        }
        let more = self.differing.saturating_sub(self.differences.len());
        if more > 0 {
            text.push_str(&format!("… and {more} more objects\n"));
        }
        text
    }

    fn value(&self) -> Value {
        let mut map = Map::from([
            ("policy", Value::from(self.policy.clone())),
            ("rule", self.rule.clone().into()),
            ("result", self.result.name().into()),
            ("by", self.successors.clone().into()),
            ("tests", self.tests.into()),
            ("objects", self.objects.into()),
            ("differing", self.differing.into()),
        ]);
        if !self.why.is_empty() {
            map.insert("why".into(), self.why.clone().into());
        }
        if !self.differences.is_empty() {
            let differences = self.differences.iter().map(ObjectDifference::value).collect();
            map.insert("differences".into(), Value::array(differences));
        }
        map.into()
    }
}

/// Returns `Kind/name`, or `Kind/namespace/name`.
pub(super) fn successor_name(document: &Value) -> String {
    let name = document.str_at(&["metadata", "name"]);
    match document.str_at(&["metadata", "namespace"]) {
        "" => format!("{}/{name}", document.str_at(&["kind"])),
        namespace => format!("{}/{namespace}/{name}", document.str_at(&["kind"])),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// Returns `text` for a cell of a table in Markdown.
fn cell(text: &str) -> String {
    text.chars().flat_map(cell_character).collect()
}

fn cell_character(character: char) -> Vec<char> {
    match character {
        '\n' | '\r' => vec![' '],
        '|' | '<' | '\\' => vec!['\\', character],
        other => vec![other],
    }
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut current = 0;
    for character in text.chars() {
        current = if character == wanted { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}
