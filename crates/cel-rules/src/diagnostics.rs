//! The diagnostics of CEL expressions in policies. Each code has a page in `docs/diagnostics/`.

kubewright_engine::codes! {
    /// The codes of all diagnostics about expressions in CEL.
    pub static CODES;

    BAD_CEL "KW-K070" Error "a CEL expression cannot be read";
    UNKNOWN_CEL_NAME "KW-K071" Error "a CEL expression reads an unknown name";
    CEL_TYPE "KW-K072" Error "a CEL expression has the wrong type";
    BAD_PARAMS "KW-K073" Error "the parameters of a CEL rule are not fully named";
    UNUSED_CEL_VARIABLE "KW-K074" Warning "a CEL variable that is never used";
    CONSTANT_CEL "KW-K075" Warning "a CEL expression that always has the same result";
    CEL_BRACES "KW-K076" Warning "`{{` in a rule in CEL";
    UNUSED_CEL_MESSAGE "KW-K077" Warning "a CEL message that is never used";
    UNKNOWN_OBJECT_FIELD "KW-K078" Warning "a CEL expression reads a field that the objects do not have";
    BAD_TEMPLATE "KW-K119" Error "the template of an object cannot be read";
}
