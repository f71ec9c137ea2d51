//! Semantic versions.

use std::any::Any;
use std::cmp::Ordering;

use kubewright_value::Value;
use kubewright_value::semver::{Version, VersionError};

use super::{Library, opaque, text};
use crate::cost::traversal;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, Opaque, Val};

/// The library of semantic versions.
pub const VERSIONS: Library = Library { name: "semver", functions: add, macros: Macros::NONE, types: &[] };

const NAME: &str = "kubernetes.Semver";
const ONE: &[Kind] = &[Kind::Opaque(NAME)];
const TWO: &[Kind] = &[Kind::Opaque(NAME), Kind::Opaque(NAME)];

#[derive(Debug)]
struct Semver(Version);

impl Opaque for Semver {
    fn type_name(&self) -> &'static str {
        NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref().is_some_and(|other: &Self| self.0 == other.0)
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(self.0.to_string()))
    }
}

fn add(functions: &mut Functions) {
    for parameters in [&[Kind::String][..], &[Kind::String, Kind::Bool]] {
        functions.add(
            Overload::function("semver", parameters, Kind::Opaque(NAME), |arguments, _| {
                match read(arguments)? {
                    Ok(version) => Ok(Val::opaque(Semver(version))),
                    Err(error) => {
                        Err(Failure::value(format!("`{}` is no version: {error}", text(arguments, 0)?)))
                    }
                }
            })
            .cost(|arguments, _| traversal(size_of(arguments, 0)))
            .help("the semantic version that a text is; `v1` is one if the second argument is true"),
        );
        functions.add(
            Overload::function("isSemver", parameters, Kind::Bool, |arguments, _| {
                Ok(Val::Bool(read(arguments)?.is_ok()))
            })
            .cost(|arguments, _| traversal(size_of(arguments, 0)))
            .help("whether a text is a semantic version; `v1` is one if the second argument is true"),
        );
    }
    functions.add(
        Overload::method("isGreaterThan", TWO, Kind::Bool, |arguments, _| {
            order(arguments).map(|order| Val::Bool(order == Ordering::Greater))
        })
        .help("whether a version comes after another"),
    );
    functions.add(
        Overload::method("isLessThan", TWO, Kind::Bool, |arguments, _| {
            order(arguments).map(|order| Val::Bool(order == Ordering::Less))
        })
        .help("whether a version comes before another"),
    );
    functions.add(
        Overload::method("compareTo", TWO, Kind::Int, |arguments, _| {
            order(arguments).map(|order| Val::Int(order as i64))
        })
        .help("-1, 0 or 1: whether a version comes before, with or after another"),
    );
    functions.add(
        Overload::method("major", ONE, Kind::Int, |arguments, _| {
            Ok(Val::Int(opaque::<Semver>(arguments, 0)?.0.major.cast_signed()))
        })
        .help("the first number of a version"),
    );
    functions.add(
        Overload::method("minor", ONE, Kind::Int, |arguments, _| {
            Ok(Val::Int(opaque::<Semver>(arguments, 0)?.0.minor.cast_signed()))
        })
        .help("the second number of a version"),
    );
    functions.add(
        Overload::method("patch", ONE, Kind::Int, |arguments, _| {
            Ok(Val::Int(opaque::<Semver>(arguments, 0)?.0.patch.cast_signed()))
        })
        .help("the third number of a version"),
    );
}

fn read(arguments: &[Val<'_>]) -> Result<Result<Version, VersionError>, Failure> {
    let text = text(arguments, 0)?;
    match arguments.get(1) {
        Some(Val::Bool(true)) if text.trim() != text => Ok(Err(VersionError::Number)),
        Some(Val::Bool(true)) => Ok(Version::parse_tolerant(text)),
        _ => Ok(Version::parse(text)),
    }
}

fn order(arguments: &[Val<'_>]) -> Result<Ordering, Failure> {
    Ok(opaque::<Semver>(arguments, 0)?.0.cmp(&opaque::<Semver>(arguments, 1)?.0))
}
