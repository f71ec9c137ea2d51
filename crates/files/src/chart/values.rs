//! The values of a chart: its own, those of files, and single ones, merged as Helm merges them.

use std::path::Path;

use kubewright_value::{Document, Map, Source, Step, Text, Value, ValueOrigin, yaml};

use super::{path_text, read_chart_file};
use crate::rendered::RenderOptions;

/// What single values are called in place of a file.
const SET_SOURCE: &str = "--helm-set";

/// Values with the places where they were written.
#[derive(Debug)]
pub(super) struct ChartValues {
    /// All of them.
    pub(super) merged: Value,
    /// The files, the most important first, each with the names of the charts that its values are for.
    documents: Vec<(Vec<String>, Document)>,
    /// The paths of single values.
    set: Vec<Vec<String>>,
}

impl ChartValues {
    /// Reads the values of the chart in `folder`.
    ///
    /// # Errors
    /// When they cannot be read, in words.
    pub(super) fn read(folder: &Path, options: &RenderOptions) -> Result<Self, String> {
        let mut merged = Value::from(Map::new());
        let mut documents = Vec::new();
        let own = folder.join("values.yaml");
        let own = own.is_file().then_some(own);
        for path in own.into_iter().chain(options.helm_values.iter().map(Into::into)) {
            if let Some(document) = read_values(&path)? {
                merge_values(&mut merged, &document.value);
                documents.insert(0, (Vec::new(), document));
            }
        }
        let mut set = Vec::new();
        for text in &options.helm_set {
            for (path, value) in parse_settings(text)? {
                let steps: Vec<&str> = path.iter().map(String::as_str).collect();
                set_value(&mut merged, &steps, value);
                set.push(path);
            }
        }
        find_subchart_documents(folder, &[], &mut documents)?;
        Ok(Self { merged, documents, set })
    }

    /// Returns where the value at `path` was written that a template of the charts `scope` reads, or the nearest value
    /// around it.
    pub(super) fn origin(&self, scope: &[String], path: &[String]) -> Option<ValueOrigin> {
        let full: Vec<String> = scope.iter().chain(path).cloned().collect();
        let shown = full.join(".");
        if self.set.iter().any(|set| full.starts_with(set)) {
            return Some(ValueOrigin { file: SET_SOURCE.to_owned(), line: 0, path: shown });
        }
        for length in (1..=full.len()).rev() {
            for (owner, document) in &self.documents {
                let Some(steps) = full.get(..length).and_then(|part| part.strip_prefix(owner.as_slice()))
                else {
                    continue;
                };
                let steps = value_steps(steps);
                if !steps.is_empty() && document.value.follow(&steps).is_some() {
                    let line = document.locate_key(&steps).position.line;
                    let shown = full.get(..length).unwrap_or_default().join(".");
                    return Some(ValueOrigin { file: document.source.name.clone(), line, path: shown });
                }
            }
        }
        None
    }
}

/// Returns a path as steps; numbers lead into lists.
fn value_steps(path: &[String]) -> Vec<Step> {
    path.iter()
        .map(|step| match step.parse::<usize>() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(Text::new(step)),
        })
        .collect()
}

fn read_values(path: &Path) -> Result<Option<Document>, String> {
    let source = Source::new(path_text(path), read_chart_file(path)?);
    let read = yaml::read(&source);
    match read.problems.first() {
        Some(problem) if read.documents.is_empty() => Err(problem.message.clone()),
        _ => Ok(read.documents.into_iter().next().filter(|document| document.value.as_object().is_some())),
    }
}

/// Adds the values files of the charts below `folder`.
fn find_subchart_documents(
    folder: &Path,
    scope: &[String],
    documents: &mut Vec<(Vec<String>, Document)>,
) -> Result<(), String> {
    if scope.len() > super::MAX_SUBCHARTS {
        return Ok(());
    }
    let entries = std::fs::read_dir(folder.join("charts")).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path().join("Chart.yaml").is_file()) {
        let mut inner = scope.to_vec();
        inner.push(entry.file_name().to_string_lossy().into_owned());
        let values = entry.path().join("values.yaml");
        if values.is_file()
            && let Some(document) = read_values(&values)?
        {
            documents.push((inner.clone(), document));
        }
        find_subchart_documents(&entry.path(), &inner, documents)?;
    }
    Ok(())
}

/// Returns the values of the chart `name` in `folder`, which is below a chart with `outer` values.
///
/// # Errors
/// When its own cannot be read, in words.
pub(super) fn subchart_values(folder: &Path, name: &str, outer: &Value) -> Result<Value, String> {
    let mut values = Value::from(Map::new());
    let own = folder.join("values.yaml");
    if own.is_file()
        && let Some(document) = read_values(&own)?
    {
        values = document.value;
    }
    if let Some(given) = outer.get(name) {
        merge_values(&mut values, given);
    }
    let global = outer.get("global").cloned().unwrap_or_else(|| Map::new().into());
    merge_values(&mut values, &Map::from([("global", global)]).into());
    Ok(values)
}

