//! `impact`: what rules would newly refuse, warn of and change, by namespace and owner.

mod owners;
mod report;

use kubewright_engine::{Diagnostic, Engine};
use kubewright_files as files;
use kubewright_report::FilePosition;
use kubewright_value::{Document, Text};

use super::effect::{EffectLevel, RuleSetEffect};
use crate::arguments::{ImpactArguments, RuleArguments};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, Columns};
use crate::progress::ProgressBar;
use crate::review::Reviewer;
use crate::rule_inputs::{RuleInputs, no_objects, print_diagnostics};
use owners::{ObjectKey, OwnerChains};

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_impact(
    arguments: &ImpactArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let mut inputs = RuleInputs::open(&arguments.rules, &arguments.objects)?;
    let before = match arguments.against.as_slice() {
        [] => Engine::new(Vec::new()),
        against => {
            let rules = RuleArguments { rules: against.to_vec(), ..arguments.rules.clone() };
            inputs.load_other(&rules, &arguments.objects)?
        }
    };
    let columns = Columns::default();
    let after = inputs.reviewer(columns);
    let before = Reviewer { engine: &before, ..inputs.reviewer(columns) };
    let mut bar = ProgressBar::new();
    let mut owners = OwnerChains::default();
    let (mut count, mut impacts) = (0, Vec::new());
    let problems = files::stream_objects(
        &inputs.manifests,
        inputs.wanted(),
        |document| {
            (
                ObjectKey::of(&document.value),
                ObjectKey::owner_of(&document.value),
                impact_on(&before, &after, document),
            )
        },
        |(key, owner, impact), progress| {
            count += 1;
            bar.show(progress);
            owners.add(key, owner);
            impacts.extend(impact);
            Ok(())
        },
    )?;
    bar.clear();
    inputs.diagnostics.extend(problems);
    if count == 0 && !inputs.diagnostics.iter().any(Diagnostic::is_error) {
        inputs.diagnostics.push(no_objects(&arguments.objects.resources));
    }
    for impact in &mut impacts {
        impact.owner = owners.owner_text(&impact.key);
    }
    let is_refused = impacts.iter().any(|impact| impact.change == ImpactChange::Refused);
    report::write_impacts(&impacts, count, arguments, color.paint_output())?;
    let is_incomplete = print_diagnostics(&inputs.diagnostics, color.paint_errors());
    Ok(match (is_incomplete, is_refused) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Violations,
        (false, false) => ExitStatus::Clean,
    })
}

/// What changes for an object, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ImpactChange {
    /// It is newly refused.
    Refused,
    /// It is newly warned of.
    Warned,
    /// It is newly changed, or changed in another way.
    Patched,
    /// It is no longer refused or warned of.
    Released,
}

impl ImpactChange {
    const ALL: [Self; 4] = [Self::Refused, Self::Warned, Self::Patched, Self::Released];

    fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Warned => "warned",
            Self::Patched => "patched",
            Self::Released => "released",
        }
    }
}

/// What the rules change for one object.
struct ObjectImpact {
    key: ObjectKey,
    place: String,
    change: ImpactChange,
    /// The rules that make the difference, with their messages.
    rules: Vec<(String, Text)>,
    /// The workload that it belongs to.
    owner: String,
}

/// Returns what changes for an object; nothing if nothing does.
fn impact_on(before: &Reviewer<'_>, after: &Reviewer<'_>, document: &Document) -> Option<ObjectImpact> {
    let request = after.request(document);
    let is_idle = before.engine.rules().is_empty();
    let old = (!is_idle).then(|| RuleSetEffect::of(&before.decide(&request)));
    let new = RuleSetEffect::of(&after.decide(&request));
    let old_level = old.as_ref().map_or(EffectLevel::Allowed, |old| old.level);
    let is_written_alike = match &old {
        Some(old) => old.writes_alike(&new),
        None => new.patching.is_empty(),
    };
    let change = match (old_level, new.level) {
        (EffectLevel::Allowed | EffectLevel::Warned, EffectLevel::Refused) => ImpactChange::Refused,
        (EffectLevel::Allowed, EffectLevel::Warned) => ImpactChange::Warned,
        (EffectLevel::Refused, EffectLevel::Warned | EffectLevel::Allowed)
        | (EffectLevel::Warned, EffectLevel::Allowed) => ImpactChange::Released,
        _ if !is_written_alike => ImpactChange::Patched,
        _ => return None,
    };
    let (worse, better) = match change {
        ImpactChange::Released => (old.as_ref(), Some(&new)),
        _ => (Some(&new), old.as_ref()),
    };
    let is_new = |rule: &String| better.is_none_or(|better| !better.failing.contains_key(rule));
    let rules = match (change, worse) {
        (_, None) => Vec::new(),
        (ImpactChange::Patched, Some(effect)) => {
            effect.patching.iter().map(|rule| (rule.clone(), Text::default())).collect()
        }
        (_, Some(effect)) => {
            // A rule that warned before may refuse now.
            let has_new = effect.failing.keys().any(is_new);
            let failing = effect.failing.iter().filter(|(rule, _)| !has_new || is_new(rule));
            failing.map(|(rule, message)| (rule.clone(), message.clone())).collect()
        }
    };
    Some(ObjectImpact {
        key: ObjectKey { namespace: request.namespace, ..ObjectKey::of(&document.value) },
        place: FilePosition::of(document).to_string(),
        change,
        rules,
        owner: String::new(),
    })
}
