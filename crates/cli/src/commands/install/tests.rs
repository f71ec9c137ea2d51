//! What the manifests promise, and that the Helm chart has the same parts.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_value::{Source, Value, json, yaml};

use super::{ReportApi, chart, chart_values, flags, languages, report_crds, split_image};
use crate::arguments::{self, CliCommand, CommandLine, InstallArguments, SHARED_FLAGS, described_program};
use clap::Parser as _;

/// The objects that `kubewright install FLAGS` prints, besides the definitions.
fn objects(flags: &str) -> Vec<Value> {
    let arguments = install(flags);
    let names: Vec<String> = match arguments.flags.dialects.as_slice() {
        [] => arguments::check_languages().into_iter().map(str::to_owned).collect(),
        chosen => chosen.to_vec(),
    };
    let release = chart::HelmRelease { name: &arguments.name, namespace: &arguments.namespace };
    let texts = chart::render_release(&release, &chart_values(&arguments, &names).unwrap()).unwrap();
    let reading = yaml::read(&Source::new("install", texts.join("---\n")));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents.into_iter().map(|document| document.value).collect()
}

fn install(flags: &str) -> InstallArguments {
    let words = ["kubewright", "install"].into_iter().chain(flags.split_whitespace());
    match CommandLine::try_parse_from(words).unwrap().command {
        Some(CliCommand::Install(install)) => install,
        other => panic!("{other:?}"),
    }
}

/// The texts of a list.
fn texts<'v>(value: &'v Value, path: &[&str]) -> Vec<&'v str> {
    let list = value.at(path).and_then(Value::as_array).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}

fn kind(value: &Value) -> &str {
    value.get("kind").and_then(Value::as_str).unwrap()
}

/// All rules of all roles.
fn role_rules(objects: &[Value]) -> Vec<(String, Value)> {
    let roles = objects.iter().filter(|object| kind(object).ends_with("Role"));
    roles
        .flat_map(|role| {
            // Those of an aggregated role are granted by others.
            let rules = role.get("rules").and_then(Value::as_array).unwrap_or_default();
            rules.iter().map(|rule| (kind(role).to_owned(), rule.clone()))
        })
        .collect()
}

/// Whether some rule allows `verb` on `resource` by any name.
fn allows(objects: &[Value], verb: &str, resource: &str) -> bool {
    role_rules(objects).iter().any(|(_, rule)| {
        texts(rule, &["verbs"]).contains(&verb)
            && texts(rule, &["resources"]).contains(&resource)
            && rule.get("resourceNames").is_none()
    })
}

#[test]
fn no_right_is_a_wildcard() {
    for flags in ["", "--cert-manager", "--can-read deployments.apps,pods --exceptions-from *"] {
        for (_, rule) in role_rules(&objects(flags)) {
            for part in ["apiGroups", "resources", "verbs", "resourceNames"] {
                assert!(!texts(&rule, &[part]).iter().any(|text| text.contains('*')), "{rule:?}");
            }
        }
    }
}

#[test]
fn secrets_are_read_by_name_only_and_in_the_own_namespace() {
    for (role, rule) in role_rules(&objects("")) {
        if texts(&rule, &["resources"]).contains(&"secrets") {
            assert_eq!(role, "Role");
            let named = texts(&rule, &["resourceNames"]) == ["kubewright-tls"];
            assert!(named || texts(&rule, &["verbs"]) == ["create"], "{rule:?}");
        }
    }
    assert!(!allows(&objects("--cert-manager"), "create", "secrets"));
}

#[test]
fn pods_are_patched_only_for_a_language_that_wants_it() {
    let patches = |flags: &str| allows(&objects(flags), "patch", "pods");
    let wanting: Vec<bool> =
        arguments::check_languages().iter().map(|name| patches(&format!("--dialects {name}"))).collect();
    assert!(patches("") && wanting.contains(&true) && wanting.contains(&false), "{wanting:?}");
}

