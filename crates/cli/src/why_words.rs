//! The words of the `why` that evaluates what a command did: its rules, its manifests and the flags of its request.

use kubewright_report::{WhyInputs, shell_word};

use crate::arguments::{ObjectArguments, RuleArguments};

/// With more paths than this, the command of an outcome names the files of its rule and its object instead.
const MAX_NAMED_PATHS: usize = 8;

/// Returns what the commands for the outcomes of a run name.
pub(crate) fn why_inputs(rules: &RuleArguments, objects: &ObjectArguments) -> WhyInputs {
    let are_named = |paths: &[String]| {
        (1..=MAX_NAMED_PATHS).contains(&paths.len()) && !paths.iter().any(|path| path == "-")
    };
    WhyInputs {
        rules: are_named(&rules.rules).then(|| rule_words(rules)),
        resources: are_named(&objects.resources).then(|| resource_words(objects)),
        options: option_words(rules, objects),
    }
}

/// Returns the command for an object about which no rule says anything.
pub(crate) fn object_command(object: &str, rules: &RuleArguments, objects: &ObjectArguments) -> String {
    let chosen = flags("--rule", &objects.only);
    let words = [
        "kubewright why".to_owned(),
        shell_word(object),
        rule_words(rules),
        resource_words(objects),
        option_words(rules, objects),
        chosen.join(" "),
    ];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn rule_words(rules: &RuleArguments) -> String {
    rules.rules.iter().map(|path| shell_word(path)).collect::<Vec<_>>().join(" ")
}

fn resource_words(objects: &ObjectArguments) -> String {
    flags("-r", &objects.resources).join(" ")
}

/// Returns the flags that are neither rules, manifests nor a choice of rules.
fn option_words(rules: &RuleArguments, objects: &ObjectArguments) -> String {
    let settings: Vec<String> = objects.set.iter().map(ToString::to_string).collect();
    let kinds = [objects.inputs.kinds.join(",")];
    let lists: [(&str, &[String]); 12] = [
        ("-e", &rules.exceptions),
        ("--world", &objects.world),
        ("--json", &objects.payloads),
        ("--old", &objects.old),
        ("--group", &objects.groups),
        ("--set", &settings),
        ("--allow-registry", &objects.allow_registry),
        ("--allow-function", &rules.options.allowed_functions),
        ("--compat", &rules.options.compatible_with),
        ("--helm-values", &objects.inputs.helm_values),
        ("--helm-set", &objects.inputs.helm_set),
        ("--kinds", if objects.inputs.kinds.is_empty() { &[] } else { &kinds }),
    ];
    let mut words: Vec<String> = lists.into_iter().flat_map(|(flag, values)| flags(flag, values)).collect();
    words.extend(single_words(rules, objects));
    let switches = [
        ("--background", objects.background),
        ("--exceptions-within-resources", objects.exceptions_within_resources),
        ("--exceptions-within-policies", objects.exceptions_within_policies),
    ];
    words.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    words.join(" ")
}

fn single_words(rules: &RuleArguments, objects: &ObjectArguments) -> Vec<String> {
    let operation = Some(&objects.operation).filter(|operation| !operation.eq_ignore_ascii_case("CREATE"));
    let kubeconfig = objects.inputs.kubeconfig.as_ref().map(|path| path.to_string_lossy().into_owned());
    let single = [
        ("--operation", operation),
        ("--user", objects.user.as_ref()),
        ("--userinfo", objects.userinfo.as_ref()),
        ("-f", objects.values.as_ref()),
        ("-n", objects.namespace.as_ref()),
        ("--cluster-rules-namespace", rules.options.cluster_rules_namespace.as_ref()),
        ("--helm-name", objects.inputs.helm_name.as_ref()),
        ("--helm-namespace", objects.inputs.helm_namespace.as_ref()),
        ("--kubeconfig", kubeconfig.as_ref()),
        ("--kube-context", objects.inputs.kube_context.as_ref()),
    ];
    single.into_iter().filter_map(|(flag, value)| Some(format!("{flag} {}", shell_word(value?)))).collect()
}

/// Returns the flag with each of its values.
fn flags(flag: &str, values: &[String]) -> Vec<String> {
    values.iter().map(|value| format!("{flag} {}", shell_word(value))).collect()
}
