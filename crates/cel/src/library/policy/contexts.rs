//! Global context entries, and image metadata from registries.

use kubewright_value::{Text, Value};

use super::{CelLibrary, LibraryHandle, MacroSet, ask_host, text_argument};
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of `globalContext` and of `image.getMetadata`.
pub const CONTEXTS: CelLibrary = CelLibrary {
    name: "contexts",
    functions: add_context_functions,
    macros: MacroSet::NONE,
    types: &["globalcontext.Context", "imagedata.Context"],
};

/// The query for a global context entry.
pub const GLOBAL_CONTEXT: &str = "globalContext.get";

/// The query for the metadata of an image.
pub const IMAGE_DATA: &str = "image.getMetadata";

const GLOBAL: CelKind = CelKind::Opaque("globalcontext.Context");
const IMAGE: CelKind = CelKind::Opaque("imagedata.Context");

pub(super) fn global_context_handle() -> Val<'static> {
    Val::opaque(LibraryHandle(GLOBAL.name()))
}

pub(super) fn image_data_handle() -> Val<'static> {
    Val::opaque(LibraryHandle(IMAGE.name()))
}

fn add_context_functions(functions: &mut CelFunctions) {
    for name in ["get", "Get"] {
        for parameters in [&[GLOBAL, CelKind::String][..], &[GLOBAL, CelKind::String, CelKind::String]] {
            functions.add(
                CelOverload::method(name, parameters, CelKind::Any, |arguments, call| {
                    let projection = if arguments.len() > 2 { text_argument(arguments, 2)? } else { "" };
                    let question = [context_text(text_argument(arguments, 1)?), context_text(projection)];
                    ask_host(call, GLOBAL_CONTEXT, &question, "failed to get global reference")
                })
                .help("a global context entry, by its name and that of a projection"),
            );
        }
    }
    for name in ["getMetadata", "GetMetadata"] {
        functions.add(
            CelOverload::method(name, &[IMAGE, CelKind::String], CelKind::Any, |arguments, call| {
                ask_host(
                    call,
                    IMAGE_DATA,
                    &[context_text(text_argument(arguments, 1)?)],
                    "failed to get image data",
                )
            })
            .help("the metadata of an image, from its registry"),
        );
    }
}

fn context_text(text: &str) -> Value {
    Value::from(Text::new(text))
}
