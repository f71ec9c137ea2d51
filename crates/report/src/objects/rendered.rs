//! Where something is in a text that a program rendered, such as Helm.

use std::fmt;

use kubewright_value::{Document, Map, Step, Value, ValueOrigin};

/// A line of a rendered text, and the value that it shows, if that is known.
#[derive(Debug, Clone)]
pub struct RenderedPlace {
    /// The line in the rendered text.
    pub line: u32,
    /// The value of the chart that the line shows.
    pub value: Option<ValueOrigin>,
}

impl RenderedPlace {
    /// Returns the place of the value at `path`; nothing for a document that was read as it was written.
    #[must_use]
    pub fn of(document: &Document, path: &[Step]) -> Option<Self> {
        let (line, origin) = document.origin(path)?;
        Some(Self { line, value: origin.value.clone() })
    }

    /// Adds the place to the fields of an outcome.
    pub(crate) fn write_to(&self, outcome: &mut Map) {
        outcome.insert("renderedLine".into(), u64::from(self.line).into());
        if let Some(value) = &self.value {
            let place = Map::from([
                ("file", Value::from(value.file.as_str())),
                ("line", u64::from(value.line).into()),
                ("path", value.path.as_str().into()),
            ]);
            outcome.insert("value".into(), place.into());
        }
    }
}

impl fmt::Display for RenderedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rendered line {}", self.line)?;
        match &self.value {
            Some(ValueOrigin { file, line: 0, path }) => write!(f, ", value `{path}` of {file}"),
            Some(ValueOrigin { file, line, path }) => write!(f, ", value `{path}` at {file}:{line}"),
            None => Ok(()),
        }
    }
}
