//! Formats of names and other texts.

mod names;

use std::any::Any;
use std::fmt;

use super::{Library, opaque, text};
use crate::cost::traversal;
use crate::environment::Macros;
use crate::function::{Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, Opaque, Val};
use names::{
    base64, date, date_time, dns_label, dns1035_label, label_value, prefix, qualified_name, subdomain, uri,
    uuid,
};

/// The library of formats.
pub const FORMATS: Library = Library { name: "format", functions: add, macros: Macros::NONE, types: &[] };

const NAME: &str = "kubernetes.NamedFormat";

/// A format: what is wrong with a text, and how long the pattern is that its cost is counted by.
struct Format {
    name: &'static str,
    pattern_size: u64,
    check: fn(&str) -> Vec<String>,
}

const FORMATS_BY_NAME: [Format; 13] = [
    Format { name: "dns1123Label", pattern_size: 30, check: dns_label },
    Format { name: "dns1123Subdomain", pattern_size: 60, check: subdomain },
    Format { name: "dns1035Label", pattern_size: 30, check: dns1035_label },
    Format { name: "qualifiedName", pattern_size: 60, check: qualified_name },
    Format { name: "dns1123LabelPrefix", pattern_size: 30, check: |text| dns_label(&prefix(text)) },
    Format { name: "dns1123SubdomainPrefix", pattern_size: 60, check: |text| subdomain(&prefix(text)) },
    Format { name: "dns1035LabelPrefix", pattern_size: 30, check: |text| dns1035_label(&prefix(text)) },
    Format { name: "labelValue", pattern_size: 40, check: label_value },
    Format { name: "uri", pattern_size: 1103, check: uri },
    Format { name: "uuid", pattern_size: 72, check: uuid },
    Format { name: "byte", pattern_size: 84, check: base64 },
    Format { name: "date", pattern_size: 72, check: date },
    Format { name: "datetime", pattern_size: 72, check: date_time },
];

#[derive(Clone, Copy)]
struct Named(&'static Format);

impl Opaque for Named {
    fn type_name(&self) -> &'static str {
        NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref().is_some_and(|other: &Self| self.0.name == other.0.name)
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "format.{}()", self.0.name)
    }
}

/// Adds a function for each format, since a function captures nothing.
macro_rules! constants {
    ($functions:ident: $($name:literal)*) => {$(
        $functions.add(
            Overload::function(concat!("format.", $name), &[], Kind::Opaque(NAME), |_, _| {
                Ok(named($name).map_or(Val::Null, Val::opaque))
            })
            .help(concat!("the format `", $name, "`")),
        );
    )*};
}

fn named(name: &str) -> Option<Named> {
    static FORMATS: &[Format] = &FORMATS_BY_NAME;
    FORMATS.iter().find(|format| format.name == name).map(Named)
}

/// Returns whether `text` may be the name of a namespace.
pub(super) fn is_label_name(text: &str) -> bool {
    dns_label(text).is_empty()
}

/// Returns whether `text` may be the name of most objects.
pub(super) fn is_subdomain_name(text: &str) -> bool {
    subdomain(text).is_empty()
}

fn add(functions: &mut Functions) {
    constants! { functions:
        "dns1123Label" "dns1123Subdomain" "dns1035Label" "qualifiedName" "dns1123LabelPrefix"
        "dns1123SubdomainPrefix" "dns1035LabelPrefix" "labelValue" "uri" "uuid" "byte" "date" "datetime"
    }
    functions.add(
        Overload::function("format.named", &[Kind::String], Kind::Optional, |arguments, _| {
            Ok(named(text(arguments, 0)?).map_or(Val::Optional(None), |found| Val::some(Val::opaque(found))))
        })
        .help("the format of that name, if there is one"),
    );
    functions.add(
        Overload::method(
            "validate",
            &[Kind::Opaque(NAME), Kind::String],
            Kind::Optional,
            |arguments, call| {
                let (format, text) = (opaque::<Named>(arguments, 0)?, text(arguments, 1)?);
                call.work(text.len() / 16)?;
                let wrong = (format.0.check)(text);
                Ok(match wrong.is_empty() {
                    true => Val::Optional(None),
                    false => Val::some(Val::list(wrong.into_iter().map(Val::text).collect())),
                })
            },
        )
        .cost(|arguments, _| {
            let pattern = opaque::<Named>(arguments, 0).map_or(0, |format| format.0.pattern_size.div_ceil(4));
            traversal(size_of(arguments, 1).saturating_add(1)).saturating_mul(pattern)
        })
        .help("what is wrong with a text, if anything is"),
    );
}
