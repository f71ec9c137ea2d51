//! Why a rule did what it did, from the first line of `apply` to `why`.

use super::check;

#[test]
fn cel_blames_the_element_and_shows_the_values_of_the_parts() {
    check("why-cel", "trace why/cel.yaml -r why/deployment.yaml");
}

#[test]
fn the_cause_comes_first_with_its_remedy() {
    check("why-errors-apply", "apply why/errors.yaml -r why/deployment.yaml");
    check("why-errors-verbatim", "apply why/errors.yaml -r why/deployment.yaml --verbatim");
    check("why-errors-trace", "trace why/errors.yaml -r why/deployment.yaml");
}

#[test]
fn misspelt_kinds_and_versions_have_the_right_one() {
    check("why-typos-lint", "lint why/typos.yaml");
    check("why-typos-file", "lint why/polices.yaml why/nope.yaml");
    check("why-typos-trace", "trace why/typos.yaml -r why/deployment.yaml --rule misspelt");
}

#[test]
fn traces_of_many_objects_show_what_failed_and_count_the_rest() {
    check("why-many", "trace why/replicas.yaml -r why/many.yaml");
    check(
        "why-many-status",
        "trace why/replicas.yaml -r why/many.yaml --status skip --object Deployment/shop/*",
    );
    check("why-many-object", "trace why/replicas.yaml -r why/many.yaml --object service/app-*");
}

#[test]
fn why_shows_what_every_rule_says_about_one_object() {
    check("why-object", "why Deployment/prod/app-00 why/replicas.yaml -r why/many.yaml");
    check("why-object-rule", "why Deployment/app-01 why/replicas.yaml -r why/many.yaml --rule two");
    check("why-object-missing", "why Deployment/prod/app-0 why/replicas.yaml -r why/many.yaml");
    check("why-object-unnamed", "why why/replicas.yaml why/replicas.yaml -r why/many.yaml");
    check("why-object-no-slash", "why app-00 why/replicas.yaml -r why/many.yaml");
    check("why-no-rule", "apply why/replicas.yaml -r why/deployment.yaml --rule three-in-prod");
    check("why-json", "apply why/replicas.yaml -r why/many.yaml --rule two -o sarif");
}

#[test]
fn an_exception_that_fits_has_a_place() {
    let exception = "why/replicas.yaml -r why/deployment.yaml -e why/exception-fits.yaml --rule two";
    check("why-exception-apply", &format!("apply {exception}"));
    check("why-exception-trace", &format!("trace {exception}"));
}
