//! What has to hold before a trait is rendered, and of what was rendered.

use kubewright_engine::{Diagnostic, Verdict};
use kubewright_value::Document;

use super::story::Said;
use super::target::why_none;
use super::{Evaluator, Outcome};
use crate::traits::compile::program::{Assertion, Rule};
use crate::traits::diagnostics as code;
use crate::traits::manifest::{Manifest, label};
use crate::traits::variables::Names;

impl Evaluator<'_> {
    /// Returns whether all `rules` hold; every one that does not is told.
    pub(crate) fn rules(&mut self, rules: &[Rule]) -> bool {
        let mut all = true;
        for rule in rules {
            let held = self.truth(&rule.condition, "the rule", &Names::of(self.context));
            let holds = self.held(rule, held, "");
            all &= self.keep(holds).is_some();
        }
        all
    }

    /// Returns whether all `assertions` hold of `manifests`; every one that does not is told.
    pub(crate) fn assertions(&mut self, assertions: &[Assertion], manifests: &[Manifest]) -> bool {
        let before = self.run.diagnostics.len();
        for assertion in assertions {
            let done = self.assertion(assertion, manifests);
            self.keep(done);
        }
        self.run.diagnostics.get(before..).unwrap_or_default().iter().all(|found| !found.is_error())
    }

    fn assertion(&mut self, assertion: &Assertion, manifests: &[Manifest]) -> Outcome<()> {
        if let Some(when) = &assertion.when
            && !self.truth(when, "`when`", &Names::of(self.context))?
        {
            return Ok(());
        }
        let items = self.items(assertion.each.as_ref())?;
        let variable = assertion.each.as_ref().map(|each| each.variable.as_str()).unwrap_or_default();
        for item in items.iter() {
            let names = Names { item: item.map(|item| (variable, item)), ..Names::of(self.context) };
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
            }
            for manifest in targets.kept.into_iter().filter_map(|at| manifests.get(at)) {
                let names = Names { resource: Some(&manifest.object), ..names };
                let held = self.truth(&assertion.rule.condition, "the rule", &names);
                let holds = self.held(&assertion.rule, held, &label(&manifest.object));
                self.keep(holds);
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
                Ok(true) => Verdict::Yes,
                Ok(false) => Verdict::No,
                Err(_) => Verdict::Error,
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
