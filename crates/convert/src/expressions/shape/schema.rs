//! Shapes of built-in kinds, from the field schema.

use std::collections::HashMap;
use std::sync::LazyLock;

use kubewright_k8s::fields::{self, Collection, FieldValue, ScalarType, SchemaField};
use kubewright_k8s::{BUILT_IN_KINDS, PodTemplatePath, WorkloadKind};

use super::ValueShape;

/// The shape of each type of the schema. A type of which no field is described is anything.
static TYPE_SHAPES: LazyLock<HashMap<&'static str, ValueShape>> = LazyLock::new(|| {
    let mut shapes = HashMap::new();
    fields::schema_types().for_each(|name| {
        describe_type(name, &mut shapes);
    });
    shapes
});

/// Kinds that rules name together, and what their objects look like: a field of one is never another thing in the
/// other.
static FAMILIES: LazyLock<[KindFamily; 3]> = LazyLock::new(|| {
    let controllers = WorkloadKind::ALL.into_iter();
    let with_template =
        controllers.clone().filter(|workload| workload.template_path() == PodTemplatePath::Template);
    [
        KindFamily::of(with_template.map(WorkloadKind::name).collect()),
        KindFamily::of(controllers.map(WorkloadKind::name).chain(["Pod"]).collect()),
        KindFamily::of(vec!["Role", "ClusterRole"]),
    ]
});

struct KindFamily {
    kinds: Vec<&'static str>,
    shape: ValueShape,
}

impl KindFamily {
    fn of(kinds: Vec<&'static str>) -> Self {
        let shape = kinds.iter().map(|kind| shape_of(kind)).reduce(union_shapes).unwrap_or(ValueShape::Any);
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

/// Returns the shape of objects of all these kinds; `None` where they have too little in common.
pub(super) fn shared_shape(kinds: &[&'static str]) -> Option<ValueShape> {
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

/// Returns the shape of every object.
pub(super) fn any_object() -> ValueShape {
    static OBJECT: LazyLock<ValueShape> = LazyLock::new(|| {
        let word = leak_shape(ValueShape::Word);
        let fields = [("apiVersion", word), ("kind", word), ("metadata", leak_shape(shape_of("ObjectMeta")))];
        ValueShape::Map(Vec::leak(fields.map(|(name, shape)| (name, ValueShape::Required(shape))).to_vec()))
    });
    *OBJECT
}

fn shape_of(name: &str) -> ValueShape {
    TYPE_SHAPES.get(name).copied().unwrap_or(ValueShape::Any)
}

fn describe_type(name: &'static str, shapes: &mut HashMap<&'static str, ValueShape>) -> ValueShape {
    if let Some(shape) = shapes.get(name) {
        return *shape;
    }
    // A type that contains itself is not described inside of itself.
    shapes.insert(name, ValueShape::Any);
    let fields = fields::fields_of(name).unwrap_or_default();
    let described: Vec<(&'static str, ValueShape)> =
        fields.iter().map(|field| (field.name, describe_field(field, shapes))).collect();
    let is_described = described.iter().any(|(_, shape)| !shape.is_any());
    let shape = if is_described { ValueShape::Map(Vec::leak(described)) } else { ValueShape::Any };
    shapes.insert(name, shape);
    shape
}

fn describe_field(field: &SchemaField, shapes: &mut HashMap<&'static str, ValueShape>) -> ValueShape {
    let value = match field.value {
        FieldValue::Unknown => ValueShape::Any,
        FieldValue::Scalar(scalar) => scalar_shape(scalar),
        FieldValue::Object(name) => describe_type(name, shapes),
    };
    if value.is_any() {
        return value;
    }
    let shape = field.collections().rev().fold(value, |inner, collection| match collection {
        Collection::List => ValueShape::List(leak_shape(inner)),
        Collection::Map => ValueShape::MapOf(leak_shape(inner)),
    });
    if field.is_required { ValueShape::Required(leak_shape(shape)) } else { shape }
}

fn scalar_shape(scalar: ScalarType) -> ValueShape {
    match scalar {
        ScalarType::Bool => ValueShape::Bool,
        ScalarType::Int => ValueShape::Int,
        ScalarType::Word => ValueShape::Word,
        ScalarType::Text => ValueShape::Text,
        ScalarType::Quantity => ValueShape::Amount,
        ScalarType::IntOrString => ValueShape::Port,
    }
}

/// Returns the shape of an object that has one shape or the other.
fn union_shapes(one: ValueShape, other: ValueShape) -> ValueShape {
    match (one, other) {
        (one, other) if one == other => one,
        (ValueShape::Required(one), ValueShape::Required(other)) => {
            ValueShape::Required(leak_shape(union_shapes(*one, *other)))
        }
        (ValueShape::Required(one), other) | (other, ValueShape::Required(one)) => union_shapes(*one, other),
        (ValueShape::Map(one), ValueShape::Map(other)) => {
            let mut fields: Vec<(&'static str, ValueShape)> = Vec::new();
            for (name, shape) in one {
                let also = other.iter().find(|(known, _)| known == name);
                fields.push((
                    *name,
                    also.map_or_else(|| optional_shape(*shape), |(_, also)| union_shapes(*shape, *also)),
                ));
            }
            let is_new = |(name, _): &&(&str, ValueShape)| !one.iter().any(|(known, _)| known == name);
            fields.extend(other.iter().filter(is_new).map(|(name, shape)| (*name, optional_shape(*shape))));
            ValueShape::Map(Vec::leak(fields))
        }
        _ => ValueShape::Any,
    }
}

fn optional_shape(shape: ValueShape) -> ValueShape {
    if let ValueShape::Required(shape) = shape { *shape } else { shape }
}

/// Keeps a shape for as long as the program runs. Called only while the statics above are made, once for each type.
fn leak_shape(shape: ValueShape) -> &'static ValueShape {
    Box::leak(Box::new(shape))
}
