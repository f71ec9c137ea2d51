//! Compiled traits and component types.

use kubewright_interpolate::TextTemplate;
use kubewright_patch::path::{PatchPath, PatchPathTemplate, PathError, PathOp};
use kubewright_value::{Step, Text};

use super::{PlacedExpression, PlacedStructure};
use crate::source::Plane;
use kubewright_dialect_kit::fields::Located;

#[derive(Debug)]
pub(crate) struct TraitProgram {
    pub(crate) before: Vec<PreRenderCheck>,
    pub(crate) after: Vec<PostRenderCheck>,
    pub(crate) creates: Vec<TemplateProgram>,
    pub(crate) patches: Vec<PatchProgram>,
    pub(crate) removes: Vec<RemovalProgram>,
}

#[derive(Debug)]
pub(crate) struct ComponentTypeProgram {
    pub(crate) before: Vec<PreRenderCheck>,
    pub(crate) after: Vec<PostRenderCheck>,
    pub(crate) resources: Vec<TemplateProgram>,
    /// The bindings for each of its traits, in order.
    pub(crate) traits: Vec<TraitBinding>,
}

/// The values that a component type passes to one of its traits, computed from the component's parameters.
#[derive(Debug)]
pub(crate) struct TraitBinding {
    pub(crate) parameters: Option<PlacedStructure>,
    pub(crate) environment_configs: Option<PlacedStructure>,
}

#[derive(Debug)]
pub(crate) struct PreRenderCheck {
    pub(crate) condition: PlacedExpression,
    pub(crate) written: Text,
    pub(crate) message: Text,
}

#[derive(Debug)]
pub(crate) struct PostRenderCheck {
    pub(crate) when: Option<PlacedExpression>,
    pub(crate) each: Option<LoopProgram>,
    pub(crate) target: CompiledTarget,
    pub(crate) must_match: bool,
    pub(crate) rule: PreRenderCheck,
}

#[derive(Debug)]
pub(crate) struct TemplateProgram {
    pub(crate) path: Vec<Step>,
    pub(crate) id: Option<Text>,
    pub(crate) plane: Plane,
    pub(crate) include_when: Option<PlacedExpression>,
    pub(crate) each: Option<LoopProgram>,
    pub(crate) content: PlacedStructure,
    /// The number among the writing parts.
    pub(crate) part: u32,
}

#[derive(Debug)]
pub(crate) struct PatchProgram {
    pub(crate) path: Vec<Step>,
    pub(crate) target: CompiledTarget,
    pub(crate) each: Option<LoopProgram>,
    pub(crate) operations: Vec<OperationProgram>,
}

#[derive(Debug)]
pub(crate) struct OperationProgram {
    pub(crate) op: PathOp,
    pub(crate) path: Located<PathProgram>,
    pub(crate) written: Text,
    /// `None` for `remove`.
    pub(crate) value: Option<PlacedStructure>,
    /// The number among the writing parts.
    pub(crate) part: u32,
}

#[derive(Debug)]
pub(crate) enum PathProgram {
    /// A path without expressions.
    Fixed(PatchPath),
    /// A path with expressions, whose text is data; its segments as written; a prepared form, if there is one.
    Pieces(TextTemplate, Option<PatchPath>, Option<Box<PatchPathTemplate>>),
    /// One expression that evaluates to a path.
    Whole(TextTemplate),
    /// A path that does not parse.
    Broken(PathError),
}

#[derive(Debug)]
pub(crate) struct RemovalProgram {
    pub(crate) path: Vec<Step>,
    pub(crate) target: CompiledTarget,
    pub(crate) each: Option<LoopProgram>,
}

/// A compiled target. A missing field matches all; an empty group is the core group.
#[derive(Debug)]
pub(crate) struct CompiledTarget {
    pub(crate) path: Vec<Step>,
    pub(crate) plane: Plane,
    pub(crate) kind: Option<Text>,
    pub(crate) group: Option<Text>,
    pub(crate) version: Option<Text>,
    pub(crate) name: Option<PlacedExpression>,
    pub(crate) condition: Option<PlacedExpression>,
}

#[derive(Debug)]
pub(crate) struct LoopProgram {
    pub(crate) over: PlacedExpression,
    pub(crate) variable: Text,
}
