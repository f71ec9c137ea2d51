//! Draws made-up clusters: `cargo run -p kubewright-draw --example draw -- DIRECTORY SIZE…`
#![expect(clippy::indexing_slicing, reason = "the made-up cluster is shared with the tests")]

use kubewright_draw::{self as draw, Badge, Class, LineStyle, Picture, PictureLine, PictureNode, Tone};
use std::time::Instant;

#[path = "../src/tests/cluster.rs"]
mod cluster;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = std::path::PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let sizes: Vec<usize> = arguments.filter_map(|size| size.parse().ok()).collect();
    let mut pictures = vec![("finding".to_owned(), cluster::finding())];
    pictures.extend(sizes.iter().map(|&size| (size.to_string(), cluster::cluster(size))));
    let options = draw::DrawOptions::default();
    for (name, picture) in pictures {
        let begin = Instant::now();
        let svg = draw::render_svg(&picture, &options);
        println!(
            "{name}: {} nodes, {} lines, svg {} bytes in {:?}",
            picture.nodes.len(),
            picture.lines.len(),
            svg.len(),
            begin.elapsed()
        );
        std::fs::write(directory.join(format!("{name}.svg")), svg)?;
        std::fs::write(directory.join(format!("{name}.html")), draw::render_html(&picture, &options))?;
        std::fs::write(directory.join(format!("{name}.dot")), draw::render_dot(&picture, &options))?;
        std::fs::write(directory.join(format!("{name}.mmd")), draw::render_mermaid(&picture, &options))?;
        std::fs::write(directory.join(format!("{name}.json")), draw::render_json(&picture))?;
    }
    Ok(())
}
