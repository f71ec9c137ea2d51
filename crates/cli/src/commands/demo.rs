//! `demo`: runs the main commands on examples that are part of the binary.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use clap::Parser as _;
use kubewright_engine::Engine;
use kubewright_k8s::{Operation, UserInfo};
use kubewright_report::{OutcomeCounts, Report, Results, Totals};
use kubewright_traits::{self as traits, CompiledTrait, Instance, Manifest, RenderContext, RenderOptions};
use kubewright_value::{Document, Source, Value, yaml};

use super::detect;
use super::render::write_differences;
use super::trace::RuleTraceWriter;
use crate::arguments::{CliCommand, CommandLine, DemoArguments, RuleOptions};
use crate::failure::{CommandFailure, ExitStatus};
use crate::fixtures::{FileWorld, OldObjects};
use crate::output::{ColorChoice, Columns, Output, TableOptions, standard_output, write_file};
use crate::pattern_inputs::PatternInputs;
use crate::review::Reviewer;
use crate::rules;

/// An example file: its path and content.
type Example = (&'static str, &'static str);

const RULES: [Example; 4] = [
    ("rules/graceful-shutdown.yaml", include_str!("../../rules/modrule/graceful-shutdown/rule.yaml")),
    ("rules/require-labels.yaml", include_str!("../../rules/modrule/require-labels/rule.yaml")),
    ("rules/autoscaler-bounds.yaml", include_str!("../../rules/kyverno/autoscaler-bounds/policy.yaml")),
    ("rules/resource-limits.yaml", include_str!("../../rules/admission/resource-limits/policy.yaml")),
];
const MANIFESTS: [Example; 3] = [
    ("manifests/autoscalers.yaml", include_str!("../../rules/kyverno/autoscaler-bounds/resources.yaml")),
    ("manifests/services.yaml", include_str!("../../rules/modrule/require-labels/objects.yaml")),
    ("manifests/web.yaml", include_str!("../../rules/modrule/graceful-shutdown/objects.yaml")),
];
/// A trait and the manifests that it is rendered over.
const TRAIT: Example =
    ("shop/monitoring-sidecar.yaml", include_str!("../../rules/trait/monitoring-sidecar.yaml"));
const BASE: Example = ("shop/base.yaml", include_str!("../../rules/trait/base.yaml"));
/// Objects in which patterns are looked for.
const SHOP: Example = ("cluster/shop.yaml", include_str!("../../rules/pattern/shop.yaml"));
/// The arguments of the `detect` command that is shown.
const DETECTED: [&str; 8] =
    ["kubewright", "detect", "-r", SHOP.0, "--pattern", "orphan-service", "--pattern", "split-sidecar"];
/// The rule whose trace is shown.
const TRACED: &str = "extend-grace-period";

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run_demo(arguments: &DemoArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if let Some(folder) = &arguments.save {
        return save_examples(folder);
    }
    let started = Instant::now();
    let options = rules::dialect_options(&RuleOptions::default(), None);
    let loaded = kubewright_dialects::load_documents(
        &kubewright_dialects::all_dialects(&options),
        &example_documents(&RULES),
    );
    let engine = Engine::new(loaded.rules);
    let columns = Columns { all_outcomes: true, objects: true, trace: true, ..Columns::default() };
    let reviewer = Reviewer {
        engine: &engine,
        world: &FileWorld::default(),
        operation: Operation::Create,
        namespace: "default",
        old: &OldObjects::default(),
        user: &UserInfo::default(),
        is_lenient: false,
        written_rules: 0,
        evaluation_mode: None,
        columns,
        why_inputs: None,
    };
    print_dimmed("$ kubewright apply rules -r manifests --diff\n", color)?;
    let options =
        TableOptions { paint: color.paint_output(), has_differences: true, ..TableOptions::default() };
    let mut table = Output::table().open(options)?;
    let mut counts = OutcomeCounts::default();
    let objects = example_documents(&MANIFESTS);
    for document in &objects {
        let report = reviewer.review(document);
        counts += report.counts;
        table.object(&report, "")?;
    }
    table.finish(&Report {
        results: Results::Objects(Totals {
            rules: engine.rules(),
            objects: objects.len(),
            counts,
            findings: None,
        }),
        diagnostics: &loaded.diagnostics,
        elapsed: started.elapsed(),
    })?;
    print_dimmed(&format!("\n$ kubewright trace rules -r manifests --rule {TRACED}\n"), color)?;
    let mut writer = RuleTraceWriter::new(color.paint_output());
    for document in &objects {
        let mut report = reviewer.review(document);
        report.outcomes.retain(|row| row.rule.rule == TRACED);
        writer.object(&report, &[])?;
    }
    writer.finish()?;
    print_dimmed(&format!("\n$ kubewright render -f {} --trait {} --diff\n", BASE.0, TRAIT.0), color)?;
    demo_render(color)?;
    print_dimmed(&format!("\n$ {}\n", DETECTED.join(" ")), color)?;
    if let Ok(CommandLine { command: Some(CliCommand::Detect(arguments)), .. }) =
        CommandLine::try_parse_from(DETECTED)
    {
        detect::show_findings(PatternInputs::of(Vec::new(), &example_documents(&[SHOP])), &arguments, color)?;
    }
    print_dimmed("\n`kubewright demo --save demo` writes these files to a folder", color)?;
    Ok(ExitStatus::Clean)
}

/// Shows what a trait does to manifests.
fn demo_render(color: ColorChoice) -> Result<(), CommandFailure> {
    let base = example_documents(&[BASE]);
    let nothing = || Document::made(Value::Null, Source::new("none", ""));
    let compiled = example_documents(&[TRAIT])
        .into_iter()
        .filter_map(|document| CompiledTrait::compile(&document, &[]).0);
    let instances: Vec<Instance> = compiled
        .map(|of| Instance {
            name: of.name().clone(),
            of,
            parameters: nothing(),
            environment_configs: nothing(),
        })
        .collect();
    let given = base.iter().enumerate();
    let given = given.map(|(number, document)| Manifest::given(number, document.value.clone()));
    let rendering =
        traits::render_traits(given.collect(), &instances, &RenderContext::new(), &RenderOptions::default());
    Ok(write_differences(&base, &rendering, color.paint_output())?)
}

fn example_documents(examples: &[Example]) -> Vec<Document> {
    examples.iter().flat_map(|(name, text)| yaml::read(&Source::new(*name, *text)).documents).collect()
}

fn print_dimmed(line: &str, color: ColorChoice) -> Result<(), CommandFailure> {
    let mut out = standard_output();
    writeln!(out, "{}", color.paint_output().dim(line))?;
    out.flush()?;
    Ok(())
}

fn save_examples(folder: &Path) -> Result<ExitStatus, CommandFailure> {
    for (name, text) in RULES.into_iter().chain(MANIFESTS).chain([BASE, TRAIT, SHOP]) {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|known| known != text.as_bytes()) {
            return Err(CommandFailure::usage(format!(
                "`{}` exists and would be overwritten",
                path.display()
            ))
            .help("name another folder"));
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(CommandFailure::writing(parent))?;
        }
        write_file(&path, text)?;
    }
    let shown = folder.display();
    let mut out = standard_output();
    writeln!(out, "saved; now try\n  kubewright apply {shown}/rules -r {shown}/manifests --diff")?;
    writeln!(out, "  kubewright render -f {shown}/{} --trait {shown}/{} --diff", BASE.0, TRAIT.0)?;
    writeln!(out, "  kubewright detect -r {shown}/{}", SHOP.0)?;
    out.flush()?;
    Ok(ExitStatus::Clean)
}
