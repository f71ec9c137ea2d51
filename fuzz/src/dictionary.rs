//! The words of each language that inputs are made of. Functions come from the tables of the languages, so that a new
//! function is fuzzed from its first day.

use kubewright_cel::{CelEnvironment, RESERVED_WORDS, library};
use kubewright_gotemplate::FunctionSet;
use kubewright_jmespath::JmesPathFunctions;
use kubewright_jsonpath::JsonPathExpression;
use kubewright_kyverno::operator::ConditionOperator;

use crate::targets::FuzzTarget;

/// A language with words of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzDictionary {
    /// YAML 1.1, as Kubernetes reads it.
    Yaml,
    /// JSON.
    Json,
    /// CEL with its extension libraries and those of Kubernetes and Kyverno.
    Cel,
    /// JMESPath with the functions of Kyverno.
    JmesPath,
    /// The paths and conditions of ModRules.
    JsonPath,
    /// Templates of Go with the functions of Sprig.
    GoTemplate,
    /// JSON Patch.
    JsonPatch,
    /// Anchors and operators of Kyverno's patterns and conditions.
    KyvernoPattern,
}

impl FuzzDictionary {
    /// Returns the words of the language.
    #[must_use]
    pub fn words(self) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Yaml => owned(YAML),
            Self::Json => owned(JSON),
            Self::Cel => [owned(&RESERVED_WORDS), owned(CEL_MACROS), cel_functions()].concat(),
            Self::JmesPath => {
                let functions = JmesPathFunctions::kubernetes();
                [owned(JMESPATH), functions.names().map(|name| format!("{name}(")).collect()].concat()
            }
            Self::JsonPath => {
                let functions = JsonPathExpression::function_names().map(|name| format!("{name}("));
                [owned(JSONPATH), functions.collect()].concat()
            }
            Self::GoTemplate => [owned(GO_TEMPLATE), owned(&FunctionSet::rules().names())].concat(),
            Self::JsonPatch => owned(JSON_PATCH),
            Self::KyvernoPattern => {
                let operators = ConditionOperator::names().map(|name| format!("operator: {name}"));
                [owned(KYVERNO_PATTERN), operators.collect()].concat()
            }
        }
    }
}

/// Returns the words of a target and of its languages, each once.
#[must_use]
pub fn dictionary_words(target: &FuzzTarget) -> Vec<String> {
    let own = target.words.iter().map(|word| (*word).to_owned());
    let mut words: Vec<String> =
        own.chain(target.dictionaries.iter().flat_map(|dictionary| dictionary.words())).collect();
    words.retain(|word| !word.is_empty());
    words.sort_unstable();
    words.dedup();
    words
}

/// Returns words in the format of libFuzzer: a quoted text a line, with every byte escaped that needs it.
#[must_use]
pub fn write_dictionary(words: &[String]) -> String {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    words.iter().map(|word| format!("\"{}\"\n", word.bytes().map(escaped).collect::<String>())).collect()
}

