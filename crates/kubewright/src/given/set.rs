//! `--set NAME=VALUE[,NAME=VALUE]`.

use std::str::FromStr;

use kubewright_value::{Text, Value};

/// Variables with their values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting(pub(crate) Vec<(Text, Value)>);

impl FromStr for Setting {
    type Err = String;

    /// A comma starts another variable only where a name and `=` follow, so that values may have commas in them.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut pairs: Vec<(Text, String)> = Vec::new();
        for part in text.split(',') {
            match (part.split_once('='), pairs.last_mut()) {
                (Some((name, value)), _) if is_name(name.trim()) => {
                    pairs.push((name.trim().into(), value.trim().to_owned()));
                }
                (_, Some((_, value))) => {
                    value.push(',');
                    value.push_str(part);
                }
                _ => return Err(format!("expected NAME=VALUE, found `{part}`")),
            }
        }
        Ok(Self(pairs.into_iter().map(|(name, value)| (name, value.into())).collect()))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._-\"'[]/\\".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[(&str, &str)]) {
        let want = want.iter().map(|(name, value)| (Text::new(name), Value::from(*value))).collect();
        assert_eq!(text.parse(), Ok(Setting(want)), "{text}");
    }

    #[test]
    fn a_value_may_have_equals_signs_and_commas_in_it() {
        check("a=1,b.c=2", &[("a", "1"), ("b.c", "2")]);
        check("selector=app=web", &[("selector", "app=web")]);
        check("list=a,b, x=1", &[("list", "a,b"), ("x", "1")]);
    }

    #[test]
    fn a_text_without_a_name_is_refused() {
        assert!("a".parse::<Setting>().is_err());
        assert!("=a".parse::<Setting>().is_err());
    }
}
