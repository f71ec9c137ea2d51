//! The codes of diagnostics about patterns. Each has a page in `docs/diagnostics/`.

kubewright_engine::codes! {
    /// The codes of all diagnostics about patterns.
    pub(crate) static CODES;

    UNKNOWN_FIELD "KW-P001" Warning "unknown field";
    WRONG_TYPE "KW-P002" Error "a field has the wrong type";
    MISSING_FIELD "KW-P003" Error "a field is missing";
    UNKNOWN_VALUE "KW-P004" Error "a field has an unknown value";
    UNQUOTED_TEXT "KW-P005" Warning "a number or boolean where text is expected";
    UNKNOWN_VERSION "KW-P006" Error "unknown pattern version";
    OLD_VERSION "KW-P007" Warning "the version of the pattern is an older name";
    BAD_NAME "KW-P008" Error "a name has characters that are not allowed";
    BAD_LEADER "KW-P009" Error "several resources are marked as leader";
    BAD_ACTORS "KW-P010" Error "the actors do not fit the topology";
    DUPLICATE_ID "KW-P011" Error "duplicate id";
    UNKNOWN_ID "KW-P012" Error "unknown resource id";
    BAD_KEY "KW-P013" Error "a path cannot be parsed";
    BAD_VALUES "KW-P014" Error "the values do not fit the operator";
    BAD_NUMBER "KW-P015" Error "points must be zero or more";
    BAD_CRITERIA "KW-P016" Error "the criteria do not fit the relationship";
    BAD_MESSAGE "KW-P017" Error "unknown placeholder in a text";
    BAD_TRANSFORM "KW-P018" Error "a regular expression or transformation is invalid";
    TOO_LARGE "KW-P019" Error "the pattern is too large";
    OPEN_VALUE "KW-P020" Warning "a value that the contract does not list";
    BAD_URL "KW-P021" Warning "a URL does not start with http";
    ASSUMED_LEADER "KW-P022" Warning "no resource is marked as the leader";
    MANY_IDS "KW-P023" Warning "a relationship of more than two resources";
    WEIGHT_MISSING "KW-P024" Warning "a relationship that scores has no weight";
    WEIGHT_IGNORED "KW-P025" Warning "the weight of a required relationship is ignored";
    UNREAD_VALUES "KW-P026" Warning "values are ignored";
    NEVER_COMPARES "KW-P027" Warning "the operator cannot compare with this value";
    UNQUOTED_KEY "KW-P028" Warning "a key with a slash is not quoted";
    UNREACHABLE_THRESHOLD "KW-P030" Warning "the minimum of points cannot be reached";
    DEAD_RELATIONSHIP "KW-P031" Warning "a relationship type that cannot link the two kinds";
    UNCONNECTED_FOLLOWER "KW-P032" Warning "no relationship connects an actor with the leader";
    LEADER_NOT_ACTOR "KW-P033" Warning "the leader is not an actor";
    UNUSED_RESOURCE "KW-P034" Warning "unused resource";
    UNKNOWN_PATH "KW-P035" Warning "unknown path for the kind";
    FILTER_CONTRADICTION "KW-P036" Warning "a filter that no object can pass";
    CONTRADICTION "KW-P037" Warning "a relationship is both required and forbidden";
    COMMON_IN_SINGLE "KW-P038" Warning "common relationships with a single actor";
    KIND_NOT_THERE "KW-P040" Warning "no object has the kind";
    EMPTY_VETO "KW-P041" Warning "a forbidden relationship to a kind that is not in the input";
    NOT_COMPARED "KW-P042" Warning "a value that cannot be compared";
    EMPTY_PLACEHOLDER "KW-P043" Warning "a placeholder without a value";
    SEVERAL_GROUPS "KW-P044" Warning "the kind exists in several API groups";
    BAD_PRESENCE "KW-P045" Error "an absent resource cannot be the leader";
    BAD_COUNT "KW-P046" Error "`atLeast` cannot be used here";
    BAD_OPTION "KW-P047" Error "an option that does not apply";
    BAD_QUANTIFIER "KW-P048" Error "a quantifier needs `[*]` in its path";
    EXHAUSTED "KW-P049" Error "the search for the pattern exceeded its budget";
    ASSUMED_ACTORS "KW-P050" Warning "the pattern names no actors";
}
