use super::*;

/// Sets `texts` in `start` and compares what comes of it, both as JSON.
#[track_caller]
fn check(start: &str, texts: &[&str], want: &str) {
    let mut value = kubewright_value::json::parse(start).unwrap();
    for text in texts {
        let setting: RenderSetting = text.parse().unwrap();
        apply_settings(&mut value, setting.0.iter()).unwrap();
    }
    assert_eq!(value.to_string(), want);
}

#[track_caller]
fn refused(text: &str, want: &str) {
    assert_eq!(text.parse::<RenderSetting>().unwrap_err(), want);
}

#[test]
fn a_value_has_the_type_that_yaml_gives_it() {
    check("{}", &["parameters.a=1", "parameters.b=true", "parameters.c=1.5"], r#"{"a":1,"b":true,"c":1.5}"#);
    check("{}", &["parameters.a=text", "parameters.b='1'"], r#"{"a":"text","b":"1"}"#);
    check("{}", &["parameters.a=[x, {z: 1}]"], r#"{"a":["x",{"z":1}]}"#);
    check("{}", &["parameters.a={x,2}", "parameters.b={x: 1}"], r#"{"a":["x",2],"b":{"x":1}}"#);
    check("{}", &["parameters.a=", "parameters.b=a: b"], r#"{"a":"","b":"a: b"}"#);
    check(
        "{}",
        &["parameters.a=yes,parameters.b=0644,parameters.c=1.10"],
        r#"{"a":"yes","b":"0644","c":"1.10"}"#,
    );
    check("{}", &["parameters.a=#fff", "parameters.b=*x"], r##"{"a":"#fff","b":"*x"}"##);
}

#[test]
fn text_stays_text() {
    let setting = RenderSetting::text("parameters.a=1,parameters.b=true").unwrap();
    let mut value = Value::Null;
    apply_settings(&mut value, setting.0.iter()).unwrap();
    assert_eq!(value.to_string(), r#"{"a":"1","b":"true"}"#);
}

#[test]
fn a_path_has_keys_dots_in_keys_and_places_in_lists() {
    check("{}", &[r"metadata.labels.a\.b/c=x"], r#"{"labels":{"a.b/c":"x"}}"#);
    check(r#"{"a":[1]}"#, &["parameters.a[1].b=2"], r#"{"a":[1,{"b":2}]}"#);
    check("{}", &["parameters.a[0][1]=x"], r#"{"a":[[null,"x"]]}"#);
}

#[test]
fn null_takes_a_key_away() {
    check(r#"{"a":1,"b":2}"#, &["parameters.a=null"], r#"{"b":2}"#);
}

#[test]
fn a_comma_starts_another_setting_only_before_a_known_name() {
    check("{}", &["parameters.a=1,parameters.b=2"], r#"{"a":1,"b":2}"#);
    check("{}", &["parameters.a=x,y=z"], r#"{"a":"x,y=z"}"#);
}

#[test]
fn a_path_that_leads_nowhere_is_refused() {
    refused("paramters.a=1", "there is no `paramters` to set; did you mean `parameters`?");
    refused("parameters=1", "`parameters` is a map; name a key in it, as in `parameters.key=1`");
    refused("parameters.a", "expected PATH=VALUE, found `parameters.a`");
    refused("parameters..a=1", "`parameters..a` is not a path: a key in it is empty");
    refused("parameters.a[x]=1", "`parameters.a[x]` is not a path: `[x]` is not a list index");
    refused("parameters.a=[1", "`[1` is not YAML: found the end, expected `,` or `]`");
    let setting: RenderSetting = "parameters.a.b=1".parse().unwrap();
    let mut value = kubewright_value::json::parse(r#"{"a":"x"}"#).unwrap();
    let why = apply_settings(&mut value, setting.0.iter()).unwrap_err();
    assert_eq!(why, "cannot set `parameters.a.b`: `b` would be a key of a string");
}
