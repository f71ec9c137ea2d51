//! The formats of pictures.

use kubewright_draw::{self as draw, DrawOptions, Picture};

use crate::output::NamedFormat;

/// Formats of pictures.
#[derive(Debug)]
pub(crate) struct Drawing {
    name: &'static str,
    draw: fn(&Picture, &DrawOptions) -> String,
}

static DRAWINGS: [Drawing; 6] = [
    Drawing { name: "svg", draw: draw::render_svg },
    Drawing { name: "html", draw: draw::render_html },
    Drawing { name: "dot", draw: draw::render_dot },
    Drawing { name: "mermaid", draw: draw::render_mermaid },
    Drawing { name: "tree", draw: draw::render_tree },
    Drawing { name: "json", draw: |picture, _| draw::render_json(picture) },
];

impl Drawing {
    /// Returns the picture as text.
    pub(crate) fn draw(&self, picture: &Picture, options: DrawOptions) -> String {
        (self.draw)(picture, &options)
    }
}

impl NamedFormat for Drawing {
    fn all() -> &'static [Self] {
        &DRAWINGS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}
