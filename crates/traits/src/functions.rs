//! The functions of expressions in traits.
//!
//! Numbers are integers where they have no fraction. Authors who wrote for the original, where every number
//! of a parameter is a double, find their expressions working: `*` and the like take an integer and a double,
//! and rounding takes integers.

use kubewright_cel::{
    CelCallContext, CelEnvironment, CelErrorKind, CelFailure, CelFunctions, CelKind, CelLibrary, CelOverload,
    MacroSet, MapEntries, MapVal, Shorthand, ShorthandArguments, Val, library,
};
use kubewright_golib::naming::{self, MAX_LABEL_CHARS, MAX_SUBDOMAIN_CHARS};
use kubewright_interpolate::omitted;
use kubewright_value::Text;

/// Returns the environment of all expressions in traits; the variables are for the caller to add.
#[must_use]
pub fn trait_environment() -> CelEnvironment {
    let libraries = [
        &library::OPTIONALS,
        &library::STRINGS,
        &library::ENCODERS,
        &library::MATH,
        &library::LISTS,
        &library::SETS,
        &library::TWO_VARIABLES,
        &FUNCTIONS,
    ];
    let standard = CelEnvironment::standard().with_mixed_arithmetic();
    let with_libraries =
        libraries.into_iter().fold(standard, |environment, library| environment.with(library));
    HELPERS.into_iter().fold(with_libraries, CelEnvironment::shorthand)
}

/// Calls that are replaced by a field of the variable `derived`, which is computed once for a component.
///
/// Older traits give the container to `toContainerEnvFrom` and its like, from when there could be several.
const HELPERS: [Shorthand; 12] = [
    derived_helper(
        "configurations.toContainerEnvFrom",
        "derived.containerEnvFrom",
        ShorthandArguments::Anything,
    ),
    derived_helper(
        "configurations.toConfigEnvsByContainer",
        "derived.configEnvs",
        ShorthandArguments::Anything,
    ),
    derived_helper(
        "configurations.toSecretEnvsByContainer",
        "derived.secretEnvs",
        ShorthandArguments::Anything,
    ),
    derived_helper("configurations.toConfigFileList", "derived.configFileList", ShorthandArguments::Anything),
    derived_helper("configurations.toSecretFileList", "derived.secretFileList", ShorthandArguments::Anything),
    derived_helper(
        "configurations.toContainerVolumeMounts",
        "derived.configVolumeMounts",
        ShorthandArguments::Anything,
    ),
    derived_helper("configurations.toVolumes", "derived.configVolumes", ShorthandArguments::Anything),
    derived_helper("workload.toServicePorts", "derived.servicePorts", ShorthandArguments::Nothing),
    derived_helper("workload.toEndpointResources", "derived.endpointResources", ShorthandArguments::Key),
    derived_helper("dependencies.toContainerEnvs", "derived.dependencyEnvVars", ShorthandArguments::Nothing),
    derived_helper(
        "dependencies.toContainerVolumeMounts",
        "derived.dependencyVolumeMounts",
        ShorthandArguments::Nothing,
    ),
    derived_helper("dependencies.toVolumes", "derived.dependencyVolumes", ShorthandArguments::Nothing),
];

const fn derived_helper(call: &'static str, path: &'static str, takes: ShorthandArguments) -> Shorthand {
    Shorthand { call, path, takes }
}

/// The functions that only traits have.
pub const FUNCTIONS: CelLibrary =
    CelLibrary { name: "traits", functions: add_trait_functions, macros: MacroSet::NONE, types: &[] };

fn add_trait_functions(functions: &mut CelFunctions) {
    for name in ["oc_omit", "omit"] {
        functions.add(
            CelOverload::function(name, &[], CelKind::Any, |_, _| Ok(omitted()))
                .help("leaves out the entry or item that it is the value of"),
        );
    }
    for name in ["oc_merge", "merge"] {
        functions.add(
            CelOverload::function(name, &[CelKind::Map, CelKind::Map], CelKind::Map, merge_objects)
                .variadic()
                .help("the entries of all maps, those of later maps in place of earlier ones"),
        );
    }
    add_name_function(
        functions,
        "oc_generate_name",
        make_subdomain_name,
        "a name of at most 253 characters with a hash at its end",
    );
    add_name_function(
        functions,
        "oc_dns_label",
        make_label_name,
        "a DNS label of at most 63 characters with a hash at its end",
    );
    add_name_function(
        functions,
        "sanitizeK8sResourceName",
        sanitize_name_part,
        "the older name of `oc_dns_label`",
    );
    functions.add(
        CelOverload::function("oc_hash", &[CelKind::String], CelKind::String, short_hash)
            .help("a short hash of a text, eight hexadecimal digits"),
    );
    functions.add(
        CelOverload::function("sha256sum", &[CelKind::String], CelKind::String, sha256_hash)
            .help("the SHA-256 hash of a text, in hexadecimal digits"),
    );
    add_integer_rounding(functions);
}

