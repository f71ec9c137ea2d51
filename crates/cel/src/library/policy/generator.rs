//! `generator.Apply`: the objects that a policy makes.
//!
//! Nothing is made here. The host collects the objects, and what becomes of them is for its caller to say.

use kubewright_value::{Text, Value};

use super::{CelLibrary, LibraryHandle, MacroSet, ask_host, json_argument, text_argument};
use crate::environment::CelEnvironment;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of policies that make objects in any namespace.
pub const GENERATOR: CelLibrary = CelLibrary {
    name: "generator",
    functions: add_generator_functions,
    macros: MacroSet::NONE,
    types: &["generator.Context"],
};

/// The library of policies that make objects in one namespace. Its functions do not take a namespace.
pub const NAMESPACED_GENERATOR: CelLibrary = CelLibrary {
    name: "namespaced generator",
    functions: add_namespaced_generator_functions,
    macros: MacroSet::NONE,
    types: &["generator.Context"],
};

/// The query that hands over objects.
pub const GENERATOR_APPLY: &str = "generator.apply";

const CONTEXT: CelKind = CelKind::Opaque("generator.Context");

impl CelEnvironment {
    /// Returns the environment with `generator`, whose functions take a namespace.
    #[must_use]
    pub fn generating(self) -> Self {
        self.with(&GENERATOR).constant("generator", generator_handle())
    }

    /// Returns the environment with `generator`, whose functions are about one namespace.
    #[must_use]
    pub fn generating_in_one_namespace(self) -> Self {
        self.with(&NAMESPACED_GENERATOR).constant("generator", generator_handle())
    }
}

fn generator_handle() -> Val<'static> {
    Val::opaque(LibraryHandle(CONTEXT.name()))
}

fn add_generator_functions(functions: &mut CelFunctions) {
    for name in ["apply", "Apply"] {
        functions.add(
            CelOverload::method(
                name,
                &[CONTEXT, CelKind::String, CelKind::List],
                CelKind::Bool,
                |arguments, call| {
                    let namespace = Text::new(text_argument(arguments, 1)?);
                    hand_over(namespace.into(), arguments, 2, call)
                },
            )
            .help("true; makes the objects of a list in a namespace"),
        );
    }
}

fn add_namespaced_generator_functions(functions: &mut CelFunctions) {
    for name in ["apply", "Apply"] {
        functions.add(
            CelOverload::method(name, &[CONTEXT, CelKind::List], CelKind::Bool, |arguments, call| {
                hand_over(Value::Null, arguments, 1, call)
            })
            .help("true; makes the objects of a list in the namespace of the policy"),
        );
    }
}

fn hand_over<'a>(
    namespace: Value,
    arguments: &[Val<'a>],
    place: usize,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let objects = json_argument(arguments, place)?;
    call.make(objects.as_array().map_or(0, <[Value]>::len))?;
    ask_host(call, GENERATOR_APPLY, &[namespace, objects], "failed to generate resources")?;
    Ok(Val::Bool(true))
}
