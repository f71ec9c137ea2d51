//! The diagnostics of ModRules. Each code has a page in `docs/diagnostics/`.

kubewright_engine::codes! {
    /// The codes of all diagnostics about a ModRule.
    pub(crate) static CODES;

    UNKNOWN_FIELD "KW-M001" Error "unknown field";
    WRONG_TYPE "KW-M002" Error "a field has the wrong type";
    MISSING_FIELD "KW-M003" Error "a field is missing";
    UNKNOWN_VALUE "KW-M004" Error "a field has an unknown value";
    BAD_SELECT "KW-M005" Error "a select expression cannot be read";
    BAD_REGEX "KW-M006" Error "a regular expression cannot be read";
    BAD_TEMPLATE "KW-M007" Error "a template cannot be read";
    BAD_VALUE "KW-M008" Error "a value is not YAML";
    BAD_PATH "KW-M009" Error "a path is not a JSON pointer";
    BAD_PLACEHOLDER "KW-M010" Error "a placeholder without a captured key";
    TIER_RANGE "KW-M011" Error "executionTier is out of range";
    NOT_FOR_TYPE "KW-M012" Error "a field belongs to the other type of rule";
    HIDDEN_FIELD "KW-M013" Error "the patch changes a field that rules cannot change";
    MATCHES_SPELLING "KW-M020" Warning "`matches` instead of `match`";
    PRESENCE_FILTER "KW-M021" Warning "a filter that only names a field";
    UNANCHORED_NAMESPACE "KW-M022" Warning "targetNamespaceRegex is not anchored";
    NOT_IDEMPOTENT "KW-M023" Warning "the rule changes its own result again";
    DASH_APPEND "KW-M024" Warning "`/-` does not append to a list that is missing";
    QUOTED_MATCH "KW-M025" Hint "matchValue has quotes in it";
    SEVERAL_TESTS "KW-M026" Hint "several tests in one criterion";
    NO_VALUE "KW-M027" Error "an operation without a value";
    IGNORED_NAMESPACE_REGEX "KW-M028" Warning "targetNamespaceRegex outside the cluster namespace";
    UNQUOTED_TEXT "KW-M029" Warning "a number or boolean where text is wanted";
    ODD_EXPRESSION "KW-M030" Warning "an expression that is probably a mistake";
    UNKNOWN_ROOT "KW-M031" Error "a template reads an unknown variable";
    MESSAGE_ROOT "KW-M032" Warning "a rejectMessage reads an unknown variable";
}
