//! The image: both Dockerfiles have the same labels and end in the same image; the bake file builds two platforms.

use super::{VERSION, read};

/// The instructions after the last FROM, without those that only say where the binary comes from.
fn last_stage(path: &str) -> Vec<String> {
    let text = read(path).replace("\\\n", " ");
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let start = lines.iter().rposition(|line| line.starts_with("FROM ")).expect("a stage");
    let sources = ["COPY", "ARG TARGET"];
    lines
        .iter()
        .skip(start)
        .filter(|line| !sources.iter().any(|word| line.starts_with(word)))
        .cloned()
        .collect()
}

#[test]
fn the_image_of_a_release_is_the_one_from_source() {
    assert_eq!(last_stage("packaging/release.Dockerfile"), last_stage("Dockerfile"));
}

#[test]
fn the_image_says_what_it_is() {
    let stage = last_stage("Dockerfile").join("\n");
    for label in ["title", "description", "source", "licenses", "version", "revision", "documentation", "url"]
    {
        assert!(stage.contains(&format!("org.opencontainers.image.{label}=\"")), "{label} is missing");
    }
    assert!(stage.contains("io.artifacthub.package.readme-url=\""));
    assert!(stage.contains(&format!("ARG VERSION={VERSION}")), "{stage}");
}

#[test]
fn the_bake_file_builds_both_platforms_of_this_version() {
    let bake = read("packaging/docker-bake.hcl");
    assert!(bake.contains("[\"linux/amd64\", \"linux/arm64\"]"));
    assert!(bake.contains(&format!("variable \"VERSION\" {{ default = \"{VERSION}\" }}")));
    assert!(bake.contains("dockerfile  = \"../../packaging/release.Dockerfile\""));
    assert_eq!(bake.matches('{').count(), bake.matches('}').count());
}
