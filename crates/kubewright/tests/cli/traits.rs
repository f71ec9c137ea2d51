//! Traits: what lint says of them, how they are traced, and cases about them.

use super::check;

#[test]
fn lint_tells_what_a_trait_hardly_means() {
    check("traits-lint", "lint traits-lint/doubtful.yaml");
    check("traits-lint-json", "lint traits-lint/doubtful.yaml -o json");
    check("traits-lint-idempotent", "lint traits-trace/traits --check-idempotent");
    check("traits-lint-clean", "lint traits-trace/traits");
}

#[test]
fn trace_shows_what_traits_do_and_who_wrote_what() {
    let settings = "--set parameters.resilience.settings.mode=fast,parameters.resilience.settings.zone=a";
    check(
        "traits-trace",
        &format!("trace traits-trace/traits -r traits-trace/base.yaml --name web {settings}"),
    );
    check("traits-trace-json", "trace traits-trace/traits/20-labels.yaml -r traits-trace/base.yaml -o json");
}

#[test]
fn a_project_that_is_no_file_is_a_name() {
    let given = "trace render/uses-context.yaml -r render/base.yaml --context render/context.yaml";
    check("traits-trace-project-name", &format!("{given} --project-name shop"));
    check("traits-trace-former-project", &format!("{given} --project shop"));
    check("traits-trace-project-missing", &format!("{given} --project shop.yaml"));
}

#[test]
fn a_trace_goes_as_far_as_the_rendering_did() {
    check("traits-trace-fails", "trace traits-trace/fails.yaml -r traits-trace/base.yaml --name web");
    check(
        "traits-trace-fails-json",
        "trace traits-trace/fails.yaml -r traits-trace/base.yaml --name web -o json",
    );
    check(
        "traits-trace-parameters",
        "trace traits-trace/traits -r traits-trace/base.yaml --set parameters.resilience.tier=huge",
    );
    check(
        "traits-trace-setting",
        "trace traits-trace/traits -r traits-trace/base.yaml --set paramters.tier=small",
    );
}

#[test]
fn render_can_show_the_trace_instead_of_the_manifests() {
    check(
        "render-trace",
        "render -f traits-trace/base.yaml --trait traits-trace/traits/20-labels.yaml --trace",
    );
    check(
        "render-trace-diff",
        "render -f traits-trace/base.yaml --trait traits-trace/traits/20-labels.yaml --trace --diff",
    );
}

#[test]
fn cases_about_traits_hold_or_tell_why_not() {
    check("trait-cases", "test trait-cases/failing --coverage");
    check("trait-cases-json", "test trait-cases/failing -o json");
    check("trait-cases-junit", "test trait-cases/failing -o junit");
}

#[test]
fn cases_about_components_hold_or_tell_why_not() {
    check("trait-cases-components", "test trait-cases/components");
}

#[test]
fn mistakes_in_cases_about_traits_are_told_with_their_place() {
    check("trait-cases-bad", "test trait-cases/bad");
}

#[test]
fn components_are_traced_with_their_type_and_traits() {
    let trace = "trace render/traits render/platform -r render/platform";
    check("traits-trace-components", trace);
    check("traits-trace-components-json", &format!("{trace} --environment production -o json"));
}
