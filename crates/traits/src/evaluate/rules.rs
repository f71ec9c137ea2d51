//! What has to hold before a trait is rendered, and of what was rendered.

use kubewright_engine::{Diagnostic, TraceVerdict};
use kubewright_value::{Document, Value};

use super::story::Said;
use super::target::why_none;
use super::{Evaluator, Outcome};
use crate::compile::program::{Assertion, Rule};
use crate::diagnostics as code;
use crate::manifest::{Manifest, label};
use crate::variables::{Context, Names};

/// How many steps it takes to tell of a failure: a loop over many manifests may have millions.
const FAILURE: u64 = 1000;

impl Evaluator<'_> {
    /// Returns whether all `rules` hold; every one that does not is told.
    pub(crate) fn rules(&mut self, rules: &[Rule]) -> bool {
        let mut all = true;
        for rule in rules {
            if self.is_spent {
                return false;
            }
            let held = self.truth(&rule.condition, "the rule", &Names::of(self.context));
            let holds = self.held(rule, held, "");
            all &= self.keep(holds).is_some();
        }
        all
    }

    /// Returns whether all `assertions` hold of `manifests`; every one that does not is told.
    pub(crate) fn assertions(&mut self, assertions: &[Assertion], manifests: &[Manifest]) -> bool {
        if assertions.is_empty() {
            return true;
        }
        self.run.story.open();
        let before = self.run.diagnostics.len();
        for assertion in assertions {
            if self.is_spent {
                break;
            }
            let done = self.assertion(assertion, manifests);
            self.keep(done);
        }
        let hold =
            self.run.diagnostics.get(before..).unwrap_or_default().iter().all(|found| !found.is_error());
        let (document, context): (&Document, &Context) = (self.document, self.context);
        self.run.story.close(|| Said {
            what: format!("{}, of what was rendered", whose(document, context)),
            found: String::new(),
            wanted: String::new(),
            verdict: if hold { TraceVerdict::Yes } else { TraceVerdict::Error },
            location: Some(document.locate(&[])),
        });
        hold
    }

    fn assertion(&mut self, assertion: &Assertion, manifests: &[Manifest]) -> Outcome<()> {
        if let Some(when) = &assertion.when
            && !self.truth(when, "`when`", &Names::of(self.context))?
        {
            return Ok(());
        }
        let items = self.items(assertion.each.as_ref())?;
        for item in items.iter() {
            let names = Names::within(self.context, assertion.each.as_ref(), item);
            let targets = self.targets(&assertion.target, &names, manifests)?;
            if targets.kept.is_empty() && assertion.must_match {
                let (why, help) = match targets.candidates {
                    0 => why_none(&assertion.target, targets.name.as_deref(), manifests),
                    _ => ("`where` holds for none".to_owned(), String::new()),
                };
                let message = format!("{}: {why}", assertion.rule.message);
                let location = self.document.locate_key(&assertion.target.path);
                let failure = Diagnostic::new(&code::VALIDATION_FAILS, message, location).help(help);
                self.run.diagnostics.push(failure);
                self.spend(FAILURE, &assertion.target.path)?;
            }
            for manifest in targets.kept.into_iter().filter_map(|at| manifests.get(at)) {
                let names = Names { resource: Some(&manifest.object), ..names };
                let held = self.truth(&assertion.rule.condition, "the rule", &names);
                let holds = self.held(&assertion.rule, held, &label(&manifest.object));
                if self.keep(holds).is_none() {
                    self.spend(FAILURE, &assertion.rule.condition.path)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the failure of a rule that does not hold or cannot be decided.
    fn held(&mut self, rule: &Rule, held: Outcome<bool>, about: &str) -> Outcome<()> {
        let document: &Document = self.document;
        self.run.story.say(|| Said {
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
                Err(self.wrong(&code::VALIDATION_FAILS, &rule.condition.path, message))
            }
            Err(failure) => {
                let message = format!("{about}{} ({})", rule.message, failure.message);
                Err(Box::new(Diagnostic { code: &code::VALIDATION_FAILS, message, ..*failure }))
            }
        }
    }
}

/// Returns whose rules `document` has, and of which instance they are.
fn whose(document: &Document, context: &Context) -> String {
    let label = label(&document.value);
    let of_trait = context.get("trait");
    let name = |key: &str| of_trait.and_then(|of_trait| of_trait.get(key)).and_then(Value::as_str);
    match (name("name"), name("instanceName")) {
        (Some(of), Some(instance)) if of != instance => format!("{label} (instance `{instance}`)"),
        _ => label,
    }
}
