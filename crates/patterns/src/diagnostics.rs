//! What can be wrong with patterns. Each code has a page in `docs/diagnostics/`.

kubewright_engine::codes! {
    /// The codes of all diagnostics about patterns.
    pub(crate) static CODES;

    UNKNOWN_FIELD "KW-P001" Warning "unknown field";
    WRONG_TYPE "KW-P002" Error "a field has the wrong type";
    MISSING_FIELD "KW-P003" Error "a field is missing";
    UNKNOWN_VALUE "KW-P004" Error "a field has an unknown value";
    UNQUOTED_TEXT "KW-P005" Warning "a number or boolean where text is wanted";
    UNKNOWN_VERSION "KW-P006" Error "the version of the pattern is not known";
    OLD_VERSION "KW-P007" Warning "the version of the pattern has an older name";
    BAD_NAME "KW-P008" Error "a name has characters that it cannot have";
    BAD_LEADER "KW-P009" Error "several resources lead";
    BAD_ACTORS "KW-P010" Error "the actors do not fit the topology";
    DUPLICATE_ID "KW-P011" Error "two things have one id";
    UNKNOWN_ID "KW-P012" Error "an id that no resource has";
    BAD_KEY "KW-P013" Error "a path cannot be read";
    BAD_VALUES "KW-P014" Error "the values do not fit the operator";
    BAD_NUMBER "KW-P015" Error "points are no number from zero on";
    BAD_CRITERIA "KW-P016" Error "the criteria do not fit the relationship";
    BAD_MESSAGE "KW-P017" Error "a placeholder of a text names nothing";
    BAD_TRANSFORM "KW-P018" Error "a regular expression or transformation is wrong";
    TOO_LARGE "KW-P019" Error "the pattern is too large";
    OPEN_VALUE "KW-P020" Warning "a value that the contract does not list";
    BAD_URL "KW-P021" Warning "an address does not start with http";
    ASSUMED_LEADER "KW-P022" Warning "no resource is marked as the leader";
    MANY_IDS "KW-P023" Warning "a relationship of more than two resources";
    WEIGHT_MISSING "KW-P024" Warning "a relationship that scores has no weight";
    WEIGHT_IGNORED "KW-P025" Warning "a weight that is never counted";
    UNREAD_VALUES "KW-P026" Warning "values that are not read";
    NEVER_COMPARES "KW-P027" Warning "a value that nothing can be compared with";
    UNQUOTED_KEY "KW-P028" Warning "a name with a slash in a path has no quotes";
    UNREACHABLE_THRESHOLD "KW-P030" Warning "more points are asked for than can be reached";
    DEAD_RELATIONSHIP "KW-P031" Warning "a relationship that cannot link the two kinds";
    UNCONNECTED_FOLLOWER "KW-P032" Warning "nothing connects an actor with the leader";
    LEADER_NOT_ACTOR "KW-P033" Warning "the leader is no actor";
    UNUSED_RESOURCE "KW-P034" Warning "a resource that nothing names";
    UNKNOWN_PATH "KW-P035" Warning "a path that no object of the kind has";
    FILTER_CONTRADICTION "KW-P036" Warning "a filter that nothing passes";
    CONTRADICTION "KW-P037" Warning "a relationship must be there and must not be there";
    COMMON_IN_SINGLE "KW-P038" Warning "common relationships where there is one actor";
    KIND_NOT_THERE "KW-P040" Warning "no object has the kind";
    EMPTY_VETO "KW-P041" Warning "a forbidden relationship with a kind that no object has";
    NOT_COMPARED "KW-P042" Warning "a value that cannot be compared";
    EMPTY_PLACEHOLDER "KW-P043" Warning "a placeholder without a value";
    SEVERAL_GROUPS "KW-P044" Warning "a kind that objects of several groups have";
    BAD_PRESENCE "KW-P045" Error "what is not there cannot lead";
    BAD_COUNT "KW-P046" Error "a number of objects that cannot be asked for";
    BAD_OPTION "KW-P047" Error "an option that does not fit";
    BAD_QUANTIFIER "KW-P048" Error "a quantifier without elements to speak of";
    EXHAUSTED "KW-P049" Error "looking for the pattern took too much work";
    ASSUMED_ACTORS "KW-P050" Warning "the pattern names no actors";
}
