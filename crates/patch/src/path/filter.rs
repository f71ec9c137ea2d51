//! Whether an item of a list is the one that a filter means.

use std::fmt::{self, Write as _};

use kubewright_value::{Text, Value};

/// Returns what `field` leads to in `item`.
pub(super) fn field_of<'v>(item: &'v Value, field: &[Text]) -> Option<&'v Value> {
    field.iter().try_fold(item, |here, key| here.get(key))
}

/// Returns whether `found`, written as text, is `wanted`. Null is the empty text; a list or an object never matches.
pub(super) fn is_text(found: &Value, wanted: &str) -> bool {
    match found {
        Value::Null => wanted.is_empty(),
        Value::Bool(found) => wanted == if *found { "true" } else { "false" },
        Value::String(found) => found == wanted,
        Value::Number(found) => {
            let mut rest = Rest(wanted);
            write!(rest, "{found}").is_ok() && rest.0.is_empty()
        }
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// The rest of a text that is compared with one being written; fails where they differ.
struct Rest<'t>(&'t str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, written: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(written).ok_or(fmt::Error)?;
        Ok(())
    }
}
