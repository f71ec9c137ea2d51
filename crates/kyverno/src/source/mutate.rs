//! Reads the `mutate` of a rule.

use kubewright_engine::Diagnostic;
use kubewright_value::{Step, Text, Value};

use super::super::diagnostics as code;
use super::rule::read_conditions;
use super::{ContextEntry, context, owned_value};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};
use kubewright_dialect_kit::selector::{self, SelectorSource};

/// A `mutate`.
#[derive(Debug, Clone)]
pub struct Mutate {
    /// The path in the document.
    pub path: Vec<Step>,
    /// What is changed.
    pub patch: MutatePatch,
    /// `targets`: the objects that are changed in place of the one under review.
    pub targets: Vec<MutateTarget>,
    /// `mutateExistingOnPolicyUpdate`, in place of that of the policy.
    pub is_run_on_policy_update: Option<bool>,
}

/// How a rule changes an object. Values are as they are written, with variables in them.
#[derive(Debug, Clone)]
pub enum MutatePatch {
    /// `patchStrategicMerge`
    StrategicMerge(Located<Value>),
    /// `patchesJson6902`: a text that holds a list of operations.
    Json6902(Located<Text>),
    /// `foreach`
    Foreach(Vec<MutateForeach>),
}

/// One loop of a `foreach`.
#[derive(Debug, Clone)]
pub struct MutateForeach {
    /// The path in the document.
    pub path: Vec<Step>,
    /// JMESPath, without braces.
    pub list: Located<Text>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// `preconditions`, as it is written.
    pub preconditions: Option<Located<Value>>,
    /// `order`
    pub order: Option<ElementOrder>,
    /// What is changed for each element.
    pub patch: MutatePatch,
}

/// The order in which the elements of a list are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementOrder {
    /// The first element first.
    Ascending,
    /// The last element first.
    Descending,
}

/// An entry of `targets`: objects that exist. Texts have variables in them.
#[derive(Debug, Clone)]
pub struct MutateTarget {
    /// The path in the document.
    pub path: Vec<Step>,
    /// `apiVersion`
    pub api_version: Option<Located<Text>>,
    /// `kind`, perhaps with a subresource.
    pub kind: Option<Located<Text>>,
    /// `name`, perhaps with wildcards; none means every name.
    pub name: Option<Located<Text>>,
    /// `namespace`, perhaps with wildcards.
    pub namespace: Option<Located<Text>>,
    /// `uid`
    pub uid: Option<Located<Text>>,
    /// `selector`
    pub selector: Option<SelectorSource>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// `preconditions`, as it is written.
    pub preconditions: Option<Located<Value>>,
}

/// A kind of patch: its field.
type PatchKey = &'static str;

const PATCHES: [PatchKey; 3] = ["patchStrategicMerge", "patchesJson6902", "foreach"];

const FOREACH_FIELDS: &[&str] =
    &["list", "context", "preconditions", "order", "patchStrategicMerge", "patchesJson6902", "foreach"];

const TARGET_FIELDS: &[&str] =
    &["apiVersion", "kind", "name", "namespace", "uid", "selector", "context", "preconditions"];

/// Reads the `mutate` of `rule`.
pub(super) fn read_mutate<'d>(reader: &mut DocumentReader<'d>, rule: &DocumentFields<'d>) -> Option<Mutate> {
    let fields = reader.object(rule, "mutate")?;
    reader.only(
        &fields,
        &["patchStrategicMerge", "patchesJson6902", "foreach", "targets", "mutateExistingOnPolicyUpdate"],
    );
    let is_run_on_policy_update = reader.boolean(&fields, "mutateExistingOnPolicyUpdate");
    let targets = reader.objects(&fields, "targets").unwrap_or_default();
    let targets = targets.iter().map(|target| read_target(reader, target)).collect();
    let patch = read_patch(reader, &fields)?;
    Some(Mutate { path: fields.path.clone(), patch, targets, is_run_on_policy_update })
}

/// Reads the one patch in `fields`, and the loops in it; how deep they are is bounded by the depth of the document.
fn read_patch<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<MutatePatch> {
    let given: Vec<PatchKey> = PATCHES.into_iter().filter(|key| reader.any(fields, key).is_some()).collect();
    let message = match given.as_slice() {
        ["patchStrategicMerge"] => {
            return reader
                .any(fields, "patchStrategicMerge")
                .map(|found| MutatePatch::StrategicMerge(owned_value(found)));
        }
        ["patchesJson6902"] => return reader.string(fields, "patchesJson6902").map(MutatePatch::Json6902),
        ["foreach"] => {
            let items = reader.objects(fields, "foreach")?;
            let loops = items.iter().filter_map(|item| read_mutate_foreach(reader, item)).collect();
            return Some(MutatePatch::Foreach(loops));
        }
        [first, second, ..] => format!("there are both `{first}` and `{second}`"),
        _ => "there is nothing to change".to_owned(),
    };
    let location = reader.document.locate_key(&fields.path);
    let help = format!("give exactly one of {}", PATCHES.map(|key| format!("`{key}`")).join(", "));
    reader.report(Diagnostic::new(&code::PATCH_KIND, message, location).help(help));
    None
}

fn read_mutate_foreach<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<MutateForeach> {
    reader.only(item, FOREACH_FIELDS);
    let context = context::read_context(reader, item);
    let preconditions = read_conditions(reader, item, "preconditions");
    let order = reader.string(item, "order").and_then(|text| {
        let words = [("Ascending", ElementOrder::Ascending), ("Descending", ElementOrder::Descending)];
        reader.one_of(&text, "order", &words)
    });
    let patch = read_patch(reader, item);
    if let Some(MutatePatch::Foreach(_)) = patch {
        for key in ["context", "preconditions", "order"] {
            if reader.any(item, key).is_some() {
                let message = format!("`{key}` beside an inner `foreach`");
                let location = reader.document.locate_key(&child_path(&item.path, key));
                let help = "it goes into the inner `foreach`";
                reader.report(Diagnostic::new(&code::NOT_HERE, message, location).help(help));
            }
        }
    }
    let list = reader.required_string(item, "list")?;
    Some(MutateForeach { path: item.path.clone(), list, context, preconditions, order, patch: patch? })
}

fn read_target<'d>(reader: &mut DocumentReader<'d>, target: &DocumentFields<'d>) -> MutateTarget {
    reader.only(target, TARGET_FIELDS);
    MutateTarget {
        path: target.path.clone(),
        api_version: reader.string(target, "apiVersion"),
        kind: reader.required_string(target, "kind"),
        name: reader.string(target, "name"),
        namespace: reader.string(target, "namespace"),
        uid: reader.string(target, "uid"),
        selector: selector::read_selector(reader, target, "selector"),
        context: context::read_context(reader, target),
        preconditions: read_conditions(reader, target, "preconditions"),
    }
}

impl MutatePatch {
    /// Returns every entry of the contexts of its loops.
    pub(crate) fn entries(&self) -> Vec<&ContextEntry> {
        let MutatePatch::Foreach(loops) = self else { return Vec::new() };
        loops.iter().flat_map(|one| one.context.iter().chain(one.patch.entries())).collect()
    }
}

impl Mutate {
    /// Returns every entry of the contexts of its targets and loops.
    pub(crate) fn entries(&self) -> Vec<&ContextEntry> {
        let targets = self.targets.iter().flat_map(|target| &target.context);
        targets.chain(self.patch.entries()).collect()
    }
}
