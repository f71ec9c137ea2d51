//! Slash-separated paths, as Go's `path`. The `os` names do the same here.

use super::super::item::Item;
use super::arguments::text;
use super::{Function, Type, function};

pub(super) const TABLE: &[Function] = &[
    function("base", &[Type::Text], |_, a| Ok(Item::text(base(text(a, 0))))),
    function("osBase", &[Type::Text], |_, a| Ok(Item::text(base(text(a, 0))))),
    function("dir", &[Type::Text], |_, a| Ok(Item::text(dir(text(a, 0))))),
    function("osDir", &[Type::Text], |_, a| Ok(Item::text(dir(text(a, 0))))),
    function("clean", &[Type::Text], |_, a| Ok(Item::text(clean(text(a, 0))))),
    function("osClean", &[Type::Text], |_, a| Ok(Item::text(clean(text(a, 0))))),
    function("ext", &[Type::Text], |_, a| Ok(Item::text(ext(text(a, 0))))),
    function("osExt", &[Type::Text], |_, a| Ok(Item::text(ext(text(a, 0))))),
    function("isAbs", &[Type::Text], |_, a| Ok(Item::Bool(text(a, 0).starts_with('/')))),
    function("osIsAbs", &[Type::Text], |_, a| Ok(Item::Bool(text(a, 0).starts_with('/')))),
];

fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    match path.trim_end_matches('/').rsplit('/').next() {
        Some("") | None => "/",
        Some(last) => last,
    }
}

fn dir(path: &str) -> String {
    let end = path.rfind('/').map_or(0, |at| at + 1);
    clean(path.get(..end).unwrap_or_default())
}

fn ext(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.rfind('.').and_then(|at| last.get(at..)).unwrap_or_default()
}

fn clean(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&"..") | None if !is_rooted => parts.push(".."),
                None => {}
                Some(_) => {
                    parts.pop();
                }
            },
            part => parts.push(part),
        }
    }
    match (is_rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}
