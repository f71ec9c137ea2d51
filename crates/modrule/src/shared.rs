//! Numbers of what several rules ask about an object in the same words, so that one answer serves all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use kubewright_dialect_kit::shared::SharedParts;
use kubewright_value::Text;

use super::evaluate::{ClusterTargets, NamespaceReach};
use super::source::{MatchFor, SourceCriterion};

/// The number of a question, which nothing else in this process has or had.
pub(super) type QuestionNumber = Arc<u64>;

/// A question, by everything that its answer depends on besides the request.
#[derive(Debug, PartialEq, Eq, Hash)]
enum SharedQuestion {
    Criterion(Box<CriterionKey>),
    Select(Text),
    Reach { namespaces: ReachKey, cluster_namespace: Text, is_strict: bool },
}

/// A criterion as it is written.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CriterionKey {
    select: Text,
    match_value: Option<Text>,
    match_values: Vec<Text>,
    match_regex: Option<Text>,
    match_for: MatchFor,
    is_negated: bool,
    follows_program: bool,
}

/// The namespaces that a rule covers, where telling them takes nothing from a budget.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ReachKey {
    Own(Text),
    Every,
    ClusterScoped,
    Everything,
}

static SHARED: LazyLock<SharedParts<SharedQuestion, u64>> = LazyLock::new(SharedParts::default);

impl SharedQuestion {
    fn number(self) -> QuestionNumber {
        static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
        SHARED.find(&self).unwrap_or_else(|| {
            let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
            SHARED.add(self, number)
        })
    }
}

/// Returns the number of the question whether an object meets `criterion`.
pub(super) fn criterion_number(criterion: &SourceCriterion, follows_program: bool) -> QuestionNumber {
    let key = CriterionKey {
        select: criterion.select.value.clone(),
        match_value: criterion.match_value.as_ref().map(|text| text.value.clone()),
        match_values: criterion.match_values.iter().map(|text| text.value.clone()).collect(),
        match_regex: criterion.match_regex.as_ref().map(|text| text.value.clone()),
        match_for: criterion.match_for,
        is_negated: criterion.is_negated,
        follows_program,
    };
    SharedQuestion::Criterion(Box::new(key)).number()
}

/// Returns the number of the question what `select` finds.
pub(super) fn select_number(select: &Text) -> QuestionNumber {
    SharedQuestion::Select(select.clone()).number()
}

/// Returns the number of the question whether the namespace of a request is covered and not ignored; nothing where a regular
/// expression has to tell it, which takes steps.
pub(super) fn reach_number(
    reach: &NamespaceReach,
    cluster_namespace: &Text,
    is_strict: bool,
) -> Option<QuestionNumber> {
    let namespaces = match reach {
        NamespaceReach::Own(own) => ReachKey::Own(own.clone()),
        NamespaceReach::Every => ReachKey::Every,
        NamespaceReach::Cluster { targets: ClusterTargets::ClusterScoped, .. } => ReachKey::ClusterScoped,
        NamespaceReach::Cluster { targets: ClusterTargets::Everything, .. } => ReachKey::Everything,
        NamespaceReach::Cluster { targets: ClusterTargets::Namespaces(_), .. } => return None,
    };
    let cluster_namespace = cluster_namespace.clone();
    Some(SharedQuestion::Reach { namespaces, cluster_namespace, is_strict }.number())
}

#[cfg(test)]
mod tests {
    use kubewright_dialect_kit::fields::Located;

    use super::*;

    fn criterion(select: &str, value: &str, is_negated: bool) -> SourceCriterion {
        let located = |text: &str| Located { value: Text::from(text), path: Vec::new() };
        SourceCriterion {
            select: located(select),
            match_value: Some(located(value)),
            match_values: Vec::new(),
            match_regex: None,
            match_for: MatchFor::Any,
            is_negated,
        }
    }

    #[test]
    fn equal_criteria_have_one_number_and_others_have_their_own() {
        let first = criterion_number(&criterion("$.kind", "Pod", false), false);
        assert_eq!(first, criterion_number(&criterion("$.kind", "Pod", false), false));
        let others = [
            criterion_number(&criterion("$.metadata.name", "Pod", false), false),
            criterion_number(&criterion("$.kind", "Job", false), false),
            criterion_number(&criterion("$.kind", "Pod", true), false),
            criterion_number(&criterion("$.kind", "Pod", false), true),
            select_number(&Text::from("$.kind")),
        ];
        assert!(others.iter().all(|other| *other != first), "{first} among {others:?}");
    }

    #[test]
    fn a_regular_expression_of_namespaces_is_asked_each_time() {
        let number =
            |reach: NamespaceReach, is_strict| reach_number(&reach, &Text::from("system"), is_strict);
        let own = number(NamespaceReach::Own(Text::from("shop")), false);
        assert!(own.is_some());
        assert_eq!(own, number(NamespaceReach::Own(Text::from("shop")), false));
        assert_ne!(own, number(NamespaceReach::Own(Text::from("shop")), true));
        assert_ne!(own, number(NamespaceReach::Every, false));
        let regex = kubewright_golib::regex::compile_regex("^shop").expect("an expression");
        let targets = ClusterTargets::Namespaces(regex);
        assert_eq!(number(NamespaceReach::Cluster { namespace: Text::from("system"), targets }, false), None);
    }
}
