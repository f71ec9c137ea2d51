//! How a dialect writes down what can be wrong: a line for each code, with its page in `docs/diagnostics/`.

/// Makes a static of each line, and `CODES` of all of them.
macro_rules! codes {
    ($($name:ident $id:literal $severity:ident $title:literal;)*) => {
        $(pub(crate) static $name: kubewright_engine::Code = kubewright_engine::Code {
            id: $id,
            title: $title,
            severity: kubewright_engine::DiagnosticLevel::$severity,
            page: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnostics/", $id, ".md")),
        };)*

        /// All of them.
        pub(crate) static CODES: &[&kubewright_engine::Code] = &[$(&$name),*];
    };
}
