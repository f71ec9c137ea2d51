//! Slash-separated paths, as Go's `path`. The `os` names do the same here.

use super::super::item::TemplateItem;
use super::arguments::text_argument;
use super::{ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("base", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(path_base(text_argument(a, 0))))
    }),
    fixed_function("osBase", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(path_base(text_argument(a, 0))))
    }),
    fixed_function("dir", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(path_dir(text_argument(a, 0))))
    }),
    fixed_function("osDir", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(path_dir(text_argument(a, 0))))
    }),
    fixed_function("clean", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(clean_path(text_argument(a, 0))))
    }),
    fixed_function("osClean", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(clean_path(text_argument(a, 0))))
    }),
    fixed_function("ext", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(path_ext(text_argument(a, 0))))
    }),
    fixed_function("osExt", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::text(path_ext(text_argument(a, 0))))
    }),
    fixed_function("isAbs", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::Bool(text_argument(a, 0).starts_with('/')))
    }),
    fixed_function("osIsAbs", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::Bool(text_argument(a, 0).starts_with('/')))
    }),
];

fn path_base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    match path.trim_end_matches('/').rsplit('/').next() {
        Some("") | None => "/",
        Some(last) => last,
    }
}

fn path_dir(path: &str) -> String {
    let end = path.rfind('/').map_or(0, |at| at + 1);
    clean_path(path.get(..end).unwrap_or_default())
}

fn path_ext(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.rfind('.').and_then(|at| last.get(at..)).unwrap_or_default()
}

fn clean_path(path: &str) -> String {
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
