//! Trait instances, in order, each with its values.

use kubewright_engine::Diagnostic;
use kubewright_traits::{CompiledTrait, Instance};
use kubewright_value::{Document, Text};

use super::library::TraitLibrary;
use super::setting::PathSetting;
use super::stack::Stack;
use super::values;
use crate::arguments::RenderArguments;

const PARAMETERS: &str = "parameters";
const ENVIRONMENT_CONFIGS: &str = "environment configs";

/// Values of instances from files and options.
#[derive(Default)]
pub(in crate::commands) struct InstanceValues {
    /// Maps of parameters; later ones override earlier ones.
    pub(in crate::commands) parameters: Vec<Document>,
    /// Maps of environment configs.
    pub(in crate::commands) environment_configs: Vec<Document>,
    /// Settings that override both.
    pub(in crate::commands) settings: Vec<PathSetting>,
}

/// Returns the instances that `arguments` request.
pub(super) fn requested_instances(
    arguments: &RenderArguments,
    stack: Option<&Stack>,
    library: &TraitLibrary,
    settings: &[PathSetting],
    problems: &mut Vec<Diagnostic>,
) -> Vec<Instance> {
    // An unreadable stack has no instances; its error is already reported.
    if arguments.stack.is_some() && stack.is_none() {
        return Vec::new();
    }
    let values = InstanceValues {
        parameters: values::read_value_files(&arguments.values.parameters, PARAMETERS, problems),
        environment_configs: values::read_value_files(
            &arguments.values.environment_configs,
            ENVIRONMENT_CONFIGS,
            problems,
        ),
        settings: settings.to_vec(),
    };
    instances_with_values(&values, stack, library, problems)
}

/// Returns the instances of `stack`, or each trait of `library` once, with `values`.
pub(in crate::commands) fn instances_with_values(
    values: &InstanceValues,
    stack: Option<&Stack>,
    library: &TraitLibrary,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Instance> {
    let mut wanted: Vec<LayeredInstance<'_>> = match stack {
        Some(stack) => {
            let uses = stack.instances.iter();
            let found = uses.filter_map(|used| Some((used, library.find(used, problems)?)));
            found
                .map(|(used, of)| LayeredInstance {
                    of,
                    name: used.name.as_str().into(),
                    layers: [&used.parameters, &used.environment_configs].map(|layer| vec![layer.clone()]),
                })
                .collect()
        }
        None => library.traits.iter().map(LayeredInstance::plain).collect(),
    };
    let names: Vec<Text> = wanted.iter().map(|wanted| wanted.name.clone()).collect();
    let sections = [
        ("parameters", PARAMETERS, &values.parameters),
        ("environmentConfigs", ENVIRONMENT_CONFIGS, &values.environment_configs),
    ];
    for (place, (root, what, maps)) in sections.into_iter().enumerate() {
        let settings: Vec<PathSetting> =
            values.settings.iter().filter(|one| one.root == root).cloned().collect();
        let none = format!("(no {what} given)");
        let whole = match values::merge_layers(maps, &settings, &none) {
            Ok(whole) => whole,
            Err(problem) => {
                problems.push(*problem);
                continue;
            }
        };
        let parts = values::split_by_instance(&whole, &names, what, problems);
        for (wanted, part) in wanted.iter_mut().zip(parts) {
            if let Some(layers) = wanted.layers.get_mut(place) {
                layers.push(part);
            }
        }
    }
    wanted.into_iter().map(|wanted| wanted.ready(problems)).collect()
}

/// An instance whose values are still in layers.
struct LayeredInstance<'l> {
    of: &'l CompiledTrait,
    name: Text,
    /// Of the parameters, and of the environment configs.
    layers: [Vec<Document>; 2],
}

impl<'l> LayeredInstance<'l> {
    fn plain(of: &'l CompiledTrait) -> Self {
        Self { of, name: of.name().clone(), layers: [Vec::new(), Vec::new()] }
    }

    fn ready(self, problems: &mut Vec<Diagnostic>) -> Instance {
        let mut merged = |layers: &[Document], what: &str| {
            values::merge_layers(layers, &[], &format!("(no {what} given)")).unwrap_or_else(|problem| {
                problems.push(*problem);
                Document::made(kubewright_value::Value::Null, kubewright_value::Source::new(what, ""))
            })
        };
        let [parameters, environment_configs] = &self.layers;
        Instance {
            of: self.of.clone(),
            name: self.name,
            parameters: merged(parameters, PARAMETERS),
            environment_configs: merged(environment_configs, ENVIRONMENT_CONFIGS),
        }
    }
}
