//! Diagnostics of files as the protocol has them: mistakes in rules, and outcomes of rules in manifests.

use std::str::FromStr as _;

use kubewright_engine::{Diagnostic, DiagnosticLevel, RuleStatus};
use kubewright_report::ignores::fits_rule;
use kubewright_report::{ObjectRow, OutcomeRow, Severity};
use kubewright_value::{Location, Position};
use lsp_types::{
    CodeDescription, DiagnosticRelatedInformation, DiagnosticSeverity, NumberOrString, Range, Uri,
};
use serde_json::json;

use crate::file::EditedFile;
use crate::protocol::document_address;
use crate::workspace::EditorWorkspace;

/// The name of the server beside its diagnostics.
const SOURCE: &str = "kubewright";

/// Where the pages of diagnostics are.
const PAGES: &str = "https://github.com/OWNER/kubewright/blob/main/docs/diagnostics";

/// The maximum number of diagnostics that are sent for one file.
const MAX_DIAGNOSTICS: usize = 1_000;

impl EditorWorkspace {
    /// Returns all diagnostics of a file; none for a file that is not ours.
    pub(crate) fn file_diagnostics(&mut self, name: &str) -> Vec<lsp_types::Diagnostic> {
        if !self.is_answered(name) {
            return Vec::new();
        }
        let linted = self.lint(name);
        let mut found: Vec<lsp_types::Diagnostic> = Vec::new();
        if let Some(file) = self.files.get(name) {
            found.extend(linted.iter().map(|diagnostic| self.diagnostic(file, diagnostic)));
        }
        found.extend(self.manifest_diagnostics(name));
        found.sort_by_key(|diagnostic| (diagnostic.range.start.line, diagnostic.range.start.character));
        found.truncate(MAX_DIAGNOSTICS);
        found
    }

    fn diagnostic(&self, file: &EditedFile, diagnostic: &Diagnostic) -> lsp_types::Diagnostic {
        let mut message = diagnostic.message.clone();
        for more in [&*diagnostic.label, &diagnostic.help] {
            if !more.is_empty() {
                message = format!("{message}\n{more}");
            }
        }
        lsp_types::Diagnostic {
            range: self.location_range(file, &diagnostic.location),
            severity: Some(match diagnostic.severity() {
                DiagnosticLevel::Error => DiagnosticSeverity::ERROR,
                DiagnosticLevel::Warning => DiagnosticSeverity::WARNING,
                DiagnosticLevel::Hint => DiagnosticSeverity::HINT,
            }),
            code: Some(NumberOrString::String(diagnostic.code.id.to_owned())),
            code_description: page_address(diagnostic.code.id).map(|href| CodeDescription { href }),
            source: Some(SOURCE.to_owned()),
            related_information: self.second_place(diagnostic),
            data: Some(json!({ "code": diagnostic.code.id, "help": diagnostic.help })),
            message,
            ..lsp_types::Diagnostic::default()
        }
    }

    /// Returns the range of a location in the text of `file`.
    fn location_range(&self, file: &EditedFile, location: &Location) -> Range {
        self.unit.range(&file.source, location.position, location.length)
    }

    /// Returns the place that the message of a diagnostic names besides its own.
    fn second_place(&self, diagnostic: &Diagnostic) -> Option<Vec<DiagnosticRelatedInformation>> {
        // Few messages name a place, and a project may have many files.
        [".yaml:", ".yml:", ".json:"].iter().any(|end| diagnostic.message.contains(end)).then_some(())?;
        let (name, position) = named_place(&diagnostic.message, &self.files.keys().collect::<Vec<_>>())?;
        let file = self.files.get(name)?;
        let range = self.unit.range(&file.source, position, 1);
        let location = lsp_types::Location { uri: document_address(&self.root, name)?, range };
        Some(vec![DiagnosticRelatedInformation { location, message: "the other place".to_owned() }])
    }

    /// Returns what an outcome says at its place in the manifest, `position`, with the place of the rule.
    pub(crate) fn outcome_diagnostic(
        &self,
        file: &EditedFile,
        row: &ObjectRow,
        outcome: &OutcomeRow,
        position: Position,
    ) -> Option<lsp_types::Diagnostic> {
        let rule_severity = self.rule_severity(outcome);
        let severity = match outcome.status {
            RuleStatus::Fail | RuleStatus::Error if outcome.is_refusal => DiagnosticSeverity::ERROR,
            RuleStatus::Fail | RuleStatus::Warn if rule_severity.is_some_and(|one| one <= Severity::Low) => {
                DiagnosticSeverity::INFORMATION
            }
            RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn => DiagnosticSeverity::WARNING,
            RuleStatus::Pass | RuleStatus::Skip => return None,
        };
        let line = file.source.line(position.line).unwrap_or_default();
        let rest = line.chars().skip(crate::encoding::to_usize(position.column).saturating_sub(1));
        let length = crate::encoding::to_u32(rest.count()).max(1);
        let related = outcome.rule_location.as_ref().and_then(|location| self.rule_place(location));
        Some(lsp_types::Diagnostic {
            range: self.unit.range(&file.source, position, length),
            severity: Some(severity),
            code: Some(NumberOrString::String(outcome.rule.to_string())),
            source: Some(SOURCE.to_owned()),
            message: format!("{}: {}", row.subject, outcome.text()),
            related_information: related.map(|place| vec![place]),
            data: Some(json!({
                "rule": outcome.rule.to_string(),
                "object": row.subject,
                "status": outcome.status.name(),
                "severity": rule_severity.map(Severity::name),
            })),
            ..lsp_types::Diagnostic::default()
        })
    }

    /// Returns the severity of the rule of an outcome: that of the project, else the rule's own.
    fn rule_severity(&self, outcome: &OutcomeRow) -> Option<Severity> {
        let mut given = self.project.outline.severities.iter().rev();
        let own = || Severity::named(&outcome.metadata.severity);
        given.find(|(name, _)| fits_rule(&outcome.rule, name)).map(|(_, severity)| *severity).or_else(own)
    }

    fn rule_place(&self, location: &Location) -> Option<DiagnosticRelatedInformation> {
        let (name, position) = self.resolve(location);
        let file = self.files.get(&name)?;
        let range = self.unit.range(&file.source, position, location.length);
        let location = lsp_types::Location { uri: document_address(&self.root, &name)?, range };
        Some(DiagnosticRelatedInformation { location, message: "the rule".to_owned() })
    }
}

/// Returns the address of the page of a code.
pub(crate) fn page_address(code: &str) -> Option<Uri> {
    Uri::from_str(&format!("{PAGES}/{code}.md")).ok()
}

/// Returns the `FILE:LINE:COLUMN` in a message, of one of `names`.
fn named_place<'n>(message: &str, names: &[&'n String]) -> Option<(&'n String, Position)> {
    names.iter().find_map(|name| {
        let at = message.find(&format!(" {name}:"))?;
        let rest = message.get(at + name.len() + 2..)?;
        let mut numbers = rest.split(|one: char| !one.is_ascii_digit()).take(2).map(str::parse);
        let (line, column) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some((*name, Position { line, column }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_message_is_found() {
        let names = [String::from("a.yaml"), String::from("rules/b.yaml")];
        let names: Vec<&String> = names.iter().collect();
        let place = named_place("`x` was already defined at rules/b.yaml:3:11, and", &names);
        let place = place.map(|(name, position)| format!("{name} {position}"));
        assert_eq!(place.as_deref(), Some("rules/b.yaml 3:11"));
        assert!(named_place("`x` was already defined", &names).is_none());
    }
}
