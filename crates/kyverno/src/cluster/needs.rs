//! The objects that the rules of a policy read besides the request, as far as they are known before evaluation.

use kubewright_engine::Needs;
use kubewright_value::Text;

use crate::source::{
    self, ContextEntry, ContextSource, Foreach, Match, Method, PolicySource, ResourceFilter,
};

/// Returns the needs of `policy` and its `exceptions`. Those of its expressions are found when they are compiled.
pub(crate) fn of(policy: &PolicySource, exceptions: &[source::ExceptionSource]) -> Needs {
    let mut needs = Needs::default();
    let key = policy.key();
    let excepted =
        exceptions.iter().filter(|exception| exception.policies.iter().any(|(name, _)| *name == key));
    let matches = policy.rules.iter().flat_map(|rule| std::iter::once(&rule.matching).chain(&rule.exclude));
    let broken = policy.broken.iter().flat_map(|rule| rule.matching.iter().chain(&rule.exclude));
    let mut all = matches.chain(broken).chain(excepted.map(|exception| &exception.matching));
    needs.role_bindings = all.any(|matching| filters(matching).any(asks_for_roles));
    for rule in &policy.rules {
        config_maps(&rule.context, policy, &mut needs);
        in_loops(&rule.validate.method, policy, &mut needs);
    }
    needs.config_maps.sort();
    needs.config_maps.dedup();
    needs
}

fn filters(matching: &Match) -> impl Iterator<Item = &ResourceFilter> {
    matching.flat.iter().chain(&matching.any).chain(&matching.all)
}

fn asks_for_roles(filter: &ResourceFilter) -> bool {
    !filter.roles.is_empty() || !filter.cluster_roles.is_empty()
}

/// Adds the lookups of loops; their nesting is bounded by the depth of the document.
fn in_loops(method: &Method, policy: &PolicySource, needs: &mut Needs) {
    match method {
        Method::Foreach(loops) => {
            for Foreach { context, method, .. } in loops {
                config_maps(context, policy, needs);
                in_loops(method, policy, needs);
            }
        }
        Method::Both(both) => both.iter().for_each(|one| in_loops(one, policy, needs)),
        Method::Generate(generate) => {
            for each in generate.downstreams.iter().filter_map(|one| one.each.as_ref()) {
                config_maps(&each.context, policy, needs);
            }
        }
        Method::Mutate(mutate) => {
            mutate
                .entries()
                .into_iter()
                .for_each(|entry| config_maps(std::slice::from_ref(entry), policy, needs));
        }
        _ => {}
    }
}

fn config_maps(entries: &[ContextEntry], policy: &PolicySource, needs: &mut Needs) {
    for entry in entries {
        let ContextSource::ConfigMap { name, namespace } = &entry.from else { continue };
        let home = policy.namespace.clone().unwrap_or_else(|| Text::new("default"));
        let namespace = namespace.as_ref().map_or(home, |namespace| namespace.value.clone());
        let is_literal = |text: &Text| !text.contains("{{") && !text.contains("$(");
        if is_literal(&name.value) && is_literal(&namespace) {
            needs.config_maps.push((namespace, name.value.clone()));
        }
    }
}
