//! Sections of the Helm chart and of docs/operations.md that are generated from the flags that `install` and `serve` share.
//!
//! `make chart` writes them; a test fails if they are out of date.

use std::fmt::Write as _;

use crate::arguments::{FlagForm, SHARED_FLAGS};

/// Returns the template of the server's arguments.
pub(super) fn arguments_template() -> String {
    let mut text = String::from(
        "{{- /* Made from the flags that `install` and `serve` share: `make chart`. */ -}}\n\
         {{- define \"kubewright.flags\" }}\n",
    );
    for flag in &SHARED_FLAGS {
        let (name, value) = (flag.name, flag.chart_value);
        let (begin, argument) = match flag.form {
            FlagForm::Joined(_) => (
                format!("if .Values.{value}"),
                format!("{{{{ printf \"--{name}=%s\" (join \",\" .Values.{value}) | quote }}}}"),
            ),
            FlagForm::Repeated(_) => {
                (format!("range .Values.{value}"), format!("{{{{ printf \"--{name}=%s\" . | quote }}}}"))
            }
            FlagForm::Switch => (format!("if .Values.{value}"), format!("--{name}")),
        };
        let _ = write!(text, "{{{{- {begin} }}}}\n            - {argument}\n{{{{- end }}}}\n");
    }
    text.push_str("{{- end }}\n");
    text
}

#[cfg(test)]
pub(super) mod made {
    use std::fmt::Write as _;

    use kubewright_value::{Map, Value, json};

    use crate::arguments::{FlagForm, SHARED_FLAGS, check_languages};

    const BEGIN: &str =
        "# Flags of the server, from `kubewright serve --help` (this section is made by `make chart`).\n";
    const END: &str = "# End of the flags of the server.\n";

    /// Returns values.yaml with its section of shared flags generated from the table.
    pub(in super::super) fn values(now: &str) -> String {
        let (before, rest) = now.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let mut section = String::new();
        for flag in &SHARED_FLAGS {
            let default = match (flag.name, &flag.form) {
                ("dialects", _) => format!("[{}]", check_languages().join(", ")),
                (_, FlagForm::Switch) => "false".to_owned(),
                _ => "[]".to_owned(),
            };
            let _ =
                write!(section, "# --{}: {}.\n{}: {default}\n\n", flag.name, flag.purpose, flag.chart_value);
        }
        format!("{before}{BEGIN}{section}{END}{after}")
    }

    /// Returns values.schema.json with the shared flags as the table has them.
    pub(in super::super) fn schema(now: &str) -> String {
        let mut schema = json::parse(now).unwrap();
        let properties =
            schema.as_object_mut().and_then(|root| root.get_mut("properties")?.as_object_mut()).unwrap();
        for flag in &SHARED_FLAGS {
            let mut property = Map::default();
            property.insert("description".into(), flag.purpose.into());
            match &flag.form {
                FlagForm::Switch => {
                    property.insert("type".into(), "boolean".into());
                }
                FlagForm::Joined(item) | FlagForm::Repeated(item) => {
                    property.insert("type".into(), "array".into());
                    property.insert("items".into(), json::parse(&item()).unwrap());
                    property.insert("uniqueItems".into(), true.into());
                    if flag.name == "dialects" {
                        property.insert("minItems".into(), 1_i64.into());
                    }
                }
            }
            properties.insert(flag.chart_value.into(), Value::from(property));
        }
        format!("{}\n", json::to_pretty(&schema).trim_end())
    }

    /// Returns the page with a row for each shared flag as the table has it; a new one comes before `--cert-manager`.
    pub(in super::super) fn page(now: &str) -> String {
        let mut lines: Vec<String> = now.lines().map(str::to_owned).collect();
        for flag in &SHARED_FLAGS {
            let row =
                format!("| `--{}{}` | `{}` | {} |", flag.name, flag.example, flag.chart_value, flag.purpose);
            let starts = [format!("| `--{}`", flag.name), format!("| `--{} ", flag.name)];
            let is_row = |line: &String| starts.iter().any(|start| line.starts_with(start));
            match lines.iter().position(is_row) {
                Some(place) => lines[place] = row,
                None => {
                    let last = lines.iter().position(|line| line.starts_with("| `--cert-manager`")).unwrap();
                    lines.insert(last, row);
                }
            }
        }
        lines.join("\n") + "\n"
    }
}
