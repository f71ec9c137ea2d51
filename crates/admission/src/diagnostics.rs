//! The diagnostics of CEL policies, bindings and exceptions. Each code has a page in `docs/diagnostics/`.

kubewright_engine::codes! {
    /// The codes of all diagnostics about policies in CEL, their bindings and exceptions.
    pub(crate) static CODES;

    UNKNOWN_FIELD "KW-A001" Error "unknown field";
    WRONG_TYPE "KW-A002" Error "a field has the wrong type";
    MISSING_FIELD "KW-A003" Error "a field is missing";
    UNKNOWN_VALUE "KW-A004" Error "a field has an unknown value";
    NO_CONSTRAINTS "KW-A005" Error "a policy has no match constraints";
    NO_VALIDATIONS "KW-A006" Error "a policy has no validations";
    DUPLICATE_NAME "KW-A007" Error "two entries of a list have one name";
    PARAMS_WITHOUT_KIND "KW-A008" Warning "a binding has parameters but the policy has no `paramKind`";
    BAD_SELECTOR "KW-A009" Error "a label selector that matches no label";
    BAD_ACTIONS "KW-A010" Error "actions that cannot be combined";
    NO_ACTIONS "KW-A011" Warning "a binding without actions";
    UNQUOTED_TEXT "KW-A020" Warning "a number or boolean where text is wanted";
    NO_OPERATIONS "KW-A021" Warning "a resource rule without operations";
    KIND_NOT_RESOURCE "KW-A022" Warning "a kind where the plural name of a resource is wanted";
    UNBOUND "KW-A023" Warning "a policy without a binding";
    BINDS_NOTHING "KW-A024" Warning "a binding of a policy that does not exist";
    UNKNOWN_CONTROLLER "KW-A025" Warning "`autogen` names an unknown controller";
    EXCEPTION_FITS_NOTHING "KW-A026" Warning "an exception that matches no policy";
    WILDCARD_AND_OTHERS "KW-A027" Warning "`*` beside others";
    FITS_NOTHING "KW-A028" Warning "a resource rule that matches nothing";
    BAD_NAME "KW-A029" Warning "a name that the API server refuses";
    BAD_MESSAGE "KW-A030" Warning "a message or reason that the API server refuses";
    NULL_NAMESPACE "KW-A031" Warning "a match condition reads the namespace, which is null there";
    NOTHING_GENERATED "KW-A050" Error "a policy has nothing to generate";
    GENERATE_ENTRY "KW-A051" Error "an entry of `generate` is neither an expression nor a template";
    BAD_SCHEDULE "KW-A052" Error "a schedule cannot be read";
    NEVER_DUE "KW-A053" Warning "a schedule that never comes";
    DELETES_ALL "KW-A054" Warning "a policy deletes everything that it matches";
    MISSING_ACCESS "KW-A055" Error "the controller lacks a right that a policy needs";
    DELETIONS_NOT_PERMITTED "KW-A056" Warning "the controller may not delete what a policy names";
    NULL_OBJECT "KW-A032" Warning "a policy for deletions reads `object`, which is null there";
    NO_MUTATIONS "KW-A040" Error "a policy has no mutations";
    ATOMIC_PATCH "KW-A041" Warning "a patch of an atomic list, map or structure";
    UNKNOWN_PATCH_FIELD "KW-A042" Warning "a patch of a field that does not exist";
    MISPLACED_STRUCTURE "KW-A043" Warning "a structure whose name is not that of its place";
    UNUSED_TARGETS "KW-A044" Warning "targets of a policy that changes no existing objects";
    NEVER_EVALUATED "KW-A045" Error "a policy that changes no objects at all";
}
