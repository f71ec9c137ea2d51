//! What a trait or component type does, ready to run.

use kubewright_interpolate::TextTemplate;
use kubewright_patch::path::{Form, Op, Path, PathError};
use kubewright_value::{Step, Text};

use super::{PlacedExpression, PlacedStructure};
use crate::source::Plane;
use kubewright_dialect_kit::fields::Placed;

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
    /// What is given to each of its traits, in their order.
    pub(crate) traits: Vec<TraitBinding>,
}

/// What a component type gives to one of its traits; made of what its component is given.
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
    /// Its number among all that write something.
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
    pub(crate) op: Op,
    pub(crate) path: Placed<PathProgram>,
    pub(crate) written: Text,
    /// Nothing for `remove`.
    pub(crate) value: Option<PlacedStructure>,
    /// Its number among all that write something.
    pub(crate) part: u32,
}

#[derive(Debug)]
pub(crate) enum PathProgram {
    /// Without expressions.
    Fixed(Path),
    /// With expressions in it, whose text is data; its segments as they are written; the quick way to it, if there is one.
    Pieces(TextTemplate, Option<Path>, Option<Box<Form>>),
    /// One expression that gives a path.
    Whole(TextTemplate),
    /// No path.
    Broken(PathError),
}

#[derive(Debug)]
pub(crate) struct RemovalProgram {
    pub(crate) path: Vec<Step>,
    pub(crate) target: CompiledTarget,
    pub(crate) each: Option<LoopProgram>,
}

/// Which resources. What is left out fits all; an empty group is the core group.
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
