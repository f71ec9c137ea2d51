//! What the world keeps for policies: values by name, and what registries know about images.

use kubewright_value::{Text, Value};

use super::{Handle, Library, Macros, ask, text};
use crate::function::{Functions, Overload};
use crate::val::{Kind, Val};

/// The library of `globalContext` and of `image.getMetadata`.
pub const CONTEXTS: Library = Library {
    name: "contexts",
    functions: add,
    macros: Macros::NONE,
    types: &["globalcontext.Context", "imagedata.Context"],
};

/// The question for a value by its name.
pub const GLOBAL_CONTEXT: &str = "globalContext.get";

/// The question for what a registry knows about an image.
pub const IMAGE_DATA: &str = "image.getMetadata";

const GLOBAL: Kind = Kind::Opaque("globalcontext.Context");
const IMAGE: Kind = Kind::Opaque("imagedata.Context");

pub(super) fn global() -> Val<'static> {
    Val::opaque(Handle(GLOBAL.name()))
}

pub(super) fn image_data() -> Val<'static> {
    Val::opaque(Handle(IMAGE.name()))
}

fn add(functions: &mut Functions) {
    for name in ["get", "Get"] {
        for parameters in [&[GLOBAL, Kind::String][..], &[GLOBAL, Kind::String, Kind::String]] {
            functions.add(
                Overload::method(name, parameters, Kind::Any, |arguments, call| {
                    let projection = if arguments.len() > 2 { text(arguments, 2)? } else { "" };
                    let question = [value(text(arguments, 1)?), value(projection)];
                    ask(call, GLOBAL_CONTEXT, &question, "failed to get global reference")
                })
                .help("a value that is kept for policies, by its name and that of a projection"),
            );
        }
    }
    for name in ["getMetadata", "GetMetadata"] {
        functions.add(
            Overload::method(name, &[IMAGE, Kind::String], Kind::Any, |arguments, call| {
                ask(call, IMAGE_DATA, &[value(text(arguments, 1)?)], "failed to get image data")
            })
            .help("what the registry knows about an image"),
        );
    }
}

fn value(text: &str) -> Value {
    Value::from(Text::new(text))
}
