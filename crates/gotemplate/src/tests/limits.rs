//! Nothing a template says may take memory, time or stack beyond the budget.

use kubewright_value::{Budget, Limits};

use super::*;

#[track_caller]
fn stops(text: &str) {
    let template = GoTemplate::parse("t", text, &FunctionSet::rules()).unwrap();
    let mut budget = Budget::new(Limits { steps: 200_000, bytes: 1 << 20, depth: 100 });
    let error = template.render(&context(), &Inputs::default(), &mut budget).unwrap_err();
    assert_eq!(error.kind, GoTemplateErrorKind::Limit, "{text}: {error}");
}

#[test]
fn text_that_multiplies_stops_before_it_is_made() {
    stops(r#"{{ repeat 1000000000 "abc" }}"#);
    stops(r#"{{ indent 1000000000 "abc" }}"#);
    stops(r#"{{ nindent 1000000000 "abc" }}"#);
    stops(r#"{{ printf "%999999d%999999d" 1 1 }}"#);
    stops(r#"{{ $s := repeat 1000 "a" }}{{ replace "a" $s $s | replace "a" $s }}"#);
    stops(r#"{{ $s := repeat 1000 "a" }}{{ regexReplaceAll "a" $s $s | regexReplaceAll "a" $s }}"#);
    stops(r#"{{ $s := repeat 1000 "a" }}{{ regexReplaceAll ".*" (repeat 500000 "b") "$0$0$0$0" }}"#);
    stops(r#"{{ $s := repeat 100000 "a" }}{{ wrapWith 1 $s $s }}"#);
    stops(
        r#"{{ $s := repeat 100000 "a" }}{{ $l := list $s $s $s $s $s $s $s $s $s $s $s }}{{ join "" $l }}"#,
    );
}

#[test]
fn lists_that_multiply_stop_before_they_are_made() {
    stops("{{ until 1000000000 }}");
    stops("{{ untilStep 0 1000000000 1 }}");
    stops("{{ seq 1 1000000000 }}");
    stops("{{ range 1000000000 }}{{ end }}");
    stops("{{ $l := list 1 }}{{ range 60 }}{{ $l = concat $l $l }}{{ end }}");
    stops("{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}");
    stops("{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l }}");
    stops("{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ $m := deepCopy $l }}");
    stops("{{ $l := list 1 }}{{ range 60 }}{{ $l = list $l $l }}{{ end }}{{ deepEqual $l $l }}");
}

#[test]
fn looking_at_long_text_costs_steps() {
    stops(r#"{{ $s := repeat 500000 "a" }}{{ range 1000 }}{{ if contains "b" $s }}{{ end }}{{ end }}"#);
    stops(r#"{{ range $i := 1000 }}{{ if regexMatch (printf "a{%d}" $i) "b" }}{{ end }}{{ end }}"#);
    stops(r#"{{ fromJson (repeat 500000 "1") }}"#);
    stops(
        r#"{{ $s := repeat 10000 ">1 || " }}{{ range 1000 }}{{ if semverCompare (print $s ">2") "0.1.0" }}{{ end }}{{ end }}"#,
    );
    let many = format!("{{{{ $x := 1 }}}}{}", "{{ $y := 2 }}".repeat(20_000));
    stops(&format!(
        "{many}{{{{ range 100 }}}}{{{{ $x }}}}{{{{ end }}}}{{{{ range 1000 }}}}{{{{ $x = 3 }}}}{{{{ end }}}}"
    ));
}

#[test]
fn endless_recursion_stops() {
    stops(r#"{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}"#);
    stops(r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}"#);
    stops(r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toJson $d }}"#);
    stops(r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $e := deepCopy $d }}"#);
    stops(
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $e := dict }}{{ $_ := set $e "d" $e }}{{ deepEqual $d $e }}"#,
    );
}

#[test]
fn the_default_depth_fits_the_stack_of_a_thread() {
    for text in [
        r#"{{ define "x" }}{{ if true }}{{ range list . }}{{ with $ }}{{ template "x" (list . | first) }}{{ end }}{{ end }}{{ end }}{{ end }}{{ template "x" . }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" (list $d) }}{{ $d }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" (list $d) }}{{ toPrettyJson $d }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $_ := mergeOverwrite $d $d }}"#,
    ] {
        assert_eq!(render(text).unwrap_err().kind, GoTemplateErrorKind::Limit, "{text}");
    }
}

#[test]
fn long_numbers_are_written_in_full() {
    check(
        r#"{{ printf "%.70000f" 1.5 | len }} {{ printf "%.70000e" 1.5 | len }} {{ printf "%.70000g" 1.5 }}"#,
        "70002 70006 1.5",
    );
    check(r#"{{ date (printf "5.%s" (repeat 70000 "0")) 0 | len }}"#, "70002");
    check(r#"{{ abbrevboth -9223372036854775808 9 "a long text" }}"#, "a long...");
}

#[test]
fn long_chains_of_dictionaries_are_dropped_without_recursion() {
    let text = r#"{{ $first := dict }}{{ $last := $first }}{{ range 2000 }}{{ $next := dict }}{{ $_ := set $last "n" $next }}{{ $last = $next }}{{ end }}ok"#;
    assert_eq!(render(text).unwrap(), "ok");
    let error = render("{{ $l := list }}{{ range 1000 }}{{ $l = list $l }}{{ end }}").unwrap_err();
    assert!(error.message.contains("nested deeper"), "{error}");
}

#[test]
fn nesting_in_the_text_is_bounded() {
    for text in [
        format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}{}", "{{ if true }}".repeat(100_000), "{{ end }}".repeat(100_000)),
        format!("{{{{ if 1 }}}}{}{{{{ end }}}}", "{{ else if 1 }}".repeat(100_000)),
        format!("{}{}", "{{ block \"b\" . }}".repeat(100_000), "{{ end }}".repeat(100_000)),
    ] {
        let error = render(&text).unwrap_err();
        assert!(error.message.contains("nested deeper"), "{error}");
    }
}

#[test]
fn a_limit_is_reported_where_it_was_reached() {
    let template = GoTemplate::parse("t", "a\n{{ repeat 9999999 \"ab\" }}", &FunctionSet::rules()).unwrap();
    let mut budget = Budget::new(Limits { bytes: 1000, ..Limits::default() });
    let error = template.render(&context(), &Inputs::default(), &mut budget).unwrap_err();
    assert_eq!((error.kind, error.position.line), (GoTemplateErrorKind::Limit, 2));
}
