//! The functions and variables of expression languages, with how they are called and what they do.

use std::sync::LazyLock;

use kubewright_cel::{CelEnvironment, library};
use kubewright_gotemplate::{FunctionHelp, FunctionSet};
use kubewright_jmespath::JmesPathFunctions;

use crate::embedded::EmbeddedLanguage;

/// A function or a variable of a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LanguageWord {
    /// Its name.
    pub(crate) name: String,
    /// How it is called; the name of a variable.
    pub(crate) signature: String,
    /// What it does or is.
    pub(crate) help: String,
    /// Whether it is a function.
    pub(crate) is_function: bool,
}

/// The variables that expressions of policies have, with what they are.
const CEL_VARIABLES: &[(&str, &str)] = &[
    ("object", "the object of the request; null when it is deleted"),
    ("oldObject", "the object before an update or a deletion; null when it is created"),
    ("request", "the admission request: operation, userInfo, namespace, name, kind"),
    ("params", "the parameter object of the binding"),
    ("namespaceObject", "the Namespace of the object; null for cluster-wide objects"),
    ("variables", "the variables of the policy, by name"),
    ("authorizer", "permission checks for the user of the request"),
];

const JMESPATH_VARIABLES: &[(&str, &str)] = &[
    ("request", "the admission request: object, oldObject, operation, userInfo, namespace, name"),
    ("element", "the item of the `foreach` loop"),
    ("elementIndex", "the index of the item of the `foreach` loop"),
    ("serviceAccountName", "the name of the service account that sent the request"),
    ("serviceAccountNamespace", "the namespace of the service account that sent the request"),
    ("images", "the images of the object, by kind of container and name"),
    ("target", "the object that an existing-resource rule changes"),
    ("@", "the value at the place of the expression"),
];

const TEMPLATE_VARIABLES: &[(&str, &str)] = &[
    (".Target", "the object that is being changed"),
    (".Namespace", "the namespace of the object"),
    (".SelectedItem", "the item that `select` of the patch selected"),
    (".SelectKeyParts", "the keys and indexes on the way to the selected item"),
];

static CEL_WORDS: LazyLock<Vec<LanguageWord>> = LazyLock::new(|| {
    let more = [&library::BINDINGS, &library::ENCODERS, &library::MATH, &library::REGEX];
    let kubernetes = more.iter().fold(CelEnvironment::kubernetes(), |all, library| all.with(library));
    let mut words: Vec<LanguageWord> = Vec::new();
    for environment in [kubernetes, CelEnvironment::policy()] {
        for overload in environment.functions().iter() {
            let is_name = |one: char| one.is_alphanumeric() || one == '.' || one == '_';
            let word = LanguageWord {
                name: overload.name().to_owned(),
                signature: overload.signature(),
                help: overload.help_line().to_owned(),
                is_function: true,
            };
            if word.name.chars().all(is_name) && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    for (name, help) in CEL_MACROS {
        let (signature, help) = (format!("list.{name}"), (*help).to_owned());
        let name = name.split('(').next().unwrap_or_default().to_owned();
        words.push(LanguageWord { name, signature, help, is_function: true });
    }
    words.extend(variables(CEL_VARIABLES));
    words
});

/// The macros, which are no functions of a library.
const CEL_MACROS: &[(&str, &str)] = &[
    ("all(x, condition) -> bool", "whether the condition holds for every item"),
    ("exists(x, condition) -> bool", "whether the condition holds for at least one item"),
    ("exists_one(x, condition) -> bool", "whether the condition holds for exactly one item"),
    ("filter(x, condition) -> list", "the items for which the condition holds"),
    ("map(x, expression) -> list", "the value of the expression for every item"),
];

static JMESPATH_WORDS: LazyLock<Vec<LanguageWord>> = LazyLock::new(|| {
    let functions = JmesPathFunctions::kubernetes();
    let mut words: Vec<LanguageWord> = functions
        .names()
        .filter_map(|name| {
            let signature = functions.signature(name)?;
            Some(LanguageWord {
                name: name.to_owned(),
                signature: format!("{name}{signature}"),
                help: signature.help().to_owned(),
                is_function: true,
            })
        })
        .collect();
    words.extend(variables(JMESPATH_VARIABLES));
    words
});

static TEMPLATE_WORDS: LazyLock<Vec<LanguageWord>> = LazyLock::new(|| {
    let names = FunctionSet::rules().names().into_iter();
    let mut words: Vec<LanguageWord> = names
        .filter_map(|name| {
            let FunctionHelp { call, help, .. } = FunctionSet::help(name)?;
            Some(LanguageWord {
                name: name.to_owned(),
                signature: call.clone(),
                help: help.clone(),
                is_function: true,
            })
        })
        .collect();
    words.extend(variables(TEMPLATE_VARIABLES));
    words
});

impl EmbeddedLanguage {
    /// Returns its functions and variables.
    pub(crate) fn words(self) -> &'static [LanguageWord] {
        match self {
            Self::Cel => &CEL_WORDS,
            Self::JmesPath => &JMESPATH_WORDS,
            Self::GoTemplate => &TEMPLATE_WORDS,
        }
    }

    /// Returns its name on the command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Cel => "cel",
            Self::JmesPath => "jmespath",
            Self::GoTemplate => "gotemplate",
        }
    }

    /// Returns its name, as users know it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Cel => "CEL",
            Self::JmesPath => "JMESPath",
            Self::GoTemplate => "Go template",
        }
    }
}

fn variables(table: &[(&str, &str)]) -> impl Iterator<Item = LanguageWord> {
    table.iter().map(|(name, help)| LanguageWord {
        name: (*name).to_owned(),
        signature: (*name).to_owned(),
        help: (*help).to_owned(),
        is_function: false,
    })
}
