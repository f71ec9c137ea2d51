//! The items of a large list of objects, as `kubectl get -o yaml` writes it: cut apart before they are read, so that
//! all cores read a dump of a cluster and no document is too large.

use kubewright_value::yaml::StreamChunk;

use super::objects::ListOfObjects;

/// How large a list is that is worth cutting.
const LARGE: usize = 1 << 20;

/// Returns the list that `chunk` of `text` is and its items, each with its `- `; nothing if it is small, or anything
/// else than a list in block style with no fields but the usual ones.
pub(super) fn items(text: &str, chunk: &StreamChunk) -> Option<(ListOfObjects, Vec<StreamChunk>)> {
    let document = text.get(chunk.range.clone()).filter(|document| document.len() >= LARGE)?;
    // An anchor of one item may be meant by another.
    if [": &", "- &"].iter().any(|anchor| document.contains(anchor)) {
        return None;
    }
    let mut items: Vec<StreamChunk> = Vec::new();
    let (mut at, mut number) = (chunk.range.start, chunk.line);
    let mut frame = Frame::default();
    for line in document.split_inclusive('\n') {
        match frame.take(line)? {
            Place::Start => items.push(StreamChunk { range: at..at + line.len(), line: number }),
            Place::Inside => items.last_mut()?.range.end = at + line.len(),
            Place::Outside => {}
        }
        at += line.len();
        number = number.saturating_add(1);
    }
    let list = ListOfObjects::named(&frame.kind, &frame.api_version, true);
    (frame.is_list() && !items.is_empty()).then_some((list, items))
}

/// Where a line of the document is.
enum Place {
    /// Where an item starts.
    Start,
    /// Within an item.
    Inside,
    /// Before or after all items.
    Outside,
}

/// What is around the items, as far as it was seen.
#[derive(Default)]
struct Frame {
    kind: String,
    api_version: String,
    /// Whether the lines are those below `items`.
    is_open: bool,
    /// How far items are indented, once there was one.
    indent: Option<usize>,
}

impl Frame {
    /// Returns whether the kind is that of a list.
    fn is_list(&self) -> bool {
        self.kind.ends_with("List") && self.kind != "ResourceList"
    }

    /// Takes the next line; nothing if it cannot stand in such a list.
    fn take(&mut self, line: &str) -> Option<Place> {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let is_item = bare.starts_with("- ");
        let is_blank = bare.trim_end().is_empty() || bare.starts_with('#');
        if self.is_open {
            match self.indent {
                None if is_item => self.indent = Some(indent),
                None => return is_blank.then_some(Place::Outside),
                Some(_) => {}
            }
            let own = self.indent.unwrap_or(0);
            if indent == own && is_item {
                return Some(Place::Start);
            }
            if indent > own || is_blank {
                return Some(Place::Inside);
            }
            self.is_open = false;
        }
        if indent > 0 || is_blank {
            // Part of the list's metadata, which is not used.
            return Some(Place::Outside);
        }
        let (key, value) = bare.trim_end().split_once(':').unwrap_or((bare.trim_end(), ""));
        match (key, value.trim()) {
            ("items", "") if self.indent.is_none() => self.is_open = true,
            ("kind", kind) => kind.clone_into(&mut self.kind),
            ("apiVersion", version) => version.trim_matches(['"', '\'']).clone_into(&mut self.api_version),
            ("---" | "metadata", _) => {}
            _ => return None,
        }
        Some(Place::Outside)
    }
}

#[cfg(test)]
mod tests;
