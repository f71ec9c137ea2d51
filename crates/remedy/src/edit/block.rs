//! Fields and items that have lines of their own.

use kubewright_value::{Map, Step, Text, Value, yaml};

use super::{Editing, flow};

impl Editing<'_> {
    /// Replaces the value at `path`.
    pub(super) fn replace(&self, path: &[Step], value: &Value) -> Option<String> {
        let old = self.document.value.follow(path)?;
        let is_block = matches!(value, Value::Object(map) if !map.is_empty())
            || matches!(value, Value::Array(items) if !items.is_empty());
        let (_, parents) = path.split_last()?;
        let is_in_flow =
            (0..path.len()).any(|count| path.get(..count).is_some_and(|path| self.is_flow(path)));
        let start = self.lines.offset(self.document.locate(path).position)?;
        let is_plain = !old.is_null() && !matches!(old, Value::Object(_) | Value::Array(_));
        if is_in_flow || (is_plain && !is_block) || (self.is_flow(path) && !is_block) {
            let length = flow::one_line_length(self.lines.rest(start), is_in_flow)?;
            let new = flow::value_text(value, self.is_json());
            return self.lines.spliced(start..start + length, &new);
        }
        if !matches!(path.last(), Some(Step::Key(_))) {
            return None;
        }
        let column = self.key_column(parents)?;
        let position = self.document.locate_key(path).position;
        let key_start = self.lines.offset(position)?;
        let key_length = self.lines.rest(key_start).find(':')? + 1;
        let line_end = self.lines.start(position.line + 1);
        let head = self.lines.rest(key_start + key_length);
        let line_rest = head.lines().next().unwrap_or_default();
        let comment = line_rest.find(" #").and_then(|at| line_rest.get(at..)).unwrap_or_default();
        let end = if old.is_null() || self.is_flow(path) {
            line_end
        } else {
            self.lines.start(self.lines.block_end(position.line, column, false) + 1)
        };
        let new = if is_block {
            let deeper = if matches!(value, Value::Array(_)) { column } else { column + 2 };
            format!("{comment}\n{}", block_text(value, deeper))
        } else {
            format!(" {}{comment}\n", flow::value_text(value, self.is_json()))
        };
        self.lines.spliced(key_start + key_length..end, &new)
    }

    /// Adds a key to the object at `path`, which has lines of its own.
    pub(super) fn add_key(&self, path: &[Step], map: &Map, (key, value): (&Text, &Value)) -> Option<String> {
        let column = self.key_column(path)?;
        let (last, _) = map.iter().next_back()?;
        let last_path = [path, &[Step::Key(last.clone())]].concat();
        let line = self.document.locate_key(&last_path).position.line;
        let end = self.lines.block_end(line, column, false);
        let mut entry = Map::new();
        entry.insert(key.clone(), value.clone());
        self.lines.with_lines(end + 1, &block_text(&entry.into(), column))
    }

    /// Adds an item to the list at `path`, which has lines of its own.
    pub(super) fn add_item(&self, path: &[Step], count: usize, value: &Value) -> Option<String> {
        let last = [path, &[Step::Index(count.checked_sub(1)?)]].concat();
        let (line, column) = self.dash(&last)?;
        let end = self.lines.block_end(line, column, true);
        self.lines.with_lines(end + 1, &block_text(&Value::array(vec![value.clone()]), column))
    }

    /// Removes the field or item at `path`.
    pub(super) fn remove(&self, path: &[Step]) -> Option<String> {
        let (last, parent) = path.split_last()?;
        if (0..path.len()).any(|count| path.get(..count).is_some_and(|path| self.is_flow(path))) {
            return self.remove_from_flow(path);
        }
        match (last, self.document.value.follow(parent)?) {
            (Step::Key(_), Value::Object(map)) if map.len() == 1 => self.replace(parent, &Map::new().into()),
            (Step::Index(_), Value::Array(items)) if items.len() == 1 => {
                self.replace(parent, &Value::array(Vec::new()))
            }
            (Step::Index(_), Value::Array(_)) => {
                let (line, column) = self.dash(path)?;
                let end = self.lines.block_end(line, column, true);
                self.lines.spliced(self.lines.start(line)..self.lines.start(end + 1), "")
            }
            (Step::Key(key), Value::Object(map)) => self.remove_key(path, map, key),
            _ => None,
        }
    }

    fn remove_key(&self, path: &[Step], map: &Map, key: &Text) -> Option<String> {
        let parent = path.split_last()?.1;
        let column = self.key_column(parent)?;
        let position = self.document.locate_key(path).position;
        let line = self.lines.line(position.line)?;
        let start = self.lines.offset(position)?;
        let end = self.lines.start(self.lines.block_end(position.line, column, false) + 1);
        let before = line.get(..start - self.lines.start(position.line))?;
        if before.trim().is_empty() {
            return self.lines.spliced(self.lines.start(position.line)..end, "");
        }
        // The first field of an item shares its line with the dash, so the next one moves up.
        let (next, _) = map.entry(map.position(key)? + 1)?;
        let next = [parent, &[Step::Key(next.clone())]].concat();
        let next = self.lines.offset(self.document.locate_key(&next).position)?;
        self.lines.spliced(start..next, "")
    }

    /// Returns how many characters are before the keys of the object at `path`.
    fn key_column(&self, path: &[Step]) -> Option<usize> {
        let (first, _) = self.document.value.follow(path)?.as_object()?.iter().next()?;
        let position = self.document.locate_key(&[path, &[Step::Key(first.clone())]].concat()).position;
        usize::try_from(position.column).ok()?.checked_sub(1)
    }

    /// Returns the line of an item, and how many characters are before its dash.
    fn dash(&self, path: &[Step]) -> Option<(u32, usize)> {
        let position = self.document.locate(path).position;
        let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
        let before = self.lines.line(position.line)?.get(..column)?;
        before.rfind('-').map(|at| (position.line, at))
    }
}

/// Returns `value` in lines of its own, each after `column` spaces.
fn block_text(value: &Value, column: usize) -> String {
    let indent = " ".repeat(column);
    yaml::write(value).lines().map(|line| format!("{indent}{line}\n")).collect()
}
