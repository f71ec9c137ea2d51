//! What a command takes from the project: everything that it was not given itself.

use std::path::{Path, PathBuf};

use super::ProjectFile;
use crate::arguments::{
    ApplyArguments, CliCommand, DetectArguments, GraphArguments, LintArguments, ObjectArguments,
    RuleArguments, TestArguments,
};
use crate::failure::CommandFailure;
use crate::output::{Output, case_output, diagnostic_output, finding_output, object_output};

impl ProjectFile {
    /// Fills in what `command` was not given.
    ///
    /// # Errors
    /// When an output of the project is none of the command.
    pub(crate) fn complete(&self, command: &mut CliCommand) -> Result<(), CommandFailure> {
        match command {
            CliCommand::Apply(arguments) => self.complete_apply(arguments),
            CliCommand::Lint(arguments) => self.complete_lint(arguments),
            CliCommand::Test(arguments) => self.complete_test(arguments),
            CliCommand::Detect(arguments) => self.complete_detect(arguments),
            CliCommand::Graph(arguments) => {
                self.complete_graph(arguments);
                Ok(())
            }
            CliCommand::Fix(arguments) => self.complete_inputs(&mut arguments.rules, &mut arguments.objects),
            CliCommand::Trace(arguments) => {
                self.complete_inputs(&mut arguments.rules, &mut arguments.objects)
            }
            CliCommand::Why(arguments) => self.complete_inputs(&mut arguments.rules, &mut arguments.objects),
            CliCommand::Impact(arguments) => {
                self.complete_inputs(&mut arguments.rules, &mut arguments.objects)
            }
            CliCommand::Bench(arguments) => {
                self.complete_inputs(&mut arguments.rules, &mut arguments.objects)
            }
            CliCommand::New(arguments) => {
                let is_folder = |path: &&String| !path.contains('*') && !Path::new(path).is_file();
                let rules = || self.rules.iter().find(is_folder).map(PathBuf::from);
                arguments.dir = arguments.dir.take().or_else(rules);
                Ok(())
            }
            CliCommand::Diff(arguments) => {
                self.complete_objects(&mut arguments.objects);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Fills in rules, objects, outputs and policy of `apply`.
    pub(crate) fn complete_apply(&self, arguments: &mut ApplyArguments) -> Result<(), CommandFailure> {
        self.complete_rules(&mut arguments.rules);
        self.complete_objects(&mut arguments.objects);
        self.complete_outputs(&mut arguments.outputs, object_output)?;
        arguments.fail_on = arguments.fail_on.or(self.fail_on);
        let suppressions = &mut arguments.suppressions;
        if suppressions.baseline.is_none() {
            suppressions.baseline.clone_from(&self.baseline);
        }
        Ok(())
    }

    /// Fills in rules and outputs of `lint`.
    pub(crate) fn complete_lint(&self, arguments: &mut LintArguments) -> Result<(), CommandFailure> {
        self.complete_rules(&mut arguments.rules);
        self.complete_outputs(&mut arguments.outputs, diagnostic_output)
    }

    /// Fills in the test files, which are those below the rules where the project names none.
    pub(crate) fn complete_test(&self, arguments: &mut TestArguments) -> Result<(), CommandFailure> {
        if arguments.paths.is_empty() && arguments.new.is_empty() {
            arguments.paths = self.test_paths();
        }
        arguments.severities.clone_from(&self.severities);
        self.complete_outputs(&mut arguments.outputs, case_output)
    }

    fn complete_detect(&self, arguments: &mut DetectArguments) -> Result<(), CommandFailure> {
        fill(&mut arguments.resources, &self.resources);
        fill(&mut arguments.references, &self.references);
        self.complete_outputs(&mut arguments.outputs, finding_output)
    }

    fn complete_graph(&self, arguments: &mut GraphArguments) {
        fill(&mut arguments.resources, &self.resources);
        fill(&mut arguments.references, &self.references);
    }

    /// Fills in rules and objects.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "one of the ways to complete a command, of which others can fail"
    )]
    fn complete_inputs(
        &self,
        rules: &mut RuleArguments,
        objects: &mut ObjectArguments,
    ) -> Result<(), CommandFailure> {
        self.complete_rules(rules);
        self.complete_objects(objects);
        Ok(())
    }

    fn complete_rules(&self, arguments: &mut RuleArguments) {
        fill(&mut arguments.rules, &self.rules);
        fill(&mut arguments.exceptions, &self.exceptions);
    }

    fn complete_objects(&self, arguments: &mut ObjectArguments) {
        if arguments.payloads.is_empty() {
            fill(&mut arguments.resources, &self.resources);
        }
        fill(&mut arguments.world, &self.world);
        fill(&mut arguments.selection.skipped, &self.skipped_rules);
        arguments.selection.severities.clone_from(&self.severities);
    }

    /// Fills in the outputs, of which a command takes those that it has a form for.
    fn complete_outputs(
        &self,
        outputs: &mut Vec<Output>,
        parse: fn(&str) -> Result<Output, String>,
    ) -> Result<(), CommandFailure> {
        if !outputs.is_empty() {
            return Ok(());
        }
        for text in &self.outputs {
            let name = text.split('=').next().unwrap_or_default();
            match parse(text) {
                Ok(output) => outputs.push(output),
                Err(_) if Output::named(name).is_some() => {}
                Err(why) => {
                    let path = self.path.display();
                    return Err(CommandFailure::usage(format!("`outputs` of `{path}`: {why}")));
                }
            }
        }
        Ok(())
    }
}

fn fill(given: &mut Vec<String>, usual: &[String]) {
    if given.is_empty() {
        *given = usual.to_vec();
    }
}
