//! What expressions in traits may call.
//!
//! Numbers are integers where they have no fraction. Authors who wrote for the original, where every number
//! of a parameter is a double, find their expressions working: `*` and the like take an integer and a double,
//! and rounding takes integers.

use kubewright_cel::{
    Call, Entries, Environment, EvalErrorKind, Failure, Functions, Kind, Library, Macros, MapVal, Overload,
    Shorthand, Takes, Val, library,
};
use kubewright_golib::naming::{self, LABEL, SUBDOMAIN};
use kubewright_interpolate::omitted;
use kubewright_value::Text;

/// Returns the environment of all expressions in traits; the variables are for the caller to add.
#[must_use]
pub fn trait_environment() -> Environment {
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
    let standard = Environment::standard().with_mixed_arithmetic();
    let with_libraries =
        libraries.into_iter().fold(standard, |environment, library| environment.with(library));
    HELPERS.into_iter().fold(with_libraries, Environment::shorthand)
}

/// Calls that stand for what is computed once for a component, in the variable `derived`.
///
/// Older traits give the container to `toContainerEnvFrom` and its like, from when there could be several.
const HELPERS: [Shorthand; 12] = [
    derived_helper("configurations.toContainerEnvFrom", "derived.containerEnvFrom", Takes::Anything),
    derived_helper("configurations.toConfigEnvsByContainer", "derived.configEnvs", Takes::Anything),
    derived_helper("configurations.toSecretEnvsByContainer", "derived.secretEnvs", Takes::Anything),
    derived_helper("configurations.toConfigFileList", "derived.configFileList", Takes::Anything),
    derived_helper("configurations.toSecretFileList", "derived.secretFileList", Takes::Anything),
    derived_helper("configurations.toContainerVolumeMounts", "derived.configVolumeMounts", Takes::Anything),
    derived_helper("configurations.toVolumes", "derived.configVolumes", Takes::Anything),
    derived_helper("workload.toServicePorts", "derived.servicePorts", Takes::Nothing),
    derived_helper("workload.toEndpointResources", "derived.endpointResources", Takes::Key),
    derived_helper("dependencies.toContainerEnvs", "derived.dependencyEnvVars", Takes::Nothing),
    derived_helper("dependencies.toContainerVolumeMounts", "derived.dependencyVolumeMounts", Takes::Nothing),
    derived_helper("dependencies.toVolumes", "derived.dependencyVolumes", Takes::Nothing),
];

const fn derived_helper(call: &'static str, path: &'static str, takes: Takes) -> Shorthand {
    Shorthand { call, path, takes }
}

/// The functions that only traits have.
pub const FUNCTIONS: Library =
    Library { name: "traits", functions: add_trait_functions, macros: Macros::NONE, types: &[] };