#[test]
fn nothing_is_deleted_but_what_is_its_own() {
    for (role, rule) in role_rules(&objects("")) {
        // Requests that the webhook hands over are ConfigMaps in the own namespace.
        let is_handed = role == "Role" && texts(&rule, &["resources"]) == ["configmaps"];
        let is_named = is_handed || !texts(&rule, &["resourceNames"]).is_empty();
        // RBAC has no labels: the scanner itself checks that a report or finding is its own.
        let written =
            ["reports", "clusterreports", "policyreports", "clusterpolicyreports", "k8spatterns", "smells"];
        let is_named = is_named || texts(&rule, &["resources"]).iter().all(|name| written.contains(name));
        assert!(is_named || !texts(&rule, &["verbs"]).contains(&"delete"), "{rule:?}");
    }
}

#[test]
fn the_operator_says_what_rules_may_look_up() {
    let reads = |flags: &str| allows(&objects(&format!("--no-scan {flags}")), "list", "deployments");
    assert!(!reads("") && reads("--can-read services,deployments.apps"));
    let refused = |flags: &str| {
        CommandLine::try_parse_from(["kubewright", "install"].into_iter().chain(flags.split(' '))).is_err()
    };
    for flags in [
        "--can-read secrets",
        "--can-read *",
        "--can-read a/b",
        "--can-read .apps",
        "--name A",
        "--namespace a.b",
    ] {
        assert!(refused(flags), "{flags}");
    }
}

#[test]
fn server_asks_about_the_account_of_the_scanner() {
    let told = |flags: &str| {
        let objects = objects(flags);
        let server = objects
            .iter()
            .find(|one| kind(one) == "Deployment" && one.str_at(&["metadata", "name"]) == "kubewright")
            .cloned();
        let containers = server.as_ref().and_then(|one| one.at(&["spec", "template", "spec", "containers"]));
        let flags: Vec<String> = texts(&containers.and_then(Value::as_array).unwrap()[0], &["args"])
            .into_iter()
            .filter_map(|flag| flag.strip_prefix("--background-account=").map(str::to_owned))
            .collect();
        flags.join(" ")
    };
    assert_eq!(told(""), "kubewright-system/kubewright-scan");
    assert_eq!(told("--no-scan"), "");
    assert_eq!(told("--no-scan --background-account other/controller"), "other/controller");
    assert!(allows(&objects("--dialects mpol"), "create", "subjectaccessreviews"));
}

#[test]
fn webhook_configurations_are_never_among_the_manifests() {
    for flags in ["", "--cert-manager --replicas 1"] {
        assert!(objects(flags).iter().all(|object| !kind(object).contains("WebhookConfiguration")));
    }
}

