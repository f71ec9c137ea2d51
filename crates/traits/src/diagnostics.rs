//! The diagnostic codes of traits and of the resources they are rendered with. Each has a page in `docs/diagnostics/`.

kubewright_engine::codes! {
    /// All diagnostic codes of the dialect.
    pub(crate) static CODES;

    UNKNOWN_FIELD "KW-R001" Error "unknown field";
    WRONG_TYPE "KW-R002" Error "a field has the wrong type";
    MISSING_FIELD "KW-R003" Error "a field is missing";
    UNKNOWN_VALUE "KW-R004" Error "a field has an unknown value";
    BAD_SCHEMA "KW-R005" Error "a schema of parameters is wrong";
    BAD_VARIABLE "KW-R006" Error "a loop variable is not a valid name";
    NOT_AN_EXPRESSION "KW-R007" Error "text instead of an expression";
    TWO_VALIDATIONS "KW-R008" Error "`validations` beside `preRenderValidations`";
    BAD_TEMPLATE "KW-R009" Error "a template is not a resource";
    WORKLOAD_MISMATCH "KW-R010" Error "the resources do not fit the workload type";
    DUPLICATE_INSTANCE "KW-R011" Error "two traits have the same instance name";
    TRAIT_NOT_ALLOWED "KW-R012" Error "the component type does not allow the trait";
    TWO_VALUES "KW-R013" Error "`value` beside `valueFrom`";
    BAD_EXPRESSION "KW-R014" Error "an expression is wrong";
    WRONG_RESULT "KW-R015" Error "an expression has the wrong type";
    BAD_PATH "KW-R016" Error "the path of an operation is wrong";
    UNQUOTED_TEXT "KW-R020" Warning "a number or boolean where text is wanted";
    UNREAD_FIELD "KW-R021" Warning "a field that nothing reads";
    DOUBTFUL_SCHEMA "KW-R022" Warning "a parameter schema contradicts itself";
    OLD_NAME "KW-R023" Warning "a field has an older name";
    WIDE_TARGET "KW-R024" Warning "a target leaves out group or version";
    NO_VARIABLE "KW-R025" Warning "`forEach` without `var`";
    VALUE_NOT_READ "KW-R026" Warning "a value that is not read";
    TRAIT_MAKES_WORKLOAD "KW-R027" Warning "a trait creates or removes a workload";
    FIXED_NAMESPACE "KW-R028" Warning "a template sets a namespace of its own";
    UNDECLARED_PARAMETER "KW-R029" Warning "an expression reads a parameter that is not declared";
    CANNOT_PATCH "KW-R030" Error "an operation cannot be applied";
    EXPRESSION_FAILS "KW-R031" Error "an expression fails";
    LIMIT "KW-R032" Error "rendering exceeds its limits";
    VALIDATION_FAILS "KW-R033" Error "a rule of a trait or component type does not hold";
    HITS_NOTHING "KW-R034" Warning "a patch hits nothing";
    OVERLAP "KW-R035" Warning "two traits write one field";
    BAD_PARAMETER "KW-R036" Error "a parameter does not fit its schema";
    NO_MANIFEST "KW-R037" Error "a rendered object is not a manifest";
    TWICE "KW-R038" Warning "a manifest occurs twice";
    UNKNOWN_PARAMETER "KW-R039" Warning "a parameter that the schema does not have";
    NOT_FOUND "KW-R050" Error "a referenced resource is missing";
    UNKNOWN_SECRET "KW-R051" Error "a referenced secret is missing";
    INCOMPLETE_METADATA "KW-R052" Error "the metadata of a component is incomplete";
    TWO_RESOURCES "KW-R053" Error "two resources have the same name";
    NOT_RELEASED "KW-R054" Error "a component is in no environment";
    NOTHING_DECLARED "KW-R055" Warning "values are given without a schema";
    UNKNOWN_INSTANCE "KW-R056" Warning "values for a trait that the component does not have";
    UNREAD_DESCRIPTION "KW-R057" Warning "the description of an endpoint cannot be read";
    UNRESOLVED_DEPENDENCY "KW-R058" Warning "the values of a dependency are unknown";
    NO_DATA_PLANE "KW-R059" Warning "the data plane of an environment is missing";
    NOT_TEXT "KW-R080" Error "a label, annotation or other text field is not text";
    PARTED_KEY "KW-R081" Error "an unescaped `/` in the key of a label, annotation or entry";
    UNREAD_PARAMETER "KW-R082" Warning "a parameter that nothing reads";
    CONSTANT "KW-R083" Warning "a condition or loop that is constant";
    LOST "KW-R084" Warning "an operation without effect";
    CREATED_TWICE "KW-R085" Warning "a trait creates a manifest twice";
    HIDES "KW-R086" Warning "a loop variable hides another variable";
    NEVER_MATCHES "KW-R087" Warning "a filter that nothing passes";
    GROWS "KW-R088" Warning "an operation that is not idempotent";
    NEVER_EQUAL "KW-R089" Warning "a parameter is compared with a value it cannot have";
    TRAIT_TWICE "KW-R090" Warning "two traits have the same name";
    UNKNOWN_TRAIT "KW-R091" Warning "a component names an unknown trait";
}

#[cfg(test)]
mod tests;
