//! What `functionConfig` asks for: a TraitStack, a Trait, or a ConfigMap with settings.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Value};

use super::list::ResourceList;
use super::settings::{self, TextSetting};
use crate::arguments::RenderPlane;
use crate::codes::WRONG_FUNCTION_CONFIG;
use crate::commands::render::instances::InstanceValues;
use crate::commands::render::library::is_trait;
use crate::commands::render::setting::PathSetting;
use crate::commands::render::stack::{self, Stack};

const STACK: &str = "TraitStack";
/// What annotations of a configuration start with that are settings.
const PREFIX: &str = "kubewright.dev/";
/// The settings that every configuration can have as annotations.
const FOR_ALL: &[&str] = &["strict", "plane"];
/// Those of a trait, whose own fields have no room for them.
const FOR_TRAITS: &[&str] =
    &["parameters", "environment-configs", "context", "instance-name", "strict", "plane"];

/// What to do.
#[derive(Default)]
pub(super) struct FunctionConfig {
    /// The instances in order; without one, each trait is applied once.
    pub(super) stack: Option<Stack>,
    /// Files of traits.
    pub(super) paths: Vec<String>,
    /// Traits that are no files.
    pub(super) traits: Vec<Document>,
    /// What instances are given.
    pub(super) values: InstanceValues,
    /// What all of them see.
    pub(super) context: Vec<Document>,
    /// What is laid over that.
    pub(super) shared: Vec<PathSetting>,
    /// What the instance of a single trait is called.
    instance_name: Option<String>,
    pub(super) is_strict: bool,
    pub(super) plane: Option<RenderPlane>,
}

/// Reads what the configuration of `list` asks for; nothing where it cannot be read.
pub(super) fn read_function_config(
    list: &ResourceList,
    problems: &mut Vec<Diagnostic>,
) -> Option<FunctionConfig> {
    let config = &list.config;
    let mut wish = FunctionConfig::default();
    let text = |field: &str| config.value.str_at(&[field]);
    let mut wrong = Vec::new();
    if text("kind") == STACK {
        read_config_annotations(config, FOR_ALL, &mut wish, &mut wrong);
        match stack::read_stack(config) {
            Ok(stack) => {
                wish.paths.clone_from(&stack.traits);
                wish.traits.extend(stack.inline.iter().cloned());
                wish.stack = Some(stack);
            }
            Err(more) => wrong.extend(more),
        }
        wish.traits.extend(list.traits().cloned());
    } else if is_trait(config) {
        read_config_annotations(config, FOR_TRAITS, &mut wish, &mut wrong);
        wish.stack = Some(Stack::single(config, wish.instance_name.as_deref()));
        wish.traits.push(config.clone());
    } else if text("apiVersion") == "v1" && text("kind") == "ConfigMap" {
        read_config_annotations(config, FOR_ALL, &mut wish, &mut wrong);
        read_config_data(config, &mut wish, &mut wrong);
        wish.traits.extend(list.traits().cloned());
    } else {
        let message = match (text("apiVersion"), text("kind")) {
            (_, "") => "`functionConfig` has no kind".to_owned(),
            (version, kind) => {
                format!("`functionConfig` is a {kind} of `{version}`, which says nothing of traits")
            }
        };
        let problem = Diagnostic::new(&WRONG_FUNCTION_CONFIG, message, config.locate(&["kind".into()]));
        wrong.push(
            problem.help("give it a TraitStack, a Trait, a ClusterTrait, or a ConfigMap with settings"),
        );
    }
    let is_right = !wrong.iter().any(Diagnostic::is_error);
    problems.append(&mut wrong);
    is_right.then_some(wish)
}

/// Reads the settings among the annotations of `config`, of which there may be `known` ones.
fn read_config_annotations(
    config: &Document,
    known: &[&str],
    wish: &mut FunctionConfig,
    problems: &mut Vec<Diagnostic>,
) {
    let path = ["metadata".into(), "annotations".into()];
    for setting in settings::read_text_settings(config, &path, problems) {
        let Some(name) = setting.name.strip_prefix(PREFIX) else { continue };
        match name {
            name if !known.contains(&name) => problems.push(setting.unknown(PREFIX, known)),
            "instance-name" => wish.instance_name = Some(setting.text.clone()),
            name => take_setting(name, &setting, wish, problems),
        }
    }
}

/// Reads the settings that a ConfigMap holds.
fn read_config_data(config: &Document, wish: &mut FunctionConfig, problems: &mut Vec<Diagnostic>) {
    for setting in settings::read_text_settings(config, &["data".into()], problems) {
        match setting.name.as_str() {
            "traits" => wish.paths.extend(setting.list()),
            "stack" => {
                if let Some(stack) = stack::read_stack_file(&setting.text, problems) {
                    wish.paths.extend(stack.paths(&setting.text, problems));
                    wish.traits.extend(stack.inline.iter().cloned());
                    wish.stack = Some(stack);
                }
            }
            name if settings::KNOWN.contains(&name) => take_setting(name, &setting, wish, problems),
            _ => match setting.placed() {
                Ok(one) if ["parameters", "environmentConfigs"].contains(&one.root.as_str()) => {
                    wish.values.settings.push(one);
                }
                Ok(one) => wish.shared.push(one),
                Err(problem) => problems.push(*problem),
            },
        }
    }
}

/// Reads the setting called `name`, from data or annotations.
fn take_setting(
    name: &str,
    setting: &TextSetting,
    wish: &mut FunctionConfig,
    problems: &mut Vec<Diagnostic>,
) {
    let done = match name {
        "strict" => setting.flag().map(|is_strict| wish.is_strict = is_strict),
        "plane" => setting.plane().map(|plane| wish.plane = Some(plane)),
        "parameters" => setting.map().map(|map| wish.values.parameters.push(map)),
        "environmentConfigs" | "environment-configs" => {
            setting.map().map(|map| wish.values.environment_configs.push(map))
        }
        "context" => setting.map().map(|map| wish.context.push(map)),
        name => {
            let field = match name {
                "component" => "componentName",
                "project" => "projectName",
                "environment" => "environmentName",
                name => name,
            };
            let value = Value::from(setting.text.as_str());
            wish.shared.push(PathSetting { root: "metadata".into(), path: vec![field.into()], value });
            Ok(())
        }
    };
    if let Err(problem) = done {
        problems.push(*problem);
    }
}