#[test]
fn server_parses_the_arguments_of_the_deployment() {
    let flags = "--exceptions-from a,b --targets +widgets.example.com,-pods --allow-host api.example.com --cert-manager";
    for flags in ["", flags] {
        let objects = objects(flags);
        let deployments: Vec<&Value> = objects.iter().filter(|object| kind(object) == "Deployment").collect();
        assert_eq!(deployments.len(), 2);
        for deployment in deployments {
            let containers =
                deployment.at(&["spec", "template", "spec", "containers"]).and_then(Value::as_array).unwrap();
            let told = texts(&containers[0], &["args"]);
            let understood =
                CommandLine::try_parse_from(["kubewright"].into_iter().chain(told.iter().copied()));
            let is_scan = deployment.str_at(&["metadata", "name"]) == "kubewright-scan";
            match understood.unwrap().command {
                Some(CliCommand::Serve(_)) => assert!(!is_scan, "{told:?}"),
                Some(CliCommand::Scan(scan)) => assert!(is_scan && scan.controller.serve, "{told:?}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn an_image_is_taken_apart_at_its_tag_and_digest() {
    assert_eq!(split_image("kubewright"), ["kubewright", "", ""]);
    assert_eq!(split_image("kubewright:1"), ["kubewright", "1", ""]);
    assert_eq!(split_image("host:5000/a/b"), ["host:5000/a/b", "", ""]);
    assert_eq!(split_image("host:5000/a/b:1"), ["host:5000/a/b", "1", ""]);
    assert_eq!(split_image("host:5000/a/b@sha256:0a"), ["host:5000/a/b", "", "sha256:0a"]);
}

fn chart_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/kubewright")
}

/// `UPDATE_CHART=1` writes them, which `make chart` does.
#[test]
fn the_chart_has_what_languages_and_shared_flags_say() {
    let read = |name: &str| fs::read_to_string(chart_folder().join(name)).unwrap();
    let page = "../../docs/operations.md";
    let mut made = vec![
        ("templates/_flags.tpl".to_owned(), flags::arguments_template()),
        ("values.yaml".to_owned(), flags::made::values(&read("values.yaml"))),
        ("values.schema.json".to_owned(), flags::made::schema(&read("values.schema.json"))),
        (page.to_owned(), flags::made::page(&read(page))),
        ("templates/_languages.tpl".to_owned(), languages::rbac_template()),
        ("templates/rule-namespaces.yaml".to_owned(), languages::namespaces_template(true)),
    ];
    for name in arguments::check_languages() {
        made.push((format!("files/crds/{name}.yaml"), languages::language_crds(name)));
    }
    for api in ReportApi::ALL {
        made.push((format!("files/crds/{}.yaml", api.name()), report_crds(api)));
    }
    for (name, text) in made {
        let path = chart_folder().join(&name);
        if std::env::var_os("UPDATE_CHART").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == text,
            "{name} is not up to date: `make chart`"
        );
    }
}

#[test]
fn install_and_serve_have_every_shared_flag() {
    let program = described_program();
    for command in ["install", "serve"] {
        let command = program.find_subcommand(command).unwrap();
        for flag in &SHARED_FLAGS {
            let is_there = command.get_arguments().any(|argument| argument.get_long() == Some(flag.name));
            assert!(is_there, "{} has no --{}", command.get_name(), flag.name);
        }
    }
}

#[test]
fn the_chart_names_this_version_and_all_languages() {
    let read = |name: &str| fs::read_to_string(chart_folder().join(name)).unwrap();
    let chart = yaml::parse(&read("Chart.yaml")).unwrap();
    assert_eq!(chart.get("appVersion").and_then(Value::as_str), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(chart.get("version").and_then(Value::as_str), Some(env!("CARGO_PKG_VERSION")));
    let schema = json::parse(&read("values.schema.json")).unwrap();
    assert_eq!(texts(&schema, &["properties", "dialects", "items", "enum"]), arguments::check_languages());
    assert_eq!(texts(&yaml::parse(chart::VALUES).unwrap(), &["dialects"]), arguments::check_languages());
}

#[test]
fn every_template_of_the_chart_is_rendered_here_too() {
    let entries = fs::read_dir(chart_folder().join("templates")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    // Definitions and namespaces come from the languages, notes are Helm's, and the others are read by all.
    names.retain(|name| name.ends_with(".yaml") && name != "crds.yaml" && name != "rule-namespaces.yaml");
    names.sort();
    let mut known: Vec<&str> = chart::TEMPLATES.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn the_commands_of_the_page_and_of_the_notes_of_the_chart_are_understood() {
    let page = include_str!("../../../../../docs/operations.md");
    let notes = include_str!("../../../../../charts/kubewright/templates/NOTES.txt");
    let blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
    let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("kubewright "));
    let notes = notes.lines().filter_map(|line| {
        line.find("kubewright rescue").or(line.find("kubewright doctor")).map(|at| &line[at..])
    });
    let mut count = 0;
    for line in lines.chain(notes) {
        let command = line.split(" #").next().unwrap().split(" | ").next().unwrap();
        let command =
            command.replace("{{ .Release.Namespace }}", "policies").replace("{{ .Release.Name }}", "guard");
        let understood = CommandLine::try_parse_from(command.split_whitespace());
        assert!(understood.is_ok(), "`{command}`: {}", understood.err().unwrap());
        count += 1;
    }
    assert!(count >= 10, "{count}");
}
