//! The traits that are applied, in order, each with its values.

use kubewright_engine::Diagnostic;
use kubewright_traits::{CompiledTrait, Instance};
use kubewright_value::{Document, Text};

use super::library::Library;
use super::setting::One;
use super::stack::Stack;
use super::values;
use crate::arguments::Render;

const PARAMETERS: &str = "parameters";
const ENVIRONMENT_CONFIGS: &str = "environment configs";

/// What instances are given besides what a stack says.
#[derive(Default)]
pub(in crate::commands) struct Values {
    /// Maps of parameters; later ones are laid over earlier ones.
    pub(in crate::commands) parameters: Vec<Document>,
    /// The same of environment configs.
    pub(in crate::commands) environment_configs: Vec<Document>,
    /// What is laid over both.
    pub(in crate::commands) settings: Vec<One>,
}

/// Returns the instances that `arguments` ask for.
pub(super) fn of(
    arguments: &Render,
    stack: Option<&Stack>,
    library: &Library,
    settings: &[One],
    problems: &mut Vec<Diagnostic>,
) -> Vec<Instance> {
    // A stack that cannot be read stands for nothing.
    if arguments.stack.is_some() && stack.is_none() {
        return Vec::new();
    }
    let values = Values {
        parameters: values::files(&arguments.values.parameters, PARAMETERS, problems),
        environment_configs: values::files(
            &arguments.values.environment_configs,
            ENVIRONMENT_CONFIGS,
            problems,
        ),
        settings: settings.to_vec(),
    };
    with(&values, stack, library, problems)
}

/// Returns the instances of `stack`, and without one each trait of `library` once, with what `values` say.
pub(in crate::commands) fn with(
    values: &Values,
    stack: Option<&Stack>,
    library: &Library,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Instance> {
    let mut wanted: Vec<Wanted<'_>> = match stack {
        Some(stack) => {
            let uses = stack.instances.iter();
            let found = uses.filter_map(|used| Some((used, library.find(used, problems)?)));
            found
                .map(|(used, of)| Wanted {
                    of,
                    name: used.name.as_str().into(),
                    layers: [&used.parameters, &used.environment_configs].map(|layer| vec![layer.clone()]),
                })
                .collect()
        }
        None => library.traits.iter().map(Wanted::plain).collect(),
    };
    let names: Vec<Text> = wanted.iter().map(|wanted| wanted.name.clone()).collect();
    let sections = [
        ("parameters", PARAMETERS, &values.parameters),
        ("environmentConfigs", ENVIRONMENT_CONFIGS, &values.environment_configs),
    ];
    for (place, (root, what, maps)) in sections.into_iter().enumerate() {
        let settings: Vec<One> = values.settings.iter().filter(|one| one.root == root).cloned().collect();
        let none = format!("(no {what} given)");
        let whole = match values::merged(maps, &settings, &none) {
            Ok(whole) => whole,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let parts = values::shared_out(&whole, &names, what, problems);
        for (wanted, part) in wanted.iter_mut().zip(parts) {
            if let Some(layers) = wanted.layers.get_mut(place) {
                layers.push(part);
            }
        }
    }
    wanted.into_iter().map(|wanted| wanted.ready(problems)).collect()
}

/// An instance whose values are still in layers.
struct Wanted<'l> {
    of: &'l CompiledTrait,
    name: Text,
    /// Of the parameters, and of the environment configs.
    layers: [Vec<Document>; 2],
}

impl<'l> Wanted<'l> {
    fn plain(of: &'l CompiledTrait) -> Self {
        Self { of, name: of.name().clone(), layers: [Vec::new(), Vec::new()] }
    }

    fn ready(self, problems: &mut Vec<Diagnostic>) -> Instance {
        let mut merged = |layers: &[Document], what: &str| {
            values::merged(layers, &[], &format!("(no {what} given)")).unwrap_or_else(|problem| {
                problems.push(problem);
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
