//! A text in which words stand for its variables, so that it can be read as YAML.

use super::scan::{self, TextSpan};

/// A text without its variables.
#[derive(Debug, Clone)]
pub(in super::super) struct TextVariables {
    /// The text, with a word for each variable.
    pub(in super::super) text: String,
    /// What every word begins with; it is not in the text.
    mark: String,
    /// The variables, braces included.
    written: Vec<String>,
}

impl TextVariables {
    /// Puts words in the place of the variables of `text`.
    pub(in super::super) fn hide(text: &str) -> Self {
        let mut mark = "kwvar".to_owned();
        while text.contains(&mark) {
            mark.push('x');
        }
        let mut hidden = Self { text: String::with_capacity(text.len()), mark, written: Vec::new() };
        let mut at = 0;
        for span in scan::spans(text) {
            if let TextSpan::Variable(range) = span {
                hidden.text.push_str(text.get(at..range.start).unwrap_or_default());
                hidden.text.push_str(&format!("{}{}z", hidden.mark, hidden.written.len()));
                at = range.end;
                // In a quoted text, quotes of an expression are escaped.
                hidden.written.push(text.get(range).unwrap_or_default().replace("\\\"", "\""));
            }
        }
        hidden.text.push_str(text.get(at..).unwrap_or_default());
        hidden
    }

    /// Returns whether words are in `text`.
    pub(in super::super) fn has_any(&self, text: &str) -> bool {
        text.contains(&self.mark)
    }

    /// Returns `text` with the variables in the place of their words.
    pub(in super::super) fn show(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(self.mark.as_str()) {
            shown.push_str(before);
            let (number, behind) = behind.split_once('z').unwrap_or((behind, ""));
            let variable = number.parse().ok().and_then(|index: usize| self.written.get(index));
            shown.push_str(variable.map(String::as_str).unwrap_or_default());
            rest = behind;
        }
        shown.push_str(rest);
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_come_back_where_they_were() {
        let text = "- {op: add, value: {{ a }}, path: \"/x/{{ b.c }}\"} # kwvar";
        let hidden = TextVariables::hide(text);
        assert!(!hidden.text.contains("{{"), "{}", hidden.text);
        assert_eq!(hidden.show(&hidden.text), text);
    }

    #[test]
    fn quotes_in_a_quoted_variable_are_not_escaped() {
        let hidden = TextVariables::hide(r#"value: "{{ a.\"b/c\" }}""#);
        assert_eq!(hidden.show(&hidden.text), r#"value: "{{ a."b/c" }}""#);
    }
}