fn add_trait_functions(functions: &mut Functions) {
    for name in ["oc_omit", "omit"] {
        functions.add(
            Overload::function(name, &[], Kind::Any, |_, _| Ok(omitted()))
                .help("leaves out the entry or item that it stands for"),
        );
    }
    for name in ["oc_merge", "merge"] {
        functions.add(
            Overload::function(name, &[Kind::Map, Kind::Map], Kind::Map, merge_objects)
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
        Overload::function("oc_hash", &[Kind::String], Kind::String, short_hash)
            .help("a short hash of a text, eight hexadecimal digits"),
    );
    functions.add(
        Overload::function("sha256sum", &[Kind::String], Kind::String, sha256_hash)
            .help("the SHA-256 hash of a text, in hexadecimal digits"),
    );
    add_integer_rounding(functions);
}

/// Adds a function that makes a name of one text, of a list of texts, or of several texts.
fn add_name_function(
    functions: &mut Functions,
    name: &'static str,
    body: kubewright_cel::Body,
    help: &'static str,
) {
    functions.add(Overload::function(name, &[Kind::String], Kind::String, body).help(help));
    functions
        .add(Overload::function(name, &[Kind::List], Kind::String, body).items(&[Kind::String]).help(help));
    functions.add(
        Overload::function(name, &[Kind::String, Kind::String], Kind::String, body).variadic().help(help),
    );
}

/// Adds what rounding an integer is.
fn add_integer_rounding(functions: &mut Functions) {
    for name in ["math.ceil", "math.floor", "math.round", "math.trunc"] {
        functions.add(
            Overload::function(name, &[Kind::Int], Kind::Int, |arguments, _| {
                Ok(arguments.first().cloned().unwrap_or_default())
            })
            .help("a whole number as it is"),
        );
    }
    for name in ["math.isNaN", "math.isInf"] {
        functions.add(
            Overload::function(name, &[Kind::Int], Kind::Bool, |_, _| Ok(Val::Bool(false)))
                .help("false for a whole number"),
        );
    }
    functions.add(
        Overload::function("math.isFinite", &[Kind::Int], Kind::Bool, |_, _| Ok(Val::Bool(true)))
            .help("true for a whole number"),
    );
}

fn merge_objects<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let maps: Vec<&MapVal<'a>> = arguments
        .iter()
        .map(|argument| match argument {
            Val::Map(map) => Ok(map),
            _ => Err(Failure::mismatch()),
        })
        .collect::<Result<_, _>>()?;
    let total: usize = maps.iter().map(|map| map.len()).sum();
    call.make(total)?;
    call.work(total.saturating_mul(maps.len()))?;
    let mut merged = Entries::new();
    for map in &maps {
        for (key, _) in map.iter() {
            // The last map that has the key decides; the first one says where it stands.
            let value = maps.iter().rev().find_map(|map| map.get(&key)).unwrap_or_default();
            merged.insert(key, value);
        }
    }
    Ok(Val::Map(MapVal::Made(merged.into())))
}

fn make_subdomain_name<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    name_from_parts(&argument_texts(arguments, call)?, SUBDOMAIN)
}

fn make_label_name<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    name_from_parts(&argument_texts(arguments, call)?, LABEL)
}

/// As `oc_dns_label`, with a hash of what the parts are without dots.
fn sanitize_name_part<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let parts = argument_texts(arguments, call)?;
    let parts: Vec<String> = parts.iter().map(|part| part.replace('.', "-")).collect();
    name_from_parts(&parts, LABEL)
}

fn name_from_parts<'a, T: AsRef<str>>(parts: &[T], most: usize) -> Result<Val<'a>, Failure> {
    let name = naming::hashed(parts, "", most);
    name.map(Val::text).ok_or_else(|| Failure::value("a name needs at least one part"))
}

/// Returns the texts that are given one by one or as a list. Anything else among them would be missing in
/// the name, so it is an error.
fn argument_texts<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Vec<Text>, Failure> {
    let items: Vec<Val<'a>> = match arguments {
        [Val::List(list)] => {
            call.make(list.len())?;
            list.iter().collect()
        }
        all => all.to_vec(),
    };
    let text = |item: Val<'a>| match item {
        Val::String(text) => Ok(text.into_owned()),
        other => Err(Failure::new(
            EvalErrorKind::Type,
            format!("a name is made of strings, found `{}`; use `string(…)`", other.type_name()),
        )),
    };
    let texts: Vec<_> = items.into_iter().map(text).collect::<Result<_, _>>()?;
    call.work(texts.iter().map(|text| 1 + text.len() / 4).sum())?;
    Ok(texts)
}

fn short_hash<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    hash_argument(arguments, call, naming::fnv1a)
}

fn sha256_hash<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    hash_argument(arguments, call, naming::sha256)
}

fn hash_argument<'a>(
    arguments: &[Val<'a>],
    call: &mut Call<'_, 'a>,
    hash: fn(&str) -> String,
) -> Result<Val<'a>, Failure> {
    let [Val::String(text)] = arguments else { return Err(Failure::mismatch()) };
    call.work(text.len() / 4)?;
    Ok(Val::text(hash(text)))
}

#[cfg(test)]
mod tests;