/// Adds a function that makes a name of one text, of a list of texts, or of several texts.
fn add_name_function(
    functions: &mut CelFunctions,
    name: &'static str,
    body: kubewright_cel::CelFunctionBody,
    help: &'static str,
) {
    functions.add(CelOverload::function(name, &[CelKind::String], CelKind::String, body).help(help));
    functions.add(
        CelOverload::function(name, &[CelKind::List], CelKind::String, body)
            .items(&[CelKind::String])
            .help(help),
    );
    functions.add(
        CelOverload::function(name, &[CelKind::String, CelKind::String], CelKind::String, body)
            .variadic()
            .help(help),
    );
}

/// Adds rounding functions for integers.
fn add_integer_rounding(functions: &mut CelFunctions) {
    for name in ["math.ceil", "math.floor", "math.round", "math.trunc"] {
        functions.add(
            CelOverload::function(name, &[CelKind::Int], CelKind::Int, |arguments, _| {
                Ok(arguments.first().cloned().unwrap_or_default())
            })
            .help("a whole number as it is"),
        );
    }
    for name in ["math.isNaN", "math.isInf"] {
        functions.add(
            CelOverload::function(name, &[CelKind::Int], CelKind::Bool, |_, _| Ok(Val::Bool(false)))
                .help("false for a whole number"),
        );
    }
    functions.add(
        CelOverload::function("math.isFinite", &[CelKind::Int], CelKind::Bool, |_, _| Ok(Val::Bool(true)))
            .help("true for a whole number"),
    );
}

fn merge_objects<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let maps: Vec<&MapVal<'a>> = arguments
        .iter()
        .map(|argument| match argument {
            Val::Map(map) => Ok(map),
            _ => Err(CelFailure::mismatch()),
        })
        .collect::<Result<_, _>>()?;
    let total: usize = maps.iter().map(|map| map.len()).sum();
    call.make(total)?;
    call.work(total.saturating_mul(maps.len()))?;
    let mut merged = MapEntries::new();
    for map in &maps {
        for (key, _) in map.iter() {
            // The last map with the key sets the value; the first one sets its position.
            let value = maps.iter().rev().find_map(|map| map.get(&key)).unwrap_or_default();
            merged.insert(key, value);
        }
    }
    Ok(Val::Map(MapVal::Made(merged.into())))
}

fn make_subdomain_name<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    name_from_parts(&argument_texts(arguments, call)?, MAX_SUBDOMAIN_CHARS)
}

fn make_label_name<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    name_from_parts(&argument_texts(arguments, call)?, MAX_LABEL_CHARS)
}

/// Like `oc_dns_label`, but hashes the parts without their dots.
fn sanitize_name_part<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let parts = argument_texts(arguments, call)?;
    let parts: Vec<String> = parts.iter().map(|part| part.replace('.', "-")).collect();
    name_from_parts(&parts, MAX_LABEL_CHARS)
}

fn name_from_parts<'a, T: AsRef<str>>(parts: &[T], most: usize) -> Result<Val<'a>, CelFailure> {
    let name = naming::hashed_name(parts, "", most);
    name.map(Val::text).ok_or_else(|| CelFailure::value("a name needs at least one part"))
}

/// Returns the texts that are given one by one or as a list. Anything else among them would be missing in
/// the name, so it is an error.
fn argument_texts<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Vec<Text>, CelFailure> {
    let items: Vec<Val<'a>> = match arguments {
        [Val::List(list)] => {
            call.make(list.len())?;
            list.iter().collect()
        }
        all => all.to_vec(),
    };
    let text = |item: Val<'a>| match item {
        Val::String(text) => Ok(text.into_owned()),
        other => Err(CelFailure::new(
            CelErrorKind::Type,
            format!("a name is made of strings, found `{}`; use `string(…)`", other.type_name()),
        )),
    };
    let texts: Vec<_> = items.into_iter().map(text).collect::<Result<_, _>>()?;
    call.work(texts.iter().map(|text| 1 + text.len() / 4).sum())?;
    Ok(texts)
}

fn short_hash<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    hash_argument(arguments, call, naming::fnv1a)
}

fn sha256_hash<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    hash_argument(arguments, call, naming::sha256_hex)
}

fn hash_argument<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
    hash: fn(&str) -> String,
) -> Result<Val<'a>, CelFailure> {
    let [Val::String(text)] = arguments else { return Err(CelFailure::mismatch()) };
    call.work(text.len() / 4)?;
    Ok(Val::text(hash(text)))
}

#[cfg(test)]
mod tests;
