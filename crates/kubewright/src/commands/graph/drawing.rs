//! The formats of pictures.

use kubewright_draw::{self as draw, Options, Picture};

use crate::output::Format;

/// What a picture can be written as.
#[derive(Debug)]
pub(crate) struct Drawing {
    name: &'static str,
    draw: fn(&Picture, &Options) -> String,
}

static DRAWINGS: [Drawing; 5] = [
    Drawing { name: "svg", draw: draw::svg },
    Drawing { name: "html", draw: draw::html },
    Drawing { name: "dot", draw: draw::dot },
    Drawing { name: "mermaid", draw: draw::mermaid },
    Drawing { name: "json", draw: |picture, _| draw::json(picture) },
];

impl Drawing {
    /// Returns the picture as text.
    pub(crate) fn draw(&self, picture: &Picture, options: Options) -> String {
        (self.draw)(picture, &options)
    }
}

impl Format for Drawing {
    fn all() -> &'static [Self] {
        &DRAWINGS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}
