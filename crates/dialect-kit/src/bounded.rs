//! Compiles one document within limits of memory, work and number of diagnostics.

use kubewright_engine::{CompiledPolicy, Diagnostic, Dialect};
use kubewright_golib::compile_budget::{CompileBudget, CompileExceeded};
use kubewright_value::Document;

kubewright_engine::codes! {
    /// The codes of the limits of compilation.
    pub static CODES;

    DOCUMENT_TOO_LARGE "KW-L003" Error "the rule takes too much memory when it is compiled";
    RULES_TOO_LARGE "KW-L004" Error "all rules together take too much memory when they are compiled";
    TOO_MUCH_WORK "KW-L005" Error "compiling the rule takes too long";
    MORE_DIAGNOSTICS "KW-L006" Warning "there are more diagnostics about the document";
}

/// The most diagnostics that are kept for one document.
pub const MAX_DIAGNOSTICS: usize = 1_000;

/// Compiles `document`, which `dialect` claims, and charges `budget` for that. A rule that needs more than there is has
/// an error and cannot run; its neighbours can.
#[must_use]
pub fn compile_within_budget(
    dialect: &dyn Dialect,
    document: &Document,
    auxiliaries: &[Document],
    budget: &mut CompileBudget,
) -> CompiledPolicy {
    // A compiled policy keeps its document, and the policies of a cluster are kept for months.
    compile_in_place(dialect, &document.compacted(), auxiliaries, budget)
}

/// Does what [`compile_within_budget`] does, for rules that are not kept: the compiled policy shares what was read.
#[must_use]
pub fn compile_in_place(
    dialect: &dyn Dialect,
    document: &Document,
    auxiliaries: &[Document],
    budget: &mut CompileBudget,
) -> CompiledPolicy {
    let (mut compiled, exceeded) = budget.document(|| dialect.compile(document, auxiliaries));
    if let Some(exceeded) = exceeded {
        compiled.diagnostics.insert(0, limit_diagnostic(document, exceeded));
    }
    keep_first_diagnostics(document, &mut compiled.diagnostics);
    compiled
}

fn limit_diagnostic(document: &Document, exceeded: CompileExceeded) -> Diagnostic {
    let (code, help) = match exceeded {
        CompileExceeded::RuleBytes(_) | CompileExceeded::DocumentBytes(_) => (
            &DOCUMENT_TOO_LARGE,
            "use smaller counts in regular expressions, such as `{1,63}` of a plain class",
        ),
        CompileExceeded::TotalBytes(_) => {
            (&RULES_TOO_LARGE, "remove rules, or use smaller counts in their regular expressions")
        }
        CompileExceeded::DocumentSteps(_) | CompileExceeded::TotalSteps(_) => {
            (&TOO_MUCH_WORK, "use fewer or simpler regular expressions")
        }
    };
    let place = document.locate(&["metadata".into(), "name".into()]);
    Diagnostic::new(code, exceeded.to_string(), place).help(help)
}

/// Keeps the first diagnostics, errors before others, and adds the number of those left out.
fn keep_first_diagnostics(document: &Document, diagnostics: &mut Vec<Diagnostic>) {
    let Some(more) = diagnostics.len().checked_sub(MAX_DIAGNOSTICS).filter(|more| *more > 0) else { return };
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let mut room = [MAX_DIAGNOSTICS.min(errors), MAX_DIAGNOSTICS.saturating_sub(errors)];
    diagnostics.retain(|diagnostic| {
        let [errors, others] = &mut room;
        let room = if diagnostic.is_error() { errors } else { others };
        let is_kept = *room > 0;
        *room = room.saturating_sub(1);
        is_kept
    });
    let message = format!("and {more} more diagnostics of this document");
    let place = document.locate(&["metadata".into(), "name".into()]);
    diagnostics
        .push(Diagnostic::new(&MORE_DIAGNOSTICS, message, place).help("fix these first, then check again"));
}
