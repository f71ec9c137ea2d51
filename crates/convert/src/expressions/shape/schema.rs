//! Shapes of built-in kinds, from the field schema.

use std::collections::HashMap;
use std::sync::LazyLock;

use kubewright_k8s::fields::{self, Collection, Field, FieldValue, ScalarType};
use kubewright_k8s::{BUILT_IN_KINDS, PodTemplatePath, WorkloadKind};

use super::Shape;

/// The shape of each type of the schema. A type of which no field is described is anything.
static TYPES: LazyLock<HashMap<&'static str, Shape>> = LazyLock::new(|| {
    let mut shapes = HashMap::new();
    fields::types().for_each(|name| {
        describe(name, &mut shapes);
    });
    shapes
});

/// Kinds that rules name together, and what their objects look like: a field of one is never another thing in the
/// other.
static FAMILIES: LazyLock<[Family; 3]> = LazyLock::new(|| {
    let controllers = WorkloadKind::ALL.into_iter();
    let with_template =
        controllers.clone().filter(|workload| workload.template_path() == PodTemplatePath::Template);
    [
        Family::of(with_template.map(WorkloadKind::name).collect()),
        Family::of(controllers.map(WorkloadKind::name).chain(["Pod"]).collect()),
        Family::of(vec!["Role", "ClusterRole"]),
    ]
});

struct Family {
    kinds: Vec<&'static str>,
    shape: Shape,
}

impl Family {
    fn of(kinds: Vec<&'static str>) -> Self {
        let shape = kinds.iter().map(|kind| shape_of(kind)).reduce(union).unwrap_or(Shape::Any);
        Self { kinds, shape }
    }
}

/// Returns the built-in kind that a rule means by `Pod`, `v1/Pod` or `apps/v1/Deployment`.
pub(super) fn known_kind(written: &str) -> Option<&'static str> {
    let parts: Vec<&str> = written.split('/').collect();
    match parts.as_slice() {
        [kind] => in_group(None, kind),
        [version, kind] if version.starts_with('v') || *version == "*" => in_group(Some(""), kind),
        [group, _, kind] => in_group(Some(group), kind),
        _ => None,
    }
}

fn in_group(group: Option<&str>, kind: &str) -> Option<&'static str> {
    let is_meant = |own: &str| group.is_none_or(|group| group == own || (group == "*" && !own.is_empty()));
    let mut groups = BUILT_IN_KINDS.iter().filter(|(own, ..)| is_meant(own));
    let found = groups.find_map(|(_, _, kinds)| kinds.iter().find(|known| **known == kind))?;
    fields::is_known_kind(found).then_some(*found)
}

/// Returns what objects of all these kinds look like; nothing where they have too little in common.
pub(super) fn of_all(kinds: &[&'static str]) -> Option<Shape> {
    let (first, rest) = kinds.split_first()?;
    if rest.iter().all(|kind| kind == first) {
        return Some(shape_of(first));
    }
    let family = FAMILIES.iter().find(|family| kinds.iter().all(|kind| family.kinds.contains(kind)));
    match family {
        Some(family) => Some(family.shape),
        None => rest.iter().all(|kind| shape_of(kind) == shape_of(first)).then(|| shape_of(first)),
    }
}

/// Returns what every object looks like.
pub(super) fn any_object() -> Shape {
    static OBJECT: LazyLock<Shape> = LazyLock::new(|| {
        let word = leaked(Shape::Word);
        let fields = [("apiVersion", word), ("kind", word), ("metadata", leaked(shape_of("ObjectMeta")))];
        Shape::Map(Vec::leak(fields.map(|(name, shape)| (name, Shape::Required(shape))).to_vec()))
    });
    *OBJECT
}

fn shape_of(name: &str) -> Shape {
    TYPES.get(name).copied().unwrap_or(Shape::Any)
}

fn describe(name: &'static str, shapes: &mut HashMap<&'static str, Shape>) -> Shape {
    if let Some(shape) = shapes.get(name) {
        return *shape;
    }
    // A type that contains itself is not described inside of itself.
    shapes.insert(name, Shape::Any);
    let fields = fields::fields_of(name).unwrap_or_default();
    let described: Vec<(&'static str, Shape)> =
        fields.iter().map(|field| (field.name, describe_field(field, shapes))).collect();
    let is_described = described.iter().any(|(_, shape)| !shape.is_any());
    let shape = if is_described { Shape::Map(Vec::leak(described)) } else { Shape::Any };
    shapes.insert(name, shape);
    shape
}

fn describe_field(field: &Field, shapes: &mut HashMap<&'static str, Shape>) -> Shape {
    let value = match field.value {
        FieldValue::Unknown => Shape::Any,
        FieldValue::Scalar(scalar) => scalar_shape(scalar),
        FieldValue::Object(name) => describe(name, shapes),
    };
    if value.is_any() {
        return value;
    }
    let shape = field.collections().rev().fold(value, |inner, collection| match collection {
        Collection::List => Shape::List(leaked(inner)),
        Collection::Map => Shape::MapOf(leaked(inner)),
    });
    if field.is_required { Shape::Required(leaked(shape)) } else { shape }
}

fn scalar_shape(scalar: ScalarType) -> Shape {
    match scalar {
        ScalarType::Bool => Shape::Bool,
        ScalarType::Int => Shape::Int,
        ScalarType::Word => Shape::Word,
        ScalarType::Text => Shape::Text,
        ScalarType::Quantity => Shape::Amount,
        ScalarType::IntOrString => Shape::Port,
    }
}

/// Returns what an object looks like that is of one shape or of the other.
fn union(one: Shape, other: Shape) -> Shape {
    match (one, other) {
        (one, other) if one == other => one,
        (Shape::Required(one), Shape::Required(other)) => Shape::Required(leaked(union(*one, *other))),
        (Shape::Required(one), other) | (other, Shape::Required(one)) => union(*one, other),
        (Shape::Map(one), Shape::Map(other)) => {
            let mut fields: Vec<(&'static str, Shape)> = Vec::new();
            for (name, shape) in one {
                let also = other.iter().find(|(known, _)| known == name);
                fields.push((*name, also.map_or_else(|| optional(*shape), |(_, also)| union(*shape, *also))));
            }
            let is_new = |(name, _): &&(&str, Shape)| !one.iter().any(|(known, _)| known == name);
            fields.extend(other.iter().filter(is_new).map(|(name, shape)| (*name, optional(*shape))));
            Shape::Map(Vec::leak(fields))
        }
        _ => Shape::Any,
    }
}

fn optional(shape: Shape) -> Shape {
    if let Shape::Required(shape) = shape { *shape } else { shape }
}

/// Keeps a shape for as long as the program runs. Called only while the statics above are made, once for each type.
fn leaked(shape: Shape) -> &'static Shape {
    Box::leak(Box::new(shape))
}