/// Returns whether one of the paths in `condition` is not false; the first that is there counts.
pub(super) fn condition_holds(condition: &str, values: &Value) -> bool {
    let paths = condition.split(',').map(str::trim).filter(|path| !path.is_empty());
    let mut found = paths.filter_map(|path| {
        let steps: Vec<&str> = path.split('.').collect();
        values.at(&steps).and_then(Value::as_bool)
    });
    found.next().unwrap_or(true)
}

/// Puts `over` over `values`. Null removes a value.
fn merge_values(values: &mut Value, over: &Value) {
    let (Some(map), Some(more)) = (values.as_object_mut(), over.as_object()) else {
        *values = over.clone();
        return;
    };
    for (key, value) in more.iter() {
        match map.get_mut(key) {
            _ if value.is_null() => drop(map.remove(key)),
            Some(own) if own.as_object().is_some() && value.as_object().is_some() => merge_values(own, value),
            _ => drop(map.insert(key.clone(), value.clone())),
        }
    }
}

/// Reads `a.b=c,d=e`.
fn parse_settings(text: &str) -> Result<Vec<(Vec<String>, Value)>, String> {
    let mut settings = Vec::new();
    for part in split_unescaped(text, ',') {
        let (path, value) = part.split_once('=').ok_or_else(|| format!("`{part}` has no value"))?;
        if path.contains(['[', '{']) {
            return Err(format!("`{path}` leads into a list"));
        }
        let path = split_unescaped(path, '.').iter().map(|step| step.replace('\\', "")).collect();
        settings.push((path, setting_value(value)));
    }
    Ok(settings)
}

/// Splits at a character that is neither escaped nor in braces.
fn split_unescaped(text: &str, at: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut is_escaped, mut depth) = (false, 0usize);
    for character in text.chars() {
        match character {
            '{' if !is_escaped => depth += 1,
            '}' if !is_escaped => depth = depth.saturating_sub(1),
            _ => {}
        }
        if character == at && !is_escaped && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(character);
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    parts
}

/// Returns the value that Helm reads: numbers, booleans, null, lists in braces, and texts.
fn setting_value(text: &str) -> Value {
    if let Some(items) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        return Value::array(split_unescaped(items, ',').iter().map(|item| setting_value(item)).collect());
    }
    match text {
        "true" => true.into(),
        "false" => false.into(),
        "null" => Value::Null,
        number if number == "0" || (!number.starts_with('0') && number.parse::<i64>().is_ok()) => {
            number.parse::<i64>().unwrap_or_default().into()
        }
        text => text.replace('\\', "").into(),
    }
}

fn set_value(values: &mut Value, path: &[&str], value: Value) {
    let [first, rest @ ..] = path else { return };
    if values.as_object().is_none() {
        *values = Map::new().into();
    }
    let Some(map) = values.as_object_mut() else { return };
    if rest.is_empty() {
        if value.is_null() {
            map.remove(first);
        } else {
            map.insert((*first).into(), value);
        }
        return;
    }
    if map.get(first).is_none() {
        map.insert((*first).into(), Map::new().into());
    }
    if let Some(inner) = map.get_mut(first) {
        set_value(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_values_are_read_as_helm_reads_them() {
        let mut values = yaml::parse("image: {tag: a, pull: x}\nold: 1\n").expect("values");
        for (path, value) in
            parse_settings("image.tag=1.2,count=3,flag=true,list={a,b},old=null,a\\.b=c").expect("settings")
        {
            let steps: Vec<&str> = path.iter().map(String::as_str).collect();
            set_value(&mut values, &steps, value);
        }
        let want = yaml::parse("{image: {tag: '1.2', pull: x}, count: 3, flag: true, list: [a, b], a.b: c}");
        assert_eq!(Ok(values), want);
        assert!(parse_settings("a[0]=b").is_err());
    }

    #[test]
    fn files_are_merged_and_null_removes() {
        let mut values = yaml::parse("{a: {b: 1, c: 2}, d: [1]}").expect("values");
        merge_values(&mut values, &yaml::parse("{a: {c: null, e: 3}, d: [2]}").expect("values"));
        assert_eq!(Ok(values), yaml::parse("{a: {b: 1, e: 3}, d: [2]}"));
        let values = yaml::parse("{redis: {enabled: false}}").expect("values");
        assert!(!condition_holds("redis.enabled", &values));
        assert!(condition_holds("none.there", &values) && condition_holds("", &values));
    }
}
