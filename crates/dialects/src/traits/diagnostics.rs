//! What can be wrong with traits and the resources that they are rendered with. Each code has a page in `docs/diagnostics/`.

codes! {
    UNKNOWN_FIELD "KW-T001" Error "unknown field";
    WRONG_TYPE "KW-T002" Error "a field has the wrong type";
    MISSING_FIELD "KW-T003" Error "a field is missing";
    UNKNOWN_VALUE "KW-T004" Error "a field has an unknown value";
    BAD_SCHEMA "KW-T005" Error "a schema of parameters is wrong";
    BAD_VARIABLE "KW-T006" Error "a loop variable is no name";
    NOT_AN_EXPRESSION "KW-T007" Error "text where one expression is wanted";
    TWO_VALIDATIONS "KW-T008" Error "`validations` beside `preRenderValidations`";
    BAD_TEMPLATE "KW-T009" Error "a template is no resource";
    WORKLOAD_MISMATCH "KW-T010" Error "the resources do not fit the workload type";
    DUPLICATE_INSTANCE "KW-T011" Error "two traits have one instance name";
    TRAIT_NOT_ALLOWED "KW-T012" Error "the component type does not allow the trait";
    TWO_VALUES "KW-T013" Error "`value` beside `valueFrom`";
    BAD_EXPRESSION "KW-T014" Error "an expression is wrong";
    WRONG_RESULT "KW-T015" Error "an expression gives something else than is wanted";
    BAD_PATH "KW-T016" Error "the path of an operation is wrong";
    UNQUOTED_TEXT "KW-T020" Warning "a number or boolean where text is wanted";
    UNREAD_FIELD "KW-T021" Warning "a field that nothing reads";
    DOUBTFUL_SCHEMA "KW-T022" Warning "a schema of parameters says something that does not hold";
    OLD_NAME "KW-T023" Warning "a field has an older name";
    WIDE_TARGET "KW-T024" Warning "a target leaves out kind, group or version";
    NO_VARIABLE "KW-T025" Warning "`forEach` without `var`";
    VALUE_NOT_READ "KW-T026" Warning "a value that is not read";
    TRAIT_MAKES_WORKLOAD "KW-T027" Warning "a trait creates or removes a workload";
    FIXED_NAMESPACE "KW-T028" Warning "a template sets a namespace of its own";
    UNDECLARED_PARAMETER "KW-T029" Warning "an expression reads a parameter that is not declared";
    CANNOT_PATCH "KW-T030" Error "an operation cannot be done";
    EXPRESSION_FAILS "KW-T031" Error "an expression fails";
    LIMIT "KW-T032" Error "rendering takes too much";
    VALIDATION_FAILS "KW-T033" Error "a rule of a trait or component type does not hold";
    HITS_NOTHING "KW-T034" Warning "a patch hits nothing";
    OVERLAP "KW-T035" Warning "two traits write one field";
    BAD_PARAMETER "KW-T036" Error "a parameter does not fit its schema";
    NO_MANIFEST "KW-T037" Error "what a template makes is no manifest";
    TWICE "KW-T038" Warning "a manifest is there twice";
    UNKNOWN_PARAMETER "KW-T039" Warning "a parameter that the schema does not have";
    NOT_FOUND "KW-T050" Error "a resource that is named is not there";
    UNKNOWN_SECRET "KW-T051" Error "a secret that is named is not there";
    INCOMPLETE_METADATA "KW-T052" Error "the metadata of a component lack something";
    TWO_RESOURCES "KW-T053" Error "two resources have one name";
    NOT_RELEASED "KW-T054" Error "a component is in no environment";
    NOTHING_DECLARED "KW-T055" Warning "values are given where nothing is declared";
    UNKNOWN_INSTANCE "KW-T056" Warning "values for a trait that the component does not have";
    UNREAD_DESCRIPTION "KW-T057" Warning "the description of an endpoint cannot be read";
    UNRESOLVED_DEPENDENCY "KW-T058" Warning "what a dependency gives is not known";
}
