//! What a trait or component type does, ready to run.

use kubewright_interpolate::TextTemplate;
use kubewright_patch::path::{PatchPath, PatchPathTemplate, PathError, PathOp};
use kubewright_value::{Step, Text};

use super::{Content, Expression};
use crate::source::Plane;
use kubewright_dialect_kit::fields::Located;

#[derive(Debug)]
pub(crate) struct Trait {
    pub(crate) before: Vec<Rule>,
    pub(crate) after: Vec<Assertion>,
    pub(crate) creates: Vec<Template>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) removes: Vec<Removal>,
}

#[derive(Debug)]
pub(crate) struct ComponentType {
    pub(crate) before: Vec<Rule>,
    pub(crate) after: Vec<Assertion>,
    pub(crate) resources: Vec<Template>,
    /// What is given to each of its traits, in their order.
    pub(crate) traits: Vec<Given>,
}

/// What a component type gives to one of its traits; made of what its component is given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) parameters: Option<Content>,
    pub(crate) environment_configs: Option<Content>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) condition: Expression,
    pub(crate) written: Text,
    pub(crate) message: Text,
}

#[derive(Debug)]
pub(crate) struct Assertion {
    pub(crate) when: Option<Expression>,
    pub(crate) each: Option<Each>,
    pub(crate) target: Target,
    pub(crate) must_match: bool,
    pub(crate) rule: Rule,
}

#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) path: Vec<Step>,
    pub(crate) id: Option<Text>,
    pub(crate) plane: Plane,
    pub(crate) include_when: Option<Expression>,
    pub(crate) each: Option<Each>,
    pub(crate) content: Content,
    /// Its number among all that write something.
    pub(crate) part: u32,
}

#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) path: Vec<Step>,
    pub(crate) target: Target,
    pub(crate) each: Option<Each>,
    pub(crate) operations: Vec<Operate>,
}

#[derive(Debug)]
pub(crate) struct Operate {
    pub(crate) op: PathOp,
    pub(crate) path: Located<PathProgram>,
    pub(crate) written: Text,
    /// Nothing for `remove`.
    pub(crate) value: Option<Content>,
    /// Its number among all that write something.
    pub(crate) part: u32,
}

#[derive(Debug)]
pub(crate) enum PathProgram {
    /// Without expressions.
    Fixed(PatchPath),
    /// With expressions in it, whose text is data; its segments as they are written; the quick way to it, if there is one.
    Pieces(TextTemplate, Option<PatchPath>, Option<Box<PatchPathTemplate>>),
    /// One expression that gives a path.
    Whole(TextTemplate),
    /// No path.
    Broken(PathError),
}

#[derive(Debug)]
pub(crate) struct Removal {
    pub(crate) path: Vec<Step>,
    pub(crate) target: Target,
    pub(crate) each: Option<Each>,
}

/// Which resources. What is left out fits all; an empty group is the core group.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) path: Vec<Step>,
    pub(crate) plane: Plane,
    pub(crate) kind: Option<Text>,
    pub(crate) group: Option<Text>,
    pub(crate) version: Option<Text>,
    pub(crate) name: Option<Expression>,
    pub(crate) condition: Option<Expression>,
}

#[derive(Debug)]
pub(crate) struct Each {
    pub(crate) over: Expression,
    pub(crate) variable: Text,
}