/// The functions of every environment, called as they are: `.size(` and `math.least(`.
fn cel_functions() -> Vec<String> {
    let extended =
        library::EXTENSIONS.iter().fold(CelEnvironment::standard(), |known, library| known.with(library));
    let environments = [extended, CelEnvironment::kubernetes(), CelEnvironment::policy()];
    let mut names: Vec<String> = environments
        .iter()
        .flat_map(|environment| {
            environment.functions().iter().map(|overload| format!("{}(", overload.name()))
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

const YAML: &[&str] = &[
    ": ",
    "- ",
    "? ",
    "# ",
    "&a ",
    "*a",
    "!!str ",
    "!!int ",
    "!!binary ",
    "!!float ",
    "<<: ",
    "|-\n",
    ">+\n",
    "|2\n",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "null",
    "~",
    "yes",
    "off",
    "0777",
    "0x1F",
    "1_000",
    ".inf",
    ".nan",
    "1e3",
    "\\x41",
    "\\u00e9",
    "''",
    "\"\"",
    "[]",
    "{}",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "\n  ",
    "\n    ",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "apiVersion: ",
    "kind: ",
    "metadata: ",
    "spec: ",
    "name: ",
    "namespace: ",
    "labels: ",
];

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "false",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "1e999",
    "-0",
    "\"\":",
    "9223372036854775808",
    "18446744073709551616",
    "0.1",
    "\"apiVersion\":",
    "\"kind\":",
    "\"metadata\":",
    "\"name\":",
];

const CEL_MACROS: &[&str] = &[
    ".all(x, ",
    ".exists(x, ",
    ".exists_one(x, ",
    ".existsOne(i, x, ",
    ".map(x, ",
    ".filter(x, ",
    "has(object.",
    "cel.bind(x, ",
    ".transformList(i, x, ",
    ".transformMap(i, x, ",
    ".transformMapEntry(i, x, ",
    ".optMap(x, ",
    ".optFlatMap(x, ",
    ".sortBy(x, ",
    ".?",
    "[?",
    "b'",
    "r'",
    "'''",
    "1u",
    "0x1F",
    "1e308",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615u",
];

const JMESPATH: &[&str] = &[
    "@", "[]", "[*]", "[?", "[::-1]", "||", "&&", "&", "==", "!=", "<=", ">=", "`1`", "`null`", "'a'",
    "{a: ", ".*", " | ",
];

const JSONPATH: &[&str] = &[
    "$", "@", "..", "[*]", "[? ", "#0", "==", "!=", "=~", "!~", "<=", ">=", "&&", "||", "??", " ? ", "**",
    "<<", ">>", " in ", "//", "/*", "[0:-1:2]",
];

const GO_TEMPLATE: &[&str] = &[
    "{{",
    "}}",
    "{{- ",
    " -}}",
    "{{/*",
    "*/}}",
    "if ",
    "else",
    "else if ",
    "end",
    "range ",
    "with ",
    "define \"x\"",
    "block \"x\" .",
    "template \"x\" .",
    "break",
    "continue",
    "$x := ",
    "$x = ",
    " | ",
    ".Target",
    "%v",
    "%+q",
    "%#x",
    "%5.2f",
    "%[2]d",
    "%*d",
    "`",
    "'a'",
    "0x1p-2",
    "1i",
    "and ",
    "or ",
    "not ",
    "eq ",
    "ne ",
    "lt ",
    "index ",
    "slice ",
    "len ",
    "print ",
    "printf ",
    "println ",
    "html ",
    "js ",
    "urlquery ",
    "call ",
];

const JSON_PATCH: &[&str] = &[
    "\"op\":\"add\"",
    "\"op\":\"remove\"",
    "\"op\":\"replace\"",
    "\"op\":\"move\"",
    "\"op\":\"copy\"",
    "\"op\":\"test\"",
    "\"path\":\"/",
    "\"from\":\"/",
    "\"value\":",
    "op: add",
    "op: remove",
    "op: replace",
    "path: /",
    "/-",
    "/-1",
    "/0",
    "~0",
    "~1",
    "[*]",
    "[?(@.a=='b')]",
];

const KYVERNO_PATTERN: &[&str] = &[
    "(a)",
    "=(a)",
    "X(a)",
    "^(a)",
    "<(a)",
    "+(a)",
    "a|b",
    "a & b",
    "!a",
    ">",
    "<",
    ">=1Gi",
    "<=500m",
    "1-10",
    "1!-10",
    "1Mi-1Gi",
    "1h",
    "?*",
    "*",
    "?",
    "'null'",
    "{{ request.object",
    "{{ element",
    "{{ @ }}",
    "$(../a)",
    "\\{{",
    "}}",
    "pattern:",
    "anyPattern:",
    "deny:",
    "foreach:",
    "preconditions:",
    "context:",
    "podSecurity:",
    "mutate:",
    "generate:",
    "patchStrategicMerge:",
    "patchesJson6902: |-",
    "elementScope: true",
    "list: ",
    "any:",
    "all:",
    "exclude:",
];
