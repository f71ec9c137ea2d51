//! Facts about a template that are known without rendering it.

use super::*;

fn parsed(text: &str) -> GoTemplate {
    GoTemplate::parse("t", text, &FunctionSet::rules().allow("now")).unwrap()
}

#[track_caller]
fn reads(text: &str, path: &[&str], want: bool) {
    assert_eq!(parsed(text).root_reads().may_read(path), want, "{text}");
}

#[test]
fn a_template_reads_the_paths_it_names() {
    let refs = ["Target", "syntheticRefs"];
    reads("{{ .Target.metadata.name }}", &refs, false);
    reads("plain", &refs, false);
    reads("{{ .Target.syntheticRefs.node }}", &refs, true);
    reads("{{ $.Target.metadata.name }}{{ $.Namespace }}", &refs, false);
    reads("{{ if .Target.spec.t }}{{ .Target.syntheticRefs }}{{ end }}", &refs, true);
    reads("{{ with .Target.metadata }}{{ .name }}{{ $.Namespace }}{{ end }}", &refs, false);
    reads("{{ (index .Target.spec.containers 0).name }}", &refs, false);
}

#[test]
fn a_whole_value_counts_as_all_that_is_below_it() {
    let refs = ["Target", "syntheticRefs"];
    reads("{{ . }}", &refs, true);
    reads("{{ $ }}", &refs, true);
    reads("{{ toJson . }}", &refs, true);
    reads("{{ .Target }}", &refs, true);
    reads("{{ index .Target \"syntheticRefs\" }}", &refs, true);
    reads("{{ with .Target }}{{ .syntheticRefs }}{{ end }}", &refs, true);
    reads("{{ $t := .Target }}{{ $t.syntheticRefs }}", &refs, true);
    reads("{{ $r := . }}{{ $r.Target.syntheticRefs }}", &refs, true);
    reads("{{ define \"x\" }}{{ .Target.syntheticRefs }}{{ end }}{{ template \"x\" . }}", &refs, true);
    reads("{{ range .Target.spec.list }}{{ $.Target.syntheticRefs }}{{ end }}", &refs, true);
    reads("{{ range .Target.spec.list }}{{ . }}{{ end }}", &refs, false);
    reads("{{ range .Target.spec.list }}x{{ else }}{{ . }}{{ end }}", &refs, true);
    reads("{{ .Target.metadata | default .SelectedItem }}", &refs, false);
}

#[test]
fn text_without_actions_is_literal() {
    assert_eq!(parsed("plain }} text").literal(), Some("plain }} text"));
    assert_eq!(parsed("").literal(), Some(""));
    assert_eq!(parsed("a{{/* nothing */}}x").literal(), Some("ax"));
    assert_eq!(parsed("{{ \"x\" }}").literal(), None);
}

#[test]
fn allowed_functions_that_are_used_are_named() {
    assert_eq!(parsed("{{ now.Year }}{{ upper \"x\" }}").unrepeatable().collect::<Vec<_>>(), ["now"]);
    assert_eq!(parsed("{{ upper \"x\" }}").unrepeatable().count(), 0);
}

#[test]
fn templates_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&parsed("{{ regexMatch \"a\" .Namespace }}"));
}
