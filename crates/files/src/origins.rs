//! What rendered text says about where it comes from: `# Source:` of Helm, and the annotation of kustomize.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_value::{LineOrigin, Source, SourceOrigins};
use memchr::memmem;

use crate::find::{is_chart, relative_path};

/// The comment that Helm writes before each document.
const HELM_COMMENT: &str = "# Source: ";

/// The annotation that kustomize writes if it is asked to.
const ORIGIN_ANNOTATION: &str = "config.kubernetes.io/origin:";

/// How many folders are searched for a chart.
const MAX_SEARCHED_FOLDERS: usize = 2000;

/// How deep folders are searched for a chart.
const MAX_CHART_DEPTH: usize = 4;

/// Returns `source` with the origins that its text names. `folder` is the chart or kustomization that it was rendered from.
pub(crate) fn with_written_origins(source: Arc<Source>, folder: Option<&Path>) -> Arc<Source> {
    let origins = written_origins(&source.text, folder, &|_| true);
    if origins.is_empty() { source } else { source.made_from(origins) }
}

/// Returns a file with the origins that its text names, as far as they are there. A rendered file whose templates are
/// elsewhere is the best place there is.
pub(crate) fn with_existing_origins(source: Arc<Source>) -> Arc<Source> {
    let origins = written_origins(&source.text, None, &|file| Path::new(file).is_file());
    if origins.is_empty() { source } else { source.made_from(origins) }
}

/// Returns the origins that `text` names, as far as they are wanted: a file for each document, without lines.
fn written_origins(text: &str, folder: Option<&Path>, is_wanted: &dyn Fn(&str) -> bool) -> SourceOrigins {
    let mut origins = SourceOrigins::default();
    // Most files name none, and may be large.
    let mentions = |what: &str| memmem::find(text.as_bytes(), what.as_bytes()).is_some();
    if !mentions(HELM_COMMENT) && !mentions(ORIGIN_ANNOTATION) {
        return origins;
    }
    let mut charts = ChartFolders { folder, found: Vec::new() };
    for (first, lines) in documents(text) {
        let file = lines.iter().enumerate().find_map(|(at, line)| {
            if let Some(path) = line.strip_prefix(HELM_COMMENT) {
                return Some(charts.file(path.trim()));
            }
            let rest = line.trim_start().strip_prefix(ORIGIN_ANNOTATION)?;
            annotated_path(rest, lines.get(at + 1..)?)
                .map(|path| relative_path(folder.unwrap_or(Path::new("")), &path))
        });
        let file = file.filter(|file| is_wanted(file));
        let origin = file.map(|file| LineOrigin::new(Source::new(file, ""), 0));
        origins.add(first, origin);
    }
    origins
}

/// Returns the origins of the documents of `text` that `annotated` names, which has the same documents in the same order with
/// annotations; nothing where they are not the same.
pub(crate) fn origins_beside(text: &str, annotated: &str) -> SourceOrigins {
    let mut origins = SourceOrigins::default();
    let (own, others) = (documents(text), documents(annotated));
    let heads = |lines: &[&str]| -> Vec<String> {
        let is_head =
            |line: &&&str| ["kind:", "  name:", "  namespace:"].iter().any(|key| line.starts_with(key));
        lines.iter().filter(is_head).map(|line| (*line).to_owned()).collect()
    };
    let is_same = own.len() == others.len()
        && own.iter().zip(&others).all(|((_, own), (_, other))| heads(own) == heads(other));
    for ((first, _), (_, lines)) in own.iter().zip(&others).filter(|_| is_same) {
        let file = lines.iter().enumerate().find_map(|(at, line)| {
            let rest = line.trim_start().strip_prefix(ORIGIN_ANNOTATION)?;
            annotated_path(rest, lines.get(at + 1..)?)
        });
        let file = file.map(|file| path_from_here(&relative_path(Path::new(""), &file)));
        origins.add(*first, file.map(|file| LineOrigin::new(Source::new(file, ""), 0)));
    }
    origins
}

/// Returns a path from the root of the file system as a path from the working directory.
fn path_from_here(path: &str) -> String {
    let working = std::env::current_dir().ok().and_then(|folder| fs::canonicalize(folder).ok());
    let Some(working) = working.filter(|_| Path::new(path).is_absolute()) else { return path.to_owned() };
    let shared =
        working.components().zip(Path::new(path).components()).take_while(|(one, other)| one == other);
    let shared = shared.count();
    let up = working.components().skip(shared).map(|_| Path::new("..").to_owned());
    let below: PathBuf = Path::new(path).components().skip(shared).collect();
    up.chain([below]).collect::<PathBuf>().to_string_lossy().into_owned()
}

/// Returns the name of the chart that Helm rendered `text` from.
pub(crate) fn written_chart(text: &str) -> Option<&str> {
    let path = text.lines().find_map(|line| line.strip_prefix(HELM_COMMENT))?;
    path.split_once('/').map(|(chart, _)| chart)
}

/// Returns the documents of a stream: the number of the first line, and the lines.
fn documents(text: &str) -> Vec<(u32, Vec<&str>)> {
    let mut all: Vec<(u32, Vec<&str>)> = vec![(1, Vec::new())];
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("---") {
            all.push((number, Vec::new()));
        }
        if let Some((_, lines)) = all.last_mut() {
            lines.push(line);
        }
    }
    all
}

