//! The rights that policies need in the background: what their rules do there, and whether the API server permits it.
//!
//! A policy is asked about when it is stored, for the account of the controller that carries it out, and again by that
//! controller from time to time, because rights change. Both say what is missing as the RBAC rule to grant.

mod ask;

use kubewright_cluster::{ApiResource, DiscoveredResources};
use kubewright_engine::{
    BackgroundProgram, DeleteProgram, DownstreamTemplate, GenerateProgram, KindOrResource, MutateProgram,
    ResourceAccess, WebhookRule,
};
use kubewright_value::Text;

pub(crate) use ask::{AccessAnswers, ask_access};
pub use ask::{account_user, is_permitted};

/// Finds the resources that rules name.
pub type NamedResources<'n> = dyn Fn(&[WebhookRule]) -> Vec<ApiResource> + 'n;

/// Where rules are carried out.
pub struct AccessScope<'s> {
    /// The kinds that there are.
    pub served: &'s DiscoveredResources,
    /// Finds the resources that rules name.
    pub named: &'s NamedResources<'s>,
    /// The namespace of the policy, outside of which it changes nothing; empty for a policy of the whole cluster.
    pub namespace: &'s Text,
}

impl AccessScope<'_> {
    /// Returns what `program` does.
    #[must_use]
    pub fn of_program(&self, program: &BackgroundProgram) -> Vec<ResourceAccess> {
        match program {
            BackgroundProgram::Generate(program) => self.of_generate(program),
            BackgroundProgram::Mutate(program) => self.of_mutate(program),
            BackgroundProgram::Delete(program) => self.of_delete(program),
        }
    }

    /// Returns what a rule does that makes objects.
    #[must_use]
    pub fn of_generate(&self, program: &GenerateProgram) -> Vec<ResourceAccess> {
        let mut list = AccessList::default();
        self.add_triggers(&mut list, &program.triggers);
        for template in &program.downstreams {
            let Some((resource, part)) = self.downstream(template) else { continue };
            let at = |namespace: &Option<Text>| match resource.is_namespaced {
                true => namespace.clone().unwrap_or_else(|| self.namespace.clone()),
                false => Text::default(),
            };
            let verbs: &[&'static str] = match program.synchronizes {
                true => &["get", "create", "update", "delete"],
                false => &["get", "create"],
            };
            list.add(resource, part, &at(&template.namespace), verbs);
            if program.uses_server_side_apply {
                list.add(resource, part, &at(&template.namespace), &["patch"]);
            }
            if let Some(source) = &template.source {
                list.add(resource, "", &at(&source.namespace), &["get"]);
            }
            if program.synchronizes && part.is_empty() {
                list.add(resource, "", &Text::default(), &["list", "watch"]);
            }
        }
        list.0
    }

    /// Returns what a rule does that changes existing objects.
    #[must_use]
    pub fn of_mutate(&self, program: &MutateProgram) -> Vec<ResourceAccess> {
        let mut list = AccessList::default();
        self.add_triggers(&mut list, &program.triggers);
        for target in &program.targets {
            let whole = [WebhookRule { subresource: Text::default(), ..target.clone() }];
            for resource in (self.named)(&whole) {
                let namespace = self.within(&resource);
                match target.subresource.as_str() {
                    "" | "*" => list.add(&resource, "", &namespace, &["get", "list", "update"]),
                    part => {
                        list.add(&resource, "", &namespace, &["get", "list"]);
                        list.add(&resource, part, &namespace, &["get", "update"]);
                    }
                }
            }
        }
        list.0
    }

    /// Returns what a rule does that deletes objects by schedule.
    #[must_use]
    pub fn of_delete(&self, program: &DeleteProgram) -> Vec<ResourceAccess> {
        let mut list = AccessList::default();
        for resource in (self.named)(&program.targets) {
            list.add(&resource, "", &self.within(&resource), &["list", "delete"]);
        }
        list.0
    }

    /// Triggers are watched in all namespaces. Parts of objects are not: the webhook hands over requests about them.
    fn add_triggers(&self, list: &mut AccessList, triggers: &[WebhookRule]) {
        for resource in (self.named)(triggers) {
            list.add(&resource, "", &Text::default(), &["get", "list", "watch"]);
        }
    }

    fn within(&self, resource: &ApiResource) -> Text {
        if resource.is_namespaced { self.namespace.clone() } else { Text::default() }
    }

    /// Returns the resource of a downstream, and the part of it that is written.
    fn downstream<'t>(&self, template: &'t DownstreamTemplate) -> Option<(&ApiResource, &'t str)> {
        let kind = template.kind.as_deref()?;
        let (kind, part) = kind.split_once('/').unwrap_or((kind, ""));
        let group = template.api_version.as_deref()?.rsplit_once('/').map_or("", |(group, _)| group);
        Some((self.served.of_kind(group, kind)?, part))
    }
}

/// Accesses, each resource once for a namespace.
#[derive(Debug, Default)]
struct AccessList(Vec<ResourceAccess>);

impl AccessList {
    fn add(&mut self, of: &ApiResource, part: &str, namespace: &Text, verbs: &[&'static str]) {
        let resource = match part {
            "" => of.resource.clone(),
            part => format!("{}/{part}", of.resource).into(),
        };
        let is_same = |one: &&mut ResourceAccess| {
            one.group == of.group && one.resource == resource && one.namespace == *namespace
        };
        let known = match self.0.iter_mut().find(is_same) {
            Some(known) => known,
            None => {
                self.0.push(ResourceAccess {
                    group: of.group.clone(),
                    version: of.version.clone(),
                    kind: of.kind.clone(),
                    resource,
                    namespace: namespace.clone(),
                    verbs: Vec::new(),
                });
                let Some(last) = self.0.last_mut() else { return };
                last
            }
        };
        for verb in verbs {
            if !known.verbs.contains(verb) {
                known.verbs.push(verb);
            }
        }
    }
}

/// Returns the resources of `served` that `rules` name without wildcards. A kind without a group is that of the only group
/// that has it.
#[must_use]
pub fn exactly_named(rules: &[WebhookRule], served: &DiscoveredResources) -> Vec<ApiResource> {
    let mut found: Vec<ApiResource> = Vec::new();
    for rule in rules.iter().filter(|rule| matches!(rule.subresource.as_str(), "" | "*")) {
        let mut of_rule: Vec<&ApiResource> = Vec::new();
        for resource in served.iter().filter(|resource| is_exactly(rule, resource)) {
            // Further versions of a group come after its preferred one.
            if !of_rule.iter().any(|known| known.group == resource.group) {
                of_rule.push(resource);
            }
        }
        if let [resource] = of_rule.as_slice()
            && !found.contains(resource)
        {
            found.push((*resource).clone());
        }
    }
    found
}

fn is_exactly(rule: &WebhookRule, resource: &ApiResource) -> bool {
    let is_named = match &rule.name {
        KindOrResource::Kind(kind) => *kind == resource.kind,
        KindOrResource::Resource(name) => *name == resource.resource,
    };
    is_named && (rule.group == "*" || rule.group == resource.group)
}

#[cfg(test)]
mod tests;
