//! Semantic versions.

use std::any::Any;
use std::cmp::Ordering;

use kubewright_value::Value;
use kubewright_value::semver::{Version, VersionError};

use super::{CelLibrary, opaque_argument, text_argument};
use crate::cost::traversal_cost;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, Opaque, Val};

/// The library of semantic versions.
pub const VERSIONS: CelLibrary =
    CelLibrary { name: "semver", functions: add_semver_functions, macros: MacroSet::NONE, types: &[] };

const SEMVER_TYPE_NAME: &str = "kubernetes.Semver";
const ONE_SEMVER: &[CelKind] = &[CelKind::Opaque(SEMVER_TYPE_NAME)];
const TWO_SEMVERS: &[CelKind] = &[CelKind::Opaque(SEMVER_TYPE_NAME), CelKind::Opaque(SEMVER_TYPE_NAME)];

#[derive(Debug)]
struct SemverVal(Version);

impl Opaque for SemverVal {
    fn type_name(&self) -> &'static str {
        SEMVER_TYPE_NAME
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

fn add_semver_functions(functions: &mut CelFunctions) {
    for parameters in [&[CelKind::String][..], &[CelKind::String, CelKind::Bool]] {
        functions.add(
            CelOverload::function("semver", parameters, CelKind::Opaque(SEMVER_TYPE_NAME), |arguments, _| {
                match read_semver_argument(arguments)? {
                    Ok(version) => Ok(Val::opaque(SemverVal(version))),
                    Err(error) => Err(CelFailure::value(format!(
                        "`{}` is not a version: {error}",
                        text_argument(arguments, 0)?
                    ))),
                }
            })
            .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
            .help("the semantic version that a text is; `v1` is one if the second argument is true"),
        );
        functions.add(
            CelOverload::function("isSemver", parameters, CelKind::Bool, |arguments, _| {
                Ok(Val::Bool(read_semver_argument(arguments)?.is_ok()))
            })
            .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
            .help("whether a text is a semantic version; `v1` is one if the second argument is true"),
        );
    }
    functions.add(
        CelOverload::method("isGreaterThan", TWO_SEMVERS, CelKind::Bool, |arguments, _| {
            order_semvers(arguments).map(|order| Val::Bool(order == Ordering::Greater))
        })
        .help("whether a version comes after another"),
    );
    functions.add(
        CelOverload::method("isLessThan", TWO_SEMVERS, CelKind::Bool, |arguments, _| {
            order_semvers(arguments).map(|order| Val::Bool(order == Ordering::Less))
        })
        .help("whether a version comes before another"),
    );
    functions.add(
        CelOverload::method("compareTo", TWO_SEMVERS, CelKind::Int, |arguments, _| {
            order_semvers(arguments).map(|order| Val::Int(order as i64))
        })
        .help("-1, 0 or 1: whether a version comes before, with or after another"),
    );
    functions.add(
        CelOverload::method("major", ONE_SEMVER, CelKind::Int, |arguments, _| {
            Ok(Val::Int(opaque_argument::<SemverVal>(arguments, 0)?.0.major.cast_signed()))
        })
        .help("the first number of a version"),
    );
    functions.add(
        CelOverload::method("minor", ONE_SEMVER, CelKind::Int, |arguments, _| {
            Ok(Val::Int(opaque_argument::<SemverVal>(arguments, 0)?.0.minor.cast_signed()))
        })
        .help("the second number of a version"),
    );
    functions.add(
        CelOverload::method("patch", ONE_SEMVER, CelKind::Int, |arguments, _| {
            Ok(Val::Int(opaque_argument::<SemverVal>(arguments, 0)?.0.patch.cast_signed()))
        })
        .help("the third number of a version"),
    );
}

fn read_semver_argument(arguments: &[Val<'_>]) -> Result<Result<Version, VersionError>, CelFailure> {
    let text = text_argument(arguments, 0)?;
    match arguments.get(1) {
        Some(Val::Bool(true)) if text.trim() != text => Ok(Err(VersionError::Number)),
        Some(Val::Bool(true)) => Ok(Version::parse_tolerant(text)),
        _ => Ok(Version::parse(text)),
    }
}

fn order_semvers(arguments: &[Val<'_>]) -> Result<Ordering, CelFailure> {
    Ok(opaque_argument::<SemverVal>(arguments, 0)?.0.cmp(&opaque_argument::<SemverVal>(arguments, 1)?.0))
}
