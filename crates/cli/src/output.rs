//! Where reports go: standard output, files and folders, as `-o` says. What they look like is the report crate's.

mod captured;
mod chosen;
mod color;
mod file;
mod folder;
mod target;
mod terminal;

pub(crate) use kubewright_report::render::{
    DiagnosticCounts, DiffRenderer, diagnostic_value as json_diagnostic, hunks, line_window,
    location_values as json_place, snippet, trace_tree, yaml_text,
};
pub(crate) use kubewright_report::{
    Columns, Paint, Renderer, ReportContent, ReportWriter, TableDetail, TableOptions, shorten_visible,
    visible,
};

pub(crate) use captured::{capture_diagnostics, capture_output, is_captured};
pub(crate) use chosen::{ChosenFormat, NamedFormat, keep_apart, keep_inputs, standard_output};
pub(crate) use color::{ColorChoice, print_stderr};
pub(crate) use file::{
    FileError, refuse_input, refuse_link, replace_files, write_file, write_named_by_object,
};
pub(crate) use folder::{FileNames, FolderRenderer, safe_file_name};
#[cfg(feature = "serve")]
pub(crate) use target::scan_output;
pub(crate) use target::{
    Output, case_output, chosen_or_table, diagnostic_output, finding_output, object_output, output_help,
};
