//! The evaluation of `preRenderValidations` and `postRenderValidations`.

use kubewright_engine::{Diagnostic, TraceVerdict};
use kubewright_value::{Document, Value};

use super::target::explain_no_target;
use super::trace::TraceEntry;
use super::{Evaluator, StepResult};
use crate::compile::program::{PostRenderCheck, PreRenderCheck};
use crate::diagnostics as code;
use crate::manifest::{Manifest, manifest_label};
use crate::variables::{RenderContext, VariableScope};

/// The budget charged for each reported failure, because a loop over many manifests may have millions.
const FAILURE_STEPS: u64 = 1000;

impl Evaluator<'_> {
    /// Returns whether all `rules` hold; each that does not is reported.
    pub(crate) fn rules(&mut self, rules: &[PreRenderCheck]) -> bool {
        let mut all = true;
        for rule in rules {
            if self.is_spent {
                return false;
            }
            let held = self.evaluate_condition(&rule.condition, "the rule", &VariableScope::of(self.context));
            let holds = self.rule_result(rule, held, "");
            all &= self.record_failure(holds).is_some();
        }
        all
    }

    /// Returns whether all `assertions` hold for `manifests`; each that does not is reported.
    pub(crate) fn assertions(&mut self, assertions: &[PostRenderCheck], manifests: &[Manifest]) -> bool {
        if assertions.is_empty() {
            return true;
        }
        self.run.trace.open();
        let before = self.run.diagnostics.len();
        for assertion in assertions {
            if self.is_spent {
                break;
            }
            let done = self.assertion(assertion, manifests);
            self.record_failure(done);
        }
        let hold =
            self.run.diagnostics.get(before..).unwrap_or_default().iter().all(|found| !found.is_error());
        let (document, context): (&Document, &RenderContext) = (self.document, self.context);
        self.run.trace.close(|| TraceEntry {
            what: format!("{}, of what was rendered", describe_rule_owner(document, context)),
            found: String::new(),
            wanted: String::new(),
            verdict: if hold { TraceVerdict::Yes } else { TraceVerdict::Error },
            location: Some(document.locate(&[])),
        });
        hold
    }

    fn assertion(&mut self, assertion: &PostRenderCheck, manifests: &[Manifest]) -> StepResult<()> {
        if let Some(when) = &assertion.when
            && !self.evaluate_condition(when, "`when`", &VariableScope::of(self.context))?
        {
            return Ok(());
        }
        let items = self.items(assertion.each.as_ref())?;
        for item in items.iter() {
            let names = VariableScope::within(self.context, assertion.each.as_ref(), item);
            let targets = self.targets(&assertion.target, &names, manifests)?;
            if targets.kept.is_empty() && assertion.must_match {
                let (why, help) = match targets.candidates {
                    0 => explain_no_target(&assertion.target, targets.name.as_deref(), manifests),
                    _ => ("`where` holds for none".to_owned(), String::new()),
                };
                let message = format!("{}: {why}", assertion.rule.message);
                let location = self.document.locate_key(&assertion.target.path);
                let failure = Diagnostic::new(&code::VALIDATION_FAILS, message, location).help(help);
                self.run.diagnostics.push(failure);
                self.spend(FAILURE_STEPS, &assertion.target.path)?;
            }
            for manifest in targets.kept.into_iter().filter_map(|at| manifests.get(at)) {
                let names = VariableScope { resource: Some(&manifest.object), ..names };
                let held = self.evaluate_condition(&assertion.rule.condition, "the rule", &names);
                let holds = self.rule_result(&assertion.rule, held, &manifest_label(&manifest.object));
                if self.record_failure(holds).is_none() {
                    self.spend(FAILURE_STEPS, &assertion.rule.condition.path)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the failure of a rule that does not hold or cannot be evaluated.
    fn rule_result(&mut self, rule: &PreRenderCheck, held: StepResult<bool>, about: &str) -> StepResult<()> {
        let document: &Document = self.document;
        self.run.trace.add(|| TraceEntry {
            what: format!("rule {}", rule.written.trim()),
            found: match &held {
                Ok(holds) => holds.to_string(),
                Err(failure) => failure.message.clone(),
            },
            wanted: about.to_owned(),
            verdict: match held {
                Ok(true) => TraceVerdict::Yes,
                Ok(false) => TraceVerdict::No,
                Err(_) => TraceVerdict::Error,
            },
            location: Some(document.locate(&rule.condition.path)),
        });
        let about = if about.is_empty() { String::new() } else { format!("{about}: ") };
        match held {
            Ok(true) => Ok(()),
            Ok(false) => {
                let message = format!("{about}{}", rule.message);
                Err(self.diagnostic_at(&code::VALIDATION_FAILS, &rule.condition.path, message))
            }
            Err(failure) => {
                let message = format!("{about}{} ({})", rule.message, failure.message);
                Err(Box::new(Diagnostic { code: &code::VALIDATION_FAILS, message, ..*failure }))
            }
        }
    }
}

/// Returns the name of the document and instance that the rules belong to.
fn describe_rule_owner(document: &Document, context: &RenderContext) -> String {
    let label = manifest_label(&document.value);
    let of_trait = context.get("trait");
    let name = |key: &str| of_trait.and_then(|of_trait| of_trait.get(key)).and_then(Value::as_str);
    match (name("name"), name("instanceName")) {
        (Some(of), Some(instance)) if of != instance => format!("{label} (instance `{instance}`)"),
        _ => label,
    }
}
