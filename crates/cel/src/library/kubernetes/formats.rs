//! Named formats such as `dns1123Label`, which check a string.

mod names;

use std::any::Any;
use std::fmt;

use super::{CelLibrary, opaque_argument, text_argument};
use crate::cost::traversal_cost;
use crate::environment::MacroSet;
use crate::function::{CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, Opaque, Val};
use names::{
    check_base64, check_date, check_date_time, check_dns1035_label, check_dns1123_label,
    check_dns1123_subdomain, check_label_value, check_qualified_name, check_uri, check_uuid,
    complete_name_prefix,
};

/// The library of formats.
pub const FORMATS: CelLibrary =
    CelLibrary { name: "format", functions: add_format_functions, macros: MacroSet::NONE, types: &[] };

const FORMAT_TYPE_NAME: &str = "kubernetes.NamedFormat";

/// A named format: its check, and the length of the regular expression that its cost is computed from.
struct NameFormat {
    name: &'static str,
    pattern_size: u64,
    check: fn(&str) -> Vec<String>,
}

const FORMATS_BY_NAME: [NameFormat; 13] = [
    NameFormat { name: "dns1123Label", pattern_size: 30, check: check_dns1123_label },
    NameFormat { name: "dns1123Subdomain", pattern_size: 60, check: check_dns1123_subdomain },
    NameFormat { name: "dns1035Label", pattern_size: 30, check: check_dns1035_label },
    NameFormat { name: "qualifiedName", pattern_size: 60, check: check_qualified_name },
    NameFormat {
        name: "dns1123LabelPrefix",
        pattern_size: 30,
        check: |text| check_dns1123_label(&complete_name_prefix(text)),
    },
    NameFormat {
        name: "dns1123SubdomainPrefix",
        pattern_size: 60,
        check: |text| check_dns1123_subdomain(&complete_name_prefix(text)),
    },
    NameFormat {
        name: "dns1035LabelPrefix",
        pattern_size: 30,
        check: |text| check_dns1035_label(&complete_name_prefix(text)),
    },
    NameFormat { name: "labelValue", pattern_size: 40, check: check_label_value },
    NameFormat { name: "uri", pattern_size: 1103, check: check_uri },
    NameFormat { name: "uuid", pattern_size: 72, check: check_uuid },
    NameFormat { name: "byte", pattern_size: 84, check: check_base64 },
    NameFormat { name: "date", pattern_size: 72, check: check_date },
    NameFormat { name: "datetime", pattern_size: 72, check: check_date_time },
];

#[derive(Clone, Copy)]
struct NamedFormatVal(&'static NameFormat);

impl Opaque for NamedFormatVal {
    fn type_name(&self) -> &'static str {
        FORMAT_TYPE_NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref().is_some_and(|other: &Self| self.0.name == other.0.name)
    }
}

impl fmt::Debug for NamedFormatVal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "format.{}()", self.0.name)
    }
}

/// Adds a function for each format. A function pointer cannot capture the format.
macro_rules! constants {
    ($functions:ident: $($name:literal)*) => {$(
        $functions.add(
            CelOverload::function(concat!("format.", $name), &[], CelKind::Opaque(FORMAT_TYPE_NAME), |_, _| {
                Ok(find_named_format($name).map_or(Val::Null, Val::opaque))
            })
            .help(concat!("the format `", $name, "`")),
        );
    )*};
}

fn find_named_format(name: &str) -> Option<NamedFormatVal> {
    static FORMATS: &[NameFormat] = &FORMATS_BY_NAME;
    FORMATS.iter().find(|format| format.name == name).map(NamedFormatVal)
}

/// Returns whether `text` may be the name of a namespace.
pub(super) fn is_label_name(text: &str) -> bool {
    check_dns1123_label(text).is_empty()
}

/// Returns whether `text` may be the name of most objects.
pub(super) fn is_subdomain_name(text: &str) -> bool {
    check_dns1123_subdomain(text).is_empty()
}

fn add_format_functions(functions: &mut CelFunctions) {
    constants! { functions:
        "dns1123Label" "dns1123Subdomain" "dns1035Label" "qualifiedName" "dns1123LabelPrefix"
        "dns1123SubdomainPrefix" "dns1035LabelPrefix" "labelValue" "uri" "uuid" "byte" "date" "datetime"
    }
    functions.add(
        CelOverload::function("format.named", &[CelKind::String], CelKind::Optional, |arguments, _| {
            Ok(find_named_format(text_argument(arguments, 0)?)
                .map_or(Val::Optional(None), |found| Val::some(Val::opaque(found))))
        })
        .help("the format of that name, if there is one"),
    );
    functions.add(
        CelOverload::method(
            "validate",
            &[CelKind::Opaque(FORMAT_TYPE_NAME), CelKind::String],
            CelKind::Optional,
            |arguments, call| {
                let (format, text) =
                    (opaque_argument::<NamedFormatVal>(arguments, 0)?, text_argument(arguments, 1)?);
                call.work(text.len() / 16)?;
                let wrong = (format.0.check)(text);
                Ok(match wrong.is_empty() {
                    true => Val::Optional(None),
                    false => Val::some(Val::list(wrong.into_iter().map(Val::text).collect())),
                })
            },
        )
        .cost(|arguments, _| {
            let pattern = opaque_argument::<NamedFormatVal>(arguments, 0)
                .map_or(0, |format| format.0.pattern_size.div_ceil(4));
            traversal_cost(size_of(arguments, 1).saturating_add(1)).saturating_mul(pattern)
        })
        .help("what is wrong with a text, if anything is"),
    );
}
