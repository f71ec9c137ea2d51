//! The traits that are applied, in order, each with its values.

use kubewright_dialects::traits::{Instance, Trait};
use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use super::library::Library;
use super::setting::One;
use super::stack::Stack;
use super::values;
use crate::arguments::Render;

/// Returns the instances of `stack`; without one, each trait of `library` once.
pub(super) fn of(
    arguments: &Render,
    stack: Option<&Stack>,
    library: &Library,
    settings: &[One],
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
        // A stack that cannot be read stands for nothing.
        None if arguments.stack.is_some() => return Vec::new(),
        None => library.traits.iter().map(Wanted::plain).collect(),
    };
    let names: Vec<Text> = wanted.iter().map(|wanted| wanted.name.clone()).collect();
    let sections = [
        ("parameters", "parameters", &arguments.values.parameters),
        ("environmentConfigs", "environment configs", &arguments.values.environment_configs),
    ];
    for (place, (root, what, paths)) in sections.into_iter().enumerate() {
        let files = values::files(paths, what, problems);
        let settings: Vec<One> = settings.iter().filter(|one| one.root == root).cloned().collect();
        let none = format!("(no {what} given)");
        let whole = match values::merged(&files, &settings, &none) {
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
    of: &'l Trait,
    name: Text,
    /// Of the parameters, and of the environment configs.
    layers: [Vec<Document>; 2],
}

impl<'l> Wanted<'l> {
    fn plain(of: &'l Trait) -> Self {
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
            parameters: merged(parameters, "parameters"),
            environment_configs: merged(environment_configs, "environment configs"),
        }
    }
}