/// Returns the path in the annotation, whose value is a block scalar or one line.
fn annotated_path(rest: &str, below: &[&str]) -> Option<String> {
    let block = below.iter().take(8).map(|line| line.trim());
    let inline = rest.trim().trim_matches(['"', '\'']).split("\\n").map(str::trim);
    let mut lines = inline.chain(block.take_while(|line| !line.starts_with("config.kubernetes.io/")));
    let path = |line: &str| {
        let path = line.strip_prefix("path: ").or_else(|| line.strip_prefix("configuredIn: "));
        path.map(|path| path.trim().to_owned())
    };
    lines.find_map(path)
}

/// Finds the files of templates, which Helm names after the chart.
struct ChartFolders<'f> {
    folder: Option<&'f Path>,
    found: Vec<(String, Option<PathBuf>)>,
}

impl ChartFolders<'_> {
    /// Returns the file that Helm calls `path`, such as `shop/templates/web.yaml`.
    fn file(&mut self, path: &str) -> String {
        let Some((chart, rest)) = path.split_once('/') else { return path.to_owned() };
        if let Some(folder) = self.folder {
            return relative_path(folder, rest);
        }
        if Path::new(path).exists() {
            return path.to_owned();
        }
        let known = self.found.iter().find(|(name, _)| name == chart).map(|(_, folder)| folder.clone());
        let folder = known.unwrap_or_else(|| {
            let folder = find_chart(chart);
            self.found.push((chart.to_owned(), folder.clone()));
            folder
        });
        match folder.map(|folder| relative_path(&folder, rest)) {
            Some(file) if Path::new(&file).exists() => file,
            _ => path.to_owned(),
        }
    }
}

/// Returns the folder of the chart called `name`, here or below.
pub(crate) fn find_chart(name: &str) -> Option<PathBuf> {
    let mut waiting = vec![(PathBuf::new(), 0)];
    for _ in 0..MAX_SEARCHED_FOLDERS {
        if waiting.is_empty() {
            break;
        }
        let (folder, depth) = waiting.remove(0);
        if is_chart(&folder) && is_chart_called(&folder, name) {
            return Some(folder);
        }
        let place = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let Ok(entries) = fs::read_dir(place) else { continue };
        let mut below: Vec<_> = entries.flatten().filter(|_| depth < MAX_CHART_DEPTH).collect();
        below.sort_by_key(fs::DirEntry::file_name);
        waiting.extend(
            below.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).filter_map(
                |entry| {
                    let name = entry.file_name();
                    let is_hidden = name.to_string_lossy().starts_with('.');
                    (!is_hidden).then(|| (folder.join(name), depth + 1))
                },
            ),
        );
    }
    None
}

fn is_chart_called(folder: &Path, name: &str) -> bool {
    let text = fs::read_to_string(folder.join("Chart.yaml")).unwrap_or_default();
    text.lines().any(|line| {
        line.strip_prefix("name:").is_some_and(|rest| rest.trim().trim_matches(['"', '\'']) == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the file that each line of `text` is made from.
    fn files(text: &str, folder: Option<&str>) -> Vec<String> {
        let source = with_written_origins(Source::new("-", text), folder.map(Path::new));
        let name = |line| source.origin(line).map_or_else(String::new, |origin| origin.source.name.clone());
        (1..).zip(text.lines()).map(|(line, _)| name(line)).collect()
    }

    #[test]
    fn helm_names_the_template_of_each_document() {
        let text = "---\n# Source: shop/templates/a.yaml\nkind: A\n---\nkind: B\n";
        let template = "charts/shop/templates/a.yaml";
        assert_eq!(files(text, Some("charts/shop")), [template, template, template, "", ""]);
        assert_eq!(files(text, None).first().map(String::as_str), Some("shop/templates/a.yaml"));
    }

    #[test]
    fn a_second_build_names_the_files_of_the_first() {
        let plain = "kind: A\nmetadata:\n  name: a\n---\nkind: B\nmetadata:\n  name: b\n";
        let annotated = "kind: A\nmetadata:\n  annotations:\n    config.kubernetes.io/origin: |\n      path: base/a.yaml\n  name: a\n---\nkind: B\nmetadata:\n  annotations:\n    config.kubernetes.io/origin: |\n      configuredIn: base/kustomization.yaml\n  name: b\n";
        let source = Source::new("-", plain).made_from(origins_beside(plain, annotated));
        let name = |line| source.origin(line).map(|origin| origin.source.name.clone());
        assert_eq!(name(3).as_deref(), Some("base/a.yaml"));
        assert_eq!(name(5).as_deref(), Some("base/kustomization.yaml"));
        assert!(origins_beside(plain, &annotated.replace("name: b", "name: c")).is_empty());
        let here = std::env::current_dir().expect("a folder");
        assert_eq!(path_from_here(&here.join("a/b.yaml").to_string_lossy()), "a/b.yaml");
        let outside = here.with_file_name("other").join("b.yaml");
        assert_eq!(path_from_here(&outside.to_string_lossy()), "../other/b.yaml");
    }

    #[test]
    fn kustomize_names_the_file_of_each_object() {
        let text = "kind: A\nmetadata:\n  annotations:\n    config.kubernetes.io/origin: |\n      path: ../base/a.yaml\n";
        assert_eq!(
            files(text, Some("overlays/prod")).first().map(String::as_str),
            Some("overlays/base/a.yaml")
        );
        let quoted = "kind: A\nmetadata: {}\n# x\n    config.kubernetes.io/origin: \"path: b.yaml\\n\"\n";
        assert_eq!(files(quoted, None).first().map(String::as_str), Some("b.yaml"));
    }
}
