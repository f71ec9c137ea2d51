//! What can be wrong with a policy or an exception. Each code has a page in `docs/diagnostics/`.

use kubewright_engine::{Code, Severity};

macro_rules! codes {
    ($($name:ident $id:literal $severity:ident $title:literal;)*) => {
        $(pub(super) static $name: Code = Code {
            id: $id,
            title: $title,
            severity: Severity::$severity,
            page: include_str!(concat!("../../../../docs/diagnostics/", $id, ".md")),
        };)*

        /// All of them.
        pub(super) static CODES: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    UNKNOWN_FIELD "KW-K001" Error "unknown field";
    WRONG_TYPE "KW-K002" Error "a field has the wrong type";
    MISSING_FIELD "KW-K003" Error "a field is missing";
    UNKNOWN_VALUE "KW-K004" Error "a field has an unknown value";
    DUPLICATE_RULE "KW-K005" Error "two rules of a policy have one name";
    LONG_NAME "KW-K006" Error "a name is longer than 63 characters";
    RULE_TYPE "KW-K007" Error "a rule is not of exactly one type";
    METHOD "KW-K008" Error "a rule does not check in exactly one way";
    ANY_AND_ALL "KW-K009" Error "match says more than one thing at once";
    NO_KINDS "KW-K010" Error "a match entry names no kinds";
    NAME_AND_NAMES "KW-K011" Error "`name` beside `names`";
    VARIABLE_IN_MATCH "KW-K012" Error "a variable in match or exclude";
    WILDCARD_KIND "KW-K013" Error "a rule about every kind does more than it can";
    LABEL_NOT_TEXT "KW-K014" Error "a label or annotation is compared with what is no text";
    BAD_ANCHOR "KW-K015" Error "an anchor that a check cannot have";
    INCOMPLETE_CONDITION "KW-K016" Error "a condition is incomplete";
    UNKNOWN_OPERATOR "KW-K017" Error "unknown operator";
    AUTOGEN_ALL "KW-K018" Error "the annotation for controllers says `all`";
    CLUSTER_NAMESPACE "KW-K019" Error "a ClusterPolicy in a namespace";
    RESERVED_NAME "KW-K020" Error "a context entry has the name of something else";
    CONTEXT_SOURCE "KW-K021" Error "a context entry has not exactly one source";
    BAD_VARIABLE "KW-K022" Error "a variable has no value, or a default that is never used";
    NO_NAMESPACE "KW-K023" Error "a ConfigMap without a namespace";
    BACKGROUND_USER "KW-K024" Error "a background scan has no user";
    ELEMENT_OUTSIDE_FOREACH "KW-K025" Error "`element` outside of a foreach";
    UNKNOWN_VARIABLE "KW-K026" Error "a variable asks for something that nobody gives";
    BAD_JMESPATH "KW-K027" Error "a JMESPath expression cannot be read";
    UNKNOWN_FUNCTION "KW-K028" Error "unknown JMESPath function";
    BAD_SELECTOR "KW-K029" Error "a label selector cannot be used";
    BAD_ROLE "KW-K030" Error "a role is not `namespace:name`";
    MATCHES_NOTHING "KW-K031" Error "exclude takes away all that match gives";
    NOT_IN_NAMESPACE "KW-K032" Error "a field that only a ClusterPolicy can have";
    CONFLICTING_OVERRIDES "KW-K033" Error "two overrides contradict each other";
    NEVER_RUNS "KW-K034" Error "a policy that never runs";
    NOT_HERE "KW-K035" Error "a field that does not go with the rest of the rule";
    BAD_CALL "KW-K036" Error "an apiCall that nobody can make";
    BAD_WEBHOOK "KW-K037" Error "a webhook setting that cannot be";
    UNKNOWN_OPERATION "KW-K038" Error "request.operation is compared with no operation";
    UNQUOTED_TEXT "KW-K040" Warning "a number or boolean where text is wanted";
    NOT_SUPPORTED "KW-K041" Warning "not supported yet";
    AUTOGEN_OFF "KW-K042" Warning "the rule sees Pods and not what makes them";
    DEPRECATED_OPERATOR "KW-K043" Warning "a deprecated operator";
    UNRESOLVED_BRACES "KW-K044" Warning "`{{` where nothing is put in";
    CONSTANT_CONDITION "KW-K045" Warning "a condition that always has the same result";
    OPERATOR_TYPE "KW-K046" Warning "an operator that does not fit its value";
    IGNORED_ELEMENTS "KW-K047" Warning "elements of a pattern that are never looked at";
    DEAD_ANCHOR "KW-K048" Warning "a key that looks like an anchor and is none";
    WILDCARD_KEY "KW-K049" Warning "a wildcard in a key outside of labels and annotations";
    OPEN_REGISTRY "KW-K050" Warning "a registry without an end";
    UNUSED_VARIABLE "KW-K051" Warning "a context entry that is never used";
    EXCEPTION_FITS_NOTHING "KW-K052" Warning "an exception that fits no rule";
    AUTOGEN_SPACES "KW-K053" Warning "spaces in the annotation for controllers";
    UNKNOWN_CONTROLLER "KW-K054" Warning "the annotation names something that is no controller";
    AUTOGEN_NAME "KW-K055" Warning "a rule named like a rewritten one";
    IGNORED_FIELD "KW-K056" Warning "a field without effect";
    UNKNOWN_ROOT "KW-K057" Warning "a part of a variable asks for something that nobody gives";
    EMPTY_LIST "KW-K058" Warning "an empty list in a pattern";
    CONTROL_IMAGES "KW-K060" Error "an excluded control without the images it needs";
    FIELD_AND_VALUES "KW-K061" Error "`restrictedField` without `values`";
    CONTROL_ABOVE_LEVEL "KW-K062" Error "an excluded control that the level does not check";
    UNKNOWN_RESTRICTED_FIELD "KW-K063" Warning "an excluded field that no check reports";
    UNKNOWN_VERSION "KW-K064" Warning "a version of the Pod Security Standards that Kyverno does not take";
    BAD_CEL "KW-K070" Error "a CEL expression cannot be read";
    UNKNOWN_CEL_NAME "KW-K071" Error "a CEL expression asks for something that nobody gives";
    CEL_TYPE "KW-K072" Error "a CEL expression does not give what is wanted";
    BAD_PARAMS "KW-K073" Error "the parameters of a CEL rule are not fully named";
    UNUSED_CEL_VARIABLE "KW-K074" Warning "a CEL variable that is never used";
    CONSTANT_CEL "KW-K075" Warning "a CEL expression that always has the same result";
    CEL_BRACES "KW-K076" Warning "`{{` in a rule in CEL";
    UNUSED_CEL_MESSAGE "KW-K077" Warning "a CEL message that is never used";
    UNKNOWN_OBJECT_FIELD "KW-K078" Warning "a CEL expression reads a field that the objects do not have";
}
