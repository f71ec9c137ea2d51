//! The traits in files and stacks.

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_files::{self as files, Input};
use kubewright_report::text::listed_paths;
use kubewright_traits::{self as traits, CompiledTrait};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Text};

use super::stack::{KINDS, StackInstance};
use crate::codes::{self, DUPLICATE_TRAIT, NOTHING_FOUND, UNKNOWN_TRAIT};

/// Traits, in document order.
#[derive(Default)]
pub(in crate::commands) struct TraitLibrary {
    pub(in crate::commands) traits: Vec<CompiledTrait>,
}

impl TraitLibrary {
    /// Compiles the traits in `files`, which `paths` name, and those in `more_documents`; `more` are the non-standard names
    /// of the context.
    pub(in crate::commands) fn load(
        files: &[Input],
        paths: &[String],
        more_documents: &[Document],
        more: &[Text],
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut wrong = Vec::new();
        let documents = files::read_documents(files, &mut wrong);
        let documents = files::objects_of(documents, &mut Vec::new());
        let documents: Vec<Document> = documents.into_iter().filter(is_trait).collect();
        if documents.is_empty() && !files.is_empty() && !wrong.iter().any(Diagnostic::is_error) {
            let message = format!("no Trait or ClusterTrait found in {}", listed_paths(paths));
            let problem = codes::about_path(&NOTHING_FOUND, &paths.join(" "), message);
            let help = format!("a trait has `apiVersion: {}` and `kind: Trait`", traits::API_VERSION);
            wrong.push(problem.help(help));
        }
        let mut library = Self::default();
        for document in documents.iter().chain(more_documents) {
            let (compiled, diagnostics) = CompiledTrait::compile(document, more);
            wrong.extend(diagnostics);
            library.add(compiled, &mut wrong);
        }
        problems.append(&mut wrong);
        library
    }

    /// Returns the trait that `used` names.
    pub(in crate::commands) fn find(
        &self,
        used: &StackInstance,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<&CompiledTrait> {
        let is_kind = |one: &&CompiledTrait| used.kind.as_deref().is_none_or(|kind| one.kind() == kind);
        let mut found = self.traits.iter().filter(|one| one.name() == used.of.as_str()).filter(is_kind);
        let problem = match (found.next(), found.next()) {
            (Some(one), None) => return Some(one),
            (Some(_), Some(_)) => {
                let message = format!("there is a Trait and a ClusterTrait called `{}`", used.of);
                Diagnostic::new(&UNKNOWN_TRAIT, message, used.location.clone()).help("select one with `kind`")
            }
            (None, _) => {
                let kind = used.kind.as_deref().unwrap_or("trait");
                let message = format!("no {kind} is called `{}`", used.of);
                let problem = Diagnostic::new(&UNKNOWN_TRAIT, message, used.location.clone());
                problem.help(self.remedy(used))
            }
        };
        problems.push(problem);
        None
    }

    /// Returns a suggestion for an unknown trait name.
    fn remedy(&self, used: &StackInstance) -> String {
        if let Some(other) = self.traits.iter().find(|one| one.name() == used.of.as_str()) {
            return format!("there is a {} of that name", other.kind());
        }
        let names: Vec<&str> = self.traits.iter().map(|one| one.name().as_str()).collect();
        match nearest_word(&used.of, names.iter().copied()) {
            Some(near) => did_you_mean(near),
            None if names.is_empty() => "list the files of the traits in `spec.traits`".to_owned(),
            None => format!("the traits are {}", names.join(", ")),
        }
    }

    /// Adds a trait, unless there is one of its name.
    pub(in crate::commands) fn add(
        &mut self,
        compiled: Option<CompiledTrait>,
        problems: &mut Vec<Diagnostic>,
    ) {
        let Some(compiled) = compiled else { return };
        let is_same = |one: &&CompiledTrait| one.kind() == compiled.kind() && one.name() == compiled.name();
        let Some(first) = self.traits.iter().find(is_same) else { return self.traits.push(compiled) };
        let place = first.document().locate(&[]);
        let message = format!(
            "duplicate {} `{}`; the first is in {}:{}",
            compiled.kind(),
            compiled.name(),
            place.source.name,
            place.position.line
        );
        let path = ["metadata".into(), "name".into()];
        problems.push(Diagnostic::new(&DUPLICATE_TRAIT, message, compiled.document().locate(&path)));
    }
}

/// Returns whether `document` is a trait.
pub(in crate::commands) fn is_trait(document: &Document) -> bool {
    let kind = document.value.str_at(&["kind"]);
    KINDS.contains(&kind) && traits::is_trait_resource(document)
}
