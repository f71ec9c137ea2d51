//! Structured merge: a patch that is part of an object, merged into it by the types of its fields.
//!
//! Maps are united, plain values replaced, and the items of a list found by their keys. What a type calls atomic can only
//! be replaced as a whole, which a patch may do if [`StructuredMergeOptions::replaces_atomics`] is set. A part that the
//! patch does not have is never removed. The types come from the caller, as a [`MergeType`].

mod check;
mod combine;
mod key;

use std::fmt;

use kubewright_value::{Budget, Exhausted, Text, Value};

pub use check::TypeProblem;
use check::{TypeChecker, find_atomics};
use combine::Combiner;

/// A type, as far as merging needs it.
pub trait MergeType: Clone {
    /// Returns the form of the type.
    fn shape(&self) -> MergeShape<Self>;

    /// Returns the type of the field `name` of a structure; nothing where it is not declared.
    fn field(&self, name: &str) -> Option<Self>;
}

/// The form of a type.
#[derive(Debug, Clone)]
pub enum MergeShape<T> {
    /// A plain value.
    Scalar(MergeScalar),
    /// Anything: objects are united, all else is replaced.
    Anything,
    /// A list of `item`.
    List {
        /// The type of the items.
        item: T,
        /// How the items are told apart.
        relation: ListRelation,
    },
    /// An object with any keys.
    Map {
        /// The type of the values.
        value: T,
        /// Whether it is replaced as a whole.
        is_atomic: bool,
    },
    /// An object whose fields are declared.
    Structure {
        /// Whether it is replaced as a whole.
        is_atomic: bool,
    },
}

/// The sorts of plain values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeScalar {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// Any of them.
    Any,
}

/// How the items of a list are told apart.
#[derive(Debug, Clone, PartialEq)]
pub enum ListRelation {
    /// They are not: the list is replaced as a whole.
    Atomic,
    /// By their values, which are plain.
    Set,
    /// By these fields of theirs.
    Keyed(Vec<MergeKey>),
}

/// A field by which items are told apart.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeKey {
    /// The name of the field.
    pub name: Text,
    /// The value where an item does not have the field; without one, it must have it.
    pub default: Option<Value>,
}

/// Options of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StructuredMergeOptions {
    /// Whether a patch may replace what is atomic.
    pub replaces_atomics: bool,
    /// Whether a null in the patch has the wrong type wherever it is.
    pub refuses_nulls: bool,
    /// Whether fields of the live object that its type does not declare stay as they are.
    pub keeps_undeclared: bool,
}

/// Why a patch cannot be merged.
#[derive(Debug, Clone, PartialEq)]
pub enum StructuredMergeError {
    /// The patch does not have the type.
    Patch(Vec<TypeProblem>),
    /// The patch would replace what is atomic, at these paths.
    Atomic(Vec<String>),
    /// The object does not have the type.
    Live(Vec<TypeProblem>),
    /// The budget is used up.
    Limit(Exhausted),
}

impl From<Exhausted> for StructuredMergeError {
    fn from(exhausted: Exhausted) -> Self {
        Self::Limit(exhausted)
    }
}

/// The API server's words.
impl fmt::Display for StructuredMergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch(problems) => {
                f.write_str("failed to convert patch object to typed object: ")?;
                check::write_problems(problems, f)
            }
            Self::Live(problems) => {
                f.write_str("failed to convert original object to typed object: ")?;
                check::write_problems(problems, f)
            }
            Self::Atomic(paths) => write!(
                f,
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
                paths.join(", ")
            ),
            Self::Limit(exhausted) => exhausted.fmt(f),
        }
    }
}

/// Returns `live` with `patch` merged into it, both of type `root`.
///
/// # Errors
/// When one of them does not have the type, or the patch would replace what is atomic.
pub fn merge_structured<T: MergeType>(
    live: &Value,
    patch: &Value,
    root: &T,
    options: StructuredMergeOptions,
    budget: &mut Budget,
) -> Result<Value, StructuredMergeError> {
    let problems = TypeChecker::of_patch(options.refuses_nulls).check(patch, root, budget)?;
    if !problems.is_empty() {
        return Err(StructuredMergeError::Patch(problems));
    }
    if !options.replaces_atomics {
        let atomics = find_atomics(patch, root, budget)?;
        if !atomics.is_empty() {
            return Err(StructuredMergeError::Atomic(atomics));
        }
    }
    let problems = TypeChecker::of_live(options.keeps_undeclared).check(live, root, budget)?;
    if !problems.is_empty() {
        return Err(StructuredMergeError::Live(problems));
    }
    Ok(Combiner { budget }.merged(live, patch, root)?)
}

/// Returns the fields of a live object that its type does not declare.
///
/// # Errors
/// When the budget is used up.
pub fn undeclared_fields<T: MergeType>(
    live: &Value,
    root: &T,
    budget: &mut Budget,
) -> Result<Vec<TypeProblem>, StructuredMergeError> {
    let others = TypeChecker::of_live(true).check(live, root, budget)?;
    let mut all = TypeChecker::of_live(false).check(live, root, budget)?;
    all.retain(|problem| !others.contains(problem));
    Ok(all)
}

#[cfg(test)]
mod tests;
